//! `overheard status`: queries the running nodes and web caches.

mod cache;
mod gateways;
mod relays;

use anyhow::bail;
use console::{Table, bytes, duration};
use daemon::config;
use daemon::sockets::{self, Kind, SOCKET_DIRECTORY, ask_cache};
use daemon::status_socket::ask;
use dashboard::node::Report;
use io::ear::Heard;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Show peers, bytes in and out, savings, misses, loss and RTT of local nodes, and hits of local web caches
#[derive(clap::Args)]
pub struct Args {
    /// The configuration of the node; without it, all local nodes
    config: Option<PathBuf>,
    /// The node's status socket
    #[arg(long, conflicts_with = "config")]
    socket: Option<PathBuf>,
    /// Print one JSON object in a line for each node
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let sockets = match (&args.socket, &args.config) {
        (Some(socket), _) => vec![socket.clone()],
        (None, Some(config)) => vec![config::status_socket(config)?],
        (None, None) => sockets::here(Kind::Node),
    };
    let only_nodes = args.socket.is_some() || args.config.is_some();
    let caches = if only_nodes { Vec::new() } else { sockets::here(Kind::Cache) };
    if sockets.is_empty() && caches.is_empty() {
        bail!("no node runs here: there is no socket in {SOCKET_DIRECTORY}; start one with `overheard up`");
    }
    let mut out = std::io::stdout().lock();
    for (at, socket) in sockets.iter().enumerate() {
        let report = ask(socket)?;
        if args.json {
            writeln!(out, "{}", serde_json::to_string(&report)?)?;
        } else {
            if at > 0 {
                writeln!(out)?;
            }
            print(&mut out, &report)?;
        }
    }
    for (at, socket) in caches.iter().enumerate() {
        let report = ask_cache(socket)?;
        if args.json {
            writeln!(out, "{report}")?;
            continue;
        }
        if at + sockets.len() > 0 {
            writeln!(out)?;
        }
        cache::print(&mut out, &report)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, report: &Report) -> std::io::Result<()> {
    let (about, node, io) = (&report.about, &report.snapshot.node, &report.snapshot.io);
    writeln!(
        out,
        "{} on {} (mtu {}), listening on {}, up for {}, policy {}, version {}",
        about.role,
        about.interface,
        about.mtu,
        about.listen,
        duration(Duration::from_secs_f64(node.uptime_seconds.max(0.0))),
        node.policy,
        about.version
    )?;
    writeln!(out, "public key {}\n", node.public_key)?;
    let mut table = Table::new(&[
        "peer",
        "endpoint",
        "session",
        "path mtu",
        "rtt",
        "loss",
        "offered",
        "sent",
        "saved",
        "received",
        "delivered",
        "misses",
    ]);
    for peer in &node.peers {
        let it = &peer.counters;
        table.row([
            peer.name.clone(),
            peer.endpoint.map_or_else(nothing, |endpoint| endpoint.to_string()),
            peer.session_age_seconds.map_or_else(
                || without_session(peer),
                |age| {
                    let plain = if peer.version == Some(0) { ", plain" } else { "" };
                    let silent = if peer.reachable { "" } else { ", silent" };
                    let previous = if peer.previous_network_key { ", previous network key" } else { "" };
                    format!("{}{plain}{silent}{previous}", duration(Duration::from_secs_f64(age.max(0.0))))
                },
            ),
            peer.path_mtu_bytes.map_or_else(nothing, |bytes| bytes.to_string()),
            peer.srtt_seconds.map_or_else(nothing, |rtt| format!("{:.1} ms", rtt * 1e3)),
            peer.loss.map_or_else(nothing, |loss| format!("{:.1}%", loss * 100.0)),
            bytes(it.inner_sent_bytes),
            bytes(it.outer_sent_bytes),
            saved(it.inner_sent_bytes, it.outer_sent_bytes),
            bytes(it.outer_received_bytes),
            bytes(it.inner_received_bytes),
            it.missed.to_string(),
        ]);
    }
    table.write(out)?;
    writeln!(out)?;
    print_recovery(out, node)?;
    print_group(out, node)?;
    gateways::print(out, node)?;
    relays::print(out, node)?;
    relays::print_coded(out, node)?;
    if let Some(boost) = &about.boost {
        writeln!(out, "boost:           {}", boosted(boost, &node.peers))?;
    }
    if let Some(split) = &report.split {
        let &split::Counts { open, accepted, unreached, refused, idle, reset, bytes: across } = split;
        writeln!(
            out,
            "split TCP:       {open} open, {accepted} taken, {} handed across; {reset} reset, {idle} idle, {unreached} not \
             reached, {refused} refused",
            bytes(across)
        )?;
    }
    writeln!(out, "refused:         {}", counted(&node.refused))?;
    writeln!(out, "by the system:   {}", counted(io))?;
    match &report.snapshot.overheard {
        Some(heard) => writeln!(out, "overheard:       {}", overheard(heard)),
        None => Ok(()),
    }
}

fn without_session(peer: &node::PeerStatus) -> String {
    if peer.revoked { "revoked".to_owned() } else { nothing() }
}

/// The boosted congestion control of local TCP senders, and its mean ratio.
fn boosted(boost: &str, peers: &[node::PeerStatus]) -> String {
    let flows: usize = peers.iter().map(|peer| peer.boosted_flows).sum();
    let sum: f64 = peers.iter().map(|peer| peer.boost_ratio.unwrap_or(0.0) * peer.boosted_flows as f64).sum();
    match flows {
        0 => format!("{boost}; no flow shrinks now"),
        _ => format!("{boost}; {flows} flows, {:.2} segments a wire packet", sum / flows as f64),
    }
}

/// The overheard datagrams, and the reason if the radio encrypts all of them.
fn overheard(heard: &Heard) -> String {
    let Heard { interface, link, counters } = heard;
    let for_nothing = if counters.protected > 0 && counters.datagrams == 0 {
        "; nothing can be overheard where the radio encrypts (WPA)"
    } else {
        ""
    };
    format!("{} on {interface} ({link}){for_nothing}", counted(counters))
}

/// Prints repaired packets by mechanism, if there are any: hop ARQ, and the repair of TCP segments.
fn print_recovery(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    let repairs = |peer: &&node::PeerStatus| {
        let it = &peer.counters;
        peer.recover.is_some()
            || it.notices_sent + it.recovered + it.coded_restored + it.coded_not_restored > 0
    };
    let peers: Vec<_> = node.peers.iter().filter(repairs).collect();
    if peers.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&[
        "repair",
        "by the hop",
        "TCP segments",
        "coded",
        "by timeout",
        "ACKs kept back",
        "stripped",
        "left to senders",
        "unsent",
        "notices",
        "flows",
        "memory",
        "kept",
        "undone",
        "not undone",
    ]);
    for peer in peers {
        let it = &peer.counters;
        let kept =
            |of: &dyn Fn(&node::RecoverStatus) -> String| peer.recover.as_ref().map_or_else(nothing, of);
        table.row([
            peer.name.clone(),
            it.recovered.to_string(),
            (it.segments_repaired + it.segments_repaired_coded).to_string(),
            it.segments_repaired_coded.to_string(),
            it.segment_timeouts.to_string(),
            it.acks_suppressed.to_string(),
            it.acks_stripped.to_string(),
            it.segment_failures.to_string(),
            it.segment_repairs_dropped.to_string(),
            (it.notices_sent + it.notices_received).to_string(),
            kept(&|kept| kept.flows.to_string()),
            kept(&|kept| bytes(kept.bytes as u64)),
            kept(&|kept| format!("{} in {}", kept.packets, kept.slots)),
            it.coded_restored.to_string(),
            it.coded_not_restored.to_string(),
        ]);
    }
    table.write(out)?;
    writeln!(out)
}

/// Prints overhearing, if any: the bytes that a gateway does not send to stations, and the datagrams that
/// this node heard.
fn print_group(out: &mut impl Write, node: &node::Status) -> std::io::Result<()> {
    let in_group = |peer: &&node::PeerStatus| {
        let it = &peer.counters;
        peer.overheard_share.is_some() || it.shared_packets + it.overheard_datagrams + it.chunks_hit > 0
    };
    let peers: Vec<_> = node.peers.iter().filter(in_group).collect();
    if peers.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&[
        "group",
        "overhears",
        "radio",
        "shared",
        "not sent again",
        "air time saved",
        "chunks sent after all",
        "overheard",
        "chunks hit",
        "missed",
        "asked for",
    ]);
    for peer in peers {
        let it = &peer.counters;
        table.row([
            peer.name.clone(),
            peer.overheard_share.map_or_else(nothing, |share| format!("{:.0}%", share * 100.0)),
            peer.radio_bits_per_second.map_or_else(nothing, mbit_per_second),
            it.shared_packets.to_string(),
            bytes(it.overheard_removed_bytes),
            format!("{:.1} s", it.air_saved_seconds()),
            it.chunk_replies.to_string(),
            it.overheard_datagrams.to_string(),
            it.chunks_hit.to_string(),
            it.chunks_missed.to_string(),
            it.chunk_requests.to_string(),
        ]);
    }
    table.write(out)?;
    for peer in node.peers.iter().filter(|peer| !peer.overheard_by_rate.is_empty()) {
        writeln!(out, "{} overhears: {}", peer.name, by_rate(&peer.overheard_by_rate))?;
    }
    writeln!(out, "collisions in the cache: {}\n", node.collisions)
}

/// Overheard share at each rate.
fn by_rate(shares: &[node::OverheardAtRate]) -> String {
    let share = |at: &node::OverheardAtRate| {
        let percent = 100.0 * (at.overheard_packets as f64 / at.packets.max(1) as f64).min(1.0);
        format!("{percent:.0}% at {}", mbit_per_second(at.rate_bits_per_second))
    };
    shares.iter().map(share).collect::<Vec<_>>().join(", ")
}

fn mbit_per_second(rate_bits_per_second: u64) -> String {
    format!("{} Mbit/s", rate_bits_per_second as f64 / 1e6)
}

/// The tunnel's savings of the offered bytes, with headers; negative if little repeats.
fn saved(offered_bytes: u64, sent_bytes: u64) -> String {
    if offered_bytes == 0 {
        return nothing();
    }
    format!("{:.1}%", 100.0 * (1.0 - sent_bytes as f64 / offered_bytes as f64))
}

fn nothing() -> String {
    "-".to_owned()
}

/// The non-zero counters with their names.
fn counted(counters: &impl Serialize) -> String {
    let Ok(serde_json::Value::Object(counters)) = serde_json::to_value(counters) else { return nothing() };
    let counted: Vec<String> = counters
        .iter()
        .filter(|(_, count)| count.as_u64() != Some(0))
        .map(|(name, count)| format!("{count} {}", name.replace('_', " ")))
        .collect();
    if counted.is_empty() { "nothing".to_owned() } else { counted.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savings_are_of_what_was_offered_and_may_be_negative() {
        assert_eq!(saved(1000, 450), "55.0%");
        assert_eq!(saved(1000, 1040), "-4.0%");
        assert_eq!(saved(0, 400), "-");
    }

    #[test]
    fn a_radio_that_encrypts_everything_is_told() {
        let mut heard = Heard {
            interface: "wlan0mon".to_owned(),
            link: "802.11".to_owned(),
            counters: io::ear::Counters { frames: 7, protected: 7, ..Default::default() },
        };
        let nothing = "7 frames, 7 protected on wlan0mon (802.11); nothing can be overheard where the radio encrypts (WPA)";
        assert_eq!(overheard(&heard), nothing);
        heard.counters = io::ear::Counters { frames: 7, protected: 6, datagrams: 1, ..Default::default() };
        assert_eq!(overheard(&heard), "1 datagrams, 7 frames, 6 protected on wlan0mon (802.11)");
    }

    #[test]
    fn what_is_overheard_is_told_by_rate() {
        let at = |rate_bits_per_second, packets, overheard_packets| node::OverheardAtRate {
            rate_bits_per_second,
            packets,
            overheard_packets,
        };
        let shares = [at(54_000_000, 200, 50), at(5_500_000, 10, 10)];
        assert_eq!(by_rate(&shares), "25% at 54 Mbit/s, 100% at 5.5 Mbit/s");
    }

    #[test]
    fn only_what_happened_is_listed() {
        let refused = node::Refused { replay: 2, not_ip: 1, ..Default::default() };
        assert_eq!(counted(&refused), "1 not ip, 2 replay");
        assert_eq!(counted(&node::Refused::default()), "nothing");
    }
}
