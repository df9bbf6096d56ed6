//! `overheard status`: queries the running nodes and web caches.

#[cfg(feature = "cache")]
mod cache;
#[cfg(not(feature = "cache"))]
#[path = "status/no_cache.rs"]
mod cache;
#[cfg(test)]
mod fixture;
mod gateways;
mod memory;
mod relays;
mod streams;

use anyhow::bail;
use console::{Table, bytes, duration};
use daemon::config;
use daemon::sockets::{self, Kind, SOCKET_DIRECTORY, ask_cache};
use daemon::status_socket::ask;
use dashboard::figures::saved;
use dashboard::node::Report;
use io::sniffer::Heard;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Show peers, bytes in and out, savings, misses, loss and RTT of local nodes, and hits of local web caches
#[derive(clap::Args)]
pub struct Args {
    /// The configuration of the node; without it, all nodes with a socket in /run/overheard, and all web
    /// caches with one in /run/overheard-cache
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
    Table::of(node.peers.iter().map(PeerRow::of)).write(out)?;
    writeln!(out)?;
    for silent in &report.silent {
        let since = duration(Duration::from_secs_f64(silent.seconds.max(0.0)));
        writeln!(out, "silent:          {}, for {since}: {}", silent.peer, silent.reason)?;
    }
    let past: Vec<_> = node.peers.iter().filter(|peer| peer.counters.unstored_packets > 0).collect();
    for peer in &past {
        let (name, it) = (&peer.name, &peer.counters);
        let (unstored, sent) = (it.unstored_packets, it.inner_sent_packets);
        writeln!(
            out,
            "processor short: {unstored} of {sent} packets to {name} went past redundancy elimination"
        )?;
    }
    if !report.silent.is_empty() || !past.is_empty() {
        writeln!(out)?;
    }
    print_recovery(out, node)?;
    streams::print(out, node)?;
    memory::print(out, node)?;
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

console::row! {
    /// One row for each peer of the configuration.
    struct PeerRow {
        /// The name of the peer in the configuration.
        peer: String,
        /// The present address and UDP port of the peer.
        endpoint: String,
        /// The time since the handshake of the session. `plain`: the two ends have no version of the formats
        /// in common. `silent`: the peer does not answer. `previous network key`: the session depends on that
        /// key. In place of the time, `revoked`: the key of the peer is revoked.
        session: String,
        /// The size of the largest outer IP packet to the peer, in bytes. A node that has no `endpoint` in
        /// its configuration and listens on `[::]` leaves room for IPv6's longer header. It shows 1480 for an
        /// IPv4 peer where the path MTU is 1500.
        path_mtu: String,
        /// The smoothed round-trip time of the hop, in milliseconds.
        rtt: String,
        /// The share of recently sent packets that the air lost, in percent.
        loss: String,
        /// Bytes of inner packets and of streams sent to the peer.
        offered: String,
        /// Bytes of datagrams sent to the peer, with outer IP and UDP headers, receipts and retransmissions.
        sent: String,
        /// The share by which SENT is smaller than OFFERED, in percent. If SENT is larger: `overhead`, and
        /// the bytes sent beyond OFFERED.
        saved: String,
        /// Bytes of authenticated datagrams from the peer, with outer IP and UDP headers.
        received: String,
        /// Bytes of inner packets and of streams delivered from the peer.
        delivered: String,
        /// Received packets that the node could not restore at once.
        misses: String,
    }
}

impl PeerRow {
    fn of(peer: &node::PeerStatus) -> Self {
        let it = &peer.counters;
        PeerRow {
            peer: peer.name.clone(),
            endpoint: peer.endpoint.map_or_else(nothing, |endpoint| endpoint.to_string()),
            session: peer.session_age_seconds.map_or_else(
                || without_session(peer),
                |age| {
                    let plain = if peer.version == Some(0) { ", plain" } else { "" };
                    let silent = if peer.reachable { "" } else { ", silent" };
                    let previous = if peer.previous_network_key { ", previous network key" } else { "" };
                    format!("{}{plain}{silent}{previous}", duration(Duration::from_secs_f64(age.max(0.0))))
                },
            ),
            path_mtu: peer.path_mtu_bytes.map_or_else(nothing, |bytes| bytes.to_string()),
            rtt: peer.srtt_seconds.map_or_else(nothing, |rtt| format!("{:.1} ms", rtt * 1e3)),
            loss: peer.loss.map_or_else(nothing, |loss| format!("{:.1}%", loss * 100.0)),
            offered: bytes(it.offered_bytes()),
            sent: bytes(it.outer_sent_bytes),
            saved: saved(it.offered_bytes(), it.outer_sent_bytes, "overhead "),
            received: bytes(it.outer_received_bytes),
            delivered: bytes(it.delivered_bytes()),
            misses: it.missed.to_string(),
        }
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
            || it.repairs_sent + it.restored > 0
    };
    let peers: Vec<_> = node.peers.iter().filter(repairs).collect();
    if peers.is_empty() {
        return Ok(());
    }
    Table::of(peers.into_iter().map(RepairRow::of)).write(out)?;
    writeln!(out)
}

console::row! {
    /// One row for each peer with a repair. FLOWS, MEMORY and KEPT have values where `[snoop]` is on.
    struct RepairRow {
        /// The name of the peer.
        repair: String,
        /// Retransmissions of packets that receipts showed as missing.
        by_the_hop: String,
        /// Repairs of forward error correction sent.
        ahead: String,
        /// Datagrams of the peer that were lost, and that its repairs restored.
        restored: String,
        /// Retransmissions of lost TCP segments.
        tcp_segments: String,
        /// Those of TCP SEGMENTS that were combined with others.
        coded: String,
        /// Retransmissions of TCP segments after a timeout.
        by_timeout: String,
        /// Duplicate acknowledgments that the node dropped during a repair.
        acks_kept_back: String,
        /// Acknowledgments forwarded without their report of missing segments.
        stripped: String,
        /// Missing segments left to the TCP sender.
        left_to_senders: String,
        /// Repairs not sent: too many waited, or the path became too narrow.
        unsent: String,
        /// Notices about lost TCP segments, sent and received.
        notices: String,
        /// Observed TCP flows.
        flows: String,
        /// Bytes of their stored segments.
        memory: String,
        /// Stored segments, and the slots that have them. Combined segments share a slot.
        kept: String,
        /// Combined repairs from the peer that the node decoded and delivered.
        undone: String,
        /// Combined repairs from the peer that the node could not decode.
        not_undone: String,
    }
}

impl RepairRow {
    fn of(peer: &node::PeerStatus) -> Self {
        let it = &peer.counters;
        let kept =
            |of: &dyn Fn(&node::RecoverStatus) -> String| peer.recover.as_ref().map_or_else(nothing, of);
        RepairRow {
            repair: peer.name.clone(),
            by_the_hop: it.recovered.to_string(),
            ahead: it.repairs_sent.to_string(),
            restored: it.restored.to_string(),
            tcp_segments: (it.segments_repaired + it.segments_repaired_coded).to_string(),
            coded: it.segments_repaired_coded.to_string(),
            by_timeout: it.segment_timeouts.to_string(),
            acks_kept_back: it.acks_suppressed.to_string(),
            stripped: it.acks_stripped.to_string(),
            left_to_senders: it.segment_failures.to_string(),
            unsent: it.segment_repairs_dropped.to_string(),
            notices: (it.notices_sent + it.notices_received).to_string(),
            flows: kept(&|kept| kept.flows.to_string()),
            memory: kept(&|kept| bytes(kept.bytes as u64)),
            kept: kept(&|kept| format!("{} in {}", kept.packets, kept.slots)),
            undone: it.coded_restored.to_string(),
            not_undone: it.coded_not_restored.to_string(),
        }
    }
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
    Table::of(peers.into_iter().map(GroupRow::of)).write(out)?;
    for peer in node.peers.iter().filter(|peer| !peer.overheard_by_rate.is_empty()) {
        writeln!(out, "{} overhears: {}", peer.name, by_rate(&peer.overheard_by_rate))?;
    }
    if let Some(pause) = node.sharing.as_ref().filter(|sharing| sharing.paused) {
        writeln!(
            out,
            "overhearing:     off for {}: it took {:.1} s of air time, and saved {:.1} s",
            duration(Duration::from_secs_f64(pause.resumes_in_seconds.unwrap_or(0.0).max(0.0))),
            pause.spent_seconds,
            pause.saved_seconds
        )?;
    }
    writeln!(out, "collisions in the cache: {}\n", node.collisions)
}

console::row! {
    /// One row for each peer with traffic of a group: a member, or the gateway of this node.
    struct GroupRow {
        /// The name of the peer.
        group: String,
        /// The share of recent packets for other members that the peer overheard, in percent. `-` before its
        /// first report: the peer hears nothing, or the others got no packets.
        overhears: String,
        /// The bitrate of this machine's radio towards the peer, in Mbit/s.
        radio: String,
        /// Packets sent in a form that other stations can overhear.
        shared: String,
        /// Bytes of chunks that the node did not send because the peer had them.
        not_sent_again: String,
        /// The air time of those bytes, less that of chunks sent later because the peer lacked them, in
        /// seconds.
        air_time_saved: String,
        /// Answers to requests for chunks that the peer lacked.
        chunks_sent_after_all: String,
        /// Overheard datagrams for other nodes.
        overheard: String,
        /// Chunks restored from overheard datagrams.
        chunks_hit: String,
        /// Chunks that this node lacked.
        missed: String,
        /// Requests of this node for chunks that it lacked.
        asked_for: String,
    }
}

impl GroupRow {
    fn of(peer: &node::PeerStatus) -> Self {
        let it = &peer.counters;
        GroupRow {
            group: peer.name.clone(),
            overhears: peer.overheard_share.map_or_else(nothing, |share| format!("{:.0}%", share * 100.0)),
            radio: peer.radio_bits_per_second.map_or_else(nothing, mbit_per_second),
            shared: it.shared_packets.to_string(),
            not_sent_again: bytes(it.overheard_removed_bytes),
            air_time_saved: format!("{:.1} s", it.air_saved_seconds()),
            chunks_sent_after_all: it.chunk_replies.to_string(),
            overheard: it.overheard_datagrams.to_string(),
            chunks_hit: it.chunks_hit.to_string(),
            missed: it.chunks_missed.to_string(),
            asked_for: it.chunk_requests.to_string(),
        }
    }
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

fn nothing() -> String {
    "-".to_owned()
}

/// The words for a counter: other ones than its name for what an operator can end.
fn words_of(counter: &str) -> String {
    match counter {
        "handshake_mark" => "handshakes with another network key".to_owned(),
        "handshake_stranger" => "handshakes of nodes that are no peers".to_owned(),
        "handshake_preshared_key" => "answers under another pre-shared key".to_owned(),
        "handshake_revoked" => "handshakes under a revoked key".to_owned(),
        _ => counter.replace('_', " "),
    }
}

/// The non-zero counters in words.
fn counted(counters: &impl Serialize) -> String {
    let Ok(serde_json::Value::Object(counters)) = serde_json::to_value(counters) else { return nothing() };
    let counted: Vec<String> = counters
        .iter()
        .filter(|(_, count)| count.as_u64() != Some(0))
        .map(|(name, count)| format!("{count} {}", words_of(name)))
        .collect();
    if counted.is_empty() { "nothing".to_owned() } else { counted.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_radio_that_encrypts_everything_is_told() {
        let mut heard = Heard {
            interface: "wlan0mon".to_owned(),
            link: "802.11".to_owned(),
            counters: io::sniffer::Counters { frames: 7, protected: 7, ..Default::default() },
        };
        let nothing = "7 frames, 7 protected on wlan0mon (802.11); nothing can be overheard where the radio encrypts (WPA)";
        assert_eq!(overheard(&heard), nothing);
        heard.counters =
            io::sniffer::Counters { frames: 7, protected: 6, datagrams: 1, ..Default::default() };
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
        let refused = node::Refused { handshake_mark: 3, replay: 1, ..Default::default() };
        assert_eq!(counted(&refused), "3 handshakes with another network key, 1 replay");
    }
}
