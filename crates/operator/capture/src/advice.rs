//! The advice of a report: one line, and lines for the configuration.

use crate::report::Report;
use crate::tunnel::{TunnelReport, default_store_mib};

/// Savings below this do not justify a tunnel.
pub(crate) const WORTH_PERCENT: f64 = 3.0;
/// The share of redundancy from which the advice mentions it, between clients or out of a store's reach.
const MENTIONED_PERCENT: f64 = 5.0;

pub(crate) fn share(percent: f64) -> String {
    if percent.abs() < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

/// Lines for the configuration of both nodes; none if the default one is as good as any.
pub(crate) fn configuration(report: &Report) -> Vec<String> {
    if better_policy(report).is_some() {
        let lines = [
            "[reduce]",
            "policy = \"acked\"",
            "",
            "[shorten]",
            "headers = true",
            "literals = true",
            "packing = true",
        ];
        return lines.map(str::to_owned).to_vec();
    }
    match better_store(report) {
        Some(best) => vec!["[memory]".to_owned(), format!("mib = {}", budget_mib(best.store_mib))],
        None => Vec::new(),
    }
}

/// A budget of a node with one peer in which the stores of both directions have this bound. They take 1.13
/// and 1.17 bytes of memory for each byte, and queues and tables take some.
fn budget_mib(store_mib: usize) -> usize {
    store_mib * 5 / 2 + 8
}

/// The tunnel with the policy `acked`, if it saves much more than with the default one and any store.
fn better_policy(report: &Report) -> Option<&TunnelReport> {
    let best = report.best_tunnel()?.saved_percent;
    report.acked.as_ref().filter(|acked| {
        acked.saved_percent >= WORTH_PERCENT && acked.saved_percent - best >= MENTIONED_PERCENT
    })
}

/// The tunnel with a store that is larger than the default one and saves more, if that is worth a tunnel.
fn better_store(report: &Report) -> Option<&TunnelReport> {
    report
        .best_tunnel()
        .filter(|best| best.store_mib > default_store_mib() && best.saved_percent >= WORTH_PERCENT)
}

/// The line of advice.
pub(crate) fn advice(report: &Report) -> String {
    if report.traffic.payload_bytes == 0 {
        return nothing_to_read(report);
    }
    let (Some(default), Some(best)) = (&report.default, report.best_tunnel()) else {
        return "Measure `default` as well for advice.".to_owned();
    };
    let mut advice = encrypted(report).map(|hint| hint + ". ").unwrap_or_default();
    let saved = default.saved_percent;
    advice += &if let Some(acked) = better_policy(report) {
        format!(
            "The tunnel saves {} with the policy `acked`, and {} with the default configuration: much repeats within a \
             round trip, and not in TCP. On a link that loses packets, `acked` saves less.",
            share(acked.saved_percent),
            share(saved)
        )
    } else if best.saved_percent.max(saved) < WORTH_PERCENT {
        next_to_nothing(saved)
    } else if let Some(best) = better_store(report) {
        format!(
            "The tunnel saves {} with stores of {} MiB, and {} with the default of {} MiB.",
            share(best.saved_percent),
            best.store_mib,
            share(saved),
            default.store_mib
        )
    } else {
        format!("The tunnel saves {} with the default configuration.", share(saved))
    };
    let hints =
        [smaller_store(report), by_compression(report), out_of_reach(report), between_clients(report)];
    hints.into_iter().flatten().for_each(|hint| {
        advice.push(' ');
        advice.push_str(&hint);
    });
    advice
}

fn next_to_nothing(saved: f64) -> String {
    let what = if saved < 0.0 {
        format!("the tunnel sends {} more than it carries", share(-saved))
    } else {
        format!("the tunnel saves {}", share(saved))
    };
    format!("There is next to nothing to gain here: {what}.")
}

/// A store smaller than the default one that saves as much.
fn smaller_store(report: &Report) -> Option<String> {
    let mib = report.store_mib_to_take.filter(|&mib| mib < default_store_mib())?;
    (report.best_tunnel()?.saved_percent >= WORTH_PERCENT)
        .then(|| format!("Stores of {mib} MiB save as much to within 1%."))
}

/// The savings come from the compression of each packet.
fn by_compression(report: &Report) -> Option<String> {
    let saved = |name: &str| Some(report.method(name)?.total.saved_percent);
    let (repeated, compressed) = (saved("acked")?, saved("zstd")?);
    let is_all = repeated < WORTH_PERCENT && better_store(report).is_none() && compressed >= WORTH_PERCENT;
    is_all.then(|| {
        format!(
            "Compressing each payload saves {} of it; references to earlier packets save {}.",
            share(compressed),
            share(repeated)
        )
    })
}

/// Repetition that the tunnel does not turn into savings: what repeats is too far back, or in pieces too
/// small.
fn out_of_reach(report: &Report) -> Option<String> {
    let there = report.method("max-match")?.total.saved_percent;
    let best = report.best_tunnel()?;
    let largest = report.stores.last().unwrap_or(best);
    let holds_all = largest.holds_all();
    (there - best.saved_percent >= MENTIONED_PERCENT && !holds_all).then(|| {
        format!(
            "{} of the payload repeats at any distance, beyond the largest store that was tried ({} MiB).",
            share(there),
            largest.store_mib
        )
    })
}

fn nothing_to_read(report: &Report) -> String {
    let frames = &report.frames;
    let reason = if frames.protected_frames > 0 {
        "the radio encrypted its frames; capture on the access point's own interface, behind its decryption"
    } else if frames.cut_frames > 0 {
        "its packets were cut before their payload; capture with a larger snap length (tcpdump -s 0)"
    } else if frames.unknown_link_frames > 0 {
        "frames of this kind of link are not understood"
    } else {
        "it holds no TCP or UDP payload"
    };
    format!("Nothing can be said of this capture: {reason}.")
}

fn encrypted(report: &Report) -> Option<String> {
    let traffic = &report.traffic;
    let encrypted = report.percent_of_payload(traffic.encrypted_bytes());
    (encrypted >= WORTH_PERCENT).then(|| {
        let kinds = [("TLS", traffic.tls_bytes), ("QUIC", traffic.quic_bytes), ("SSH", traffic.ssh_bytes)];
        let kinds: Vec<&str> = kinds.iter().filter(|(_, bytes)| *bytes > 0).map(|(name, _)| *name).collect();
        format!("{} of the payload is encrypted ({}) and cannot gain", share(encrypted), kinds.join(", "))
    })
}

/// The origin of the redundancy decides which nodes can use it.
fn between_clients(report: &Report) -> Option<String> {
    let chunk = report.method("chunk").or_else(|| report.method("max-match"))?;
    let inter = chunk.inter_percent;
    (inter >= MENTIONED_PERCENT && report.clients > 1).then(|| {
        format!(
            "{} of what clients receive only other clients received before: that part needs one station \
             for all of them, or stations that overhear each other (`[overhear]`).",
            share(inter)
        )
    })
}
