//! The advice of a report: one line, and notes on limitations of the figures.

use crate::report::{Report, percent};

/// Savings below this do not justify a tunnel, whose own headers cost as much.
const WORTH_PERCENT: f64 = 3.0;
/// The share of redundancy between clients from which the advice mentions it.
const SHARED_PERCENT: f64 = 5.0;

fn share(percent: f64) -> String {
    if percent.abs() < 9.95 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

/// The line of advice.
pub(crate) fn advice(report: &Report) -> String {
    if report.traffic.payload_bytes == 0 {
        return nothing_to_read(report);
    }
    let saved = |name: &str| report.method(name).map(|method| method.total);
    let (Some(acked), Some(zstd)) = (saved("acked"), saved("zstd")) else {
        return "Measure `acked` and `zstd` as well for advice.".to_owned();
    };
    let (re, compressor, both) = (acked.saved_percent, zstd.saved_percent, acked.saved_with_zstd_percent);
    let mut advice = encrypted(report).map(|hint| hint + ". ").unwrap_or_default();
    advice += &if re.max(compressor).max(both) < WORTH_PERCENT {
        format!("There is next to nothing to gain here: at most {}.", share(re.max(compressor).max(both)))
    } else if re < WORTH_PERCENT {
        format!(
            "A compressor alone saves {}; redundancy elimination adds nothing worth its price ({}).",
            share(compressor),
            share(re)
        )
    } else if compressor >= re {
        format!(
            "Compressing each packet saves {}, more than redundancy elimination ({}); both together {}.",
            share(compressor),
            share(re),
            share(both)
        )
    } else if compressor < WORTH_PERCENT {
        format!("Redundancy elimination saves {}; a compressor would save {}.", share(re), share(compressor))
    } else {
        format!(
            "Redundancy elimination saves {}, a compressor {}, both together {}.",
            share(re),
            share(compressor),
            share(both)
        )
    };
    advice + &between_clients(report).unwrap_or_default()
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
    (inter >= SHARED_PERCENT && report.clients > 1).then(|| {
        format!(
            " {} of what clients receive only other clients received before: that part needs overhearing, or a \
             station that all of them share.",
            share(inter)
        )
    })
}

/// Limitations of the figures, worst first.
pub(crate) fn notes(report: &Report, may_hold_packets_twice: bool) -> Vec<String> {
    let (frames, traffic) = (&report.frames, &report.traffic);
    let mut notes = Vec::new();
    let mut note = |applies: bool, text: String| notes.extend(applies.then_some(text));
    note(report.damage.is_some(), report.damage.clone().unwrap_or_default());
    note(
        may_hold_packets_twice,
        "much of the TCP payload is in the capture twice; captures on all interfaces (tcpdump -i any) hold \
         forwarded packets twice, and the copies of UDP count as redundancy: capture on one interface"
            .to_owned(),
    );
    let cut = percent(frames.cut_frames, frames.frames);
    note(
        cut >= 1.0,
        format!(
            "{} of the frames were captured in part only (snap length): the figures are for what is there",
            share(cut)
        ),
    );
    note(
        frames.protected_frames > 0,
        format!(
            "{} frames were encrypted by the radio and could not be looked into",
            frames.protected_frames
        ),
    );
    note(
        frames.unknown_link_frames > 0,
        format!("frames of a kind of link that is not understood: {}", frames.unknown_link_frames),
    );
    let malformed = frames.malformed_frames + traffic.malformed_packets;
    note(malformed > 0, format!("frames and packets whose headers make no sense: {malformed}"));
    note(traffic.fragments > 0, format!("IP fragments, which were left out: {}", traffic.fragments));
    note(
        traffic.coalesced_packets > 0,
        format!(
            "packets longer than an ordinary link carries, as the capturing host's offloads join segments: {}; on \
             the link they are shorter, and zstd does less well",
            traffic.coalesced_packets
        ),
    );
    for method in report.methods.iter().filter(|method| method.memory_was_full) {
        note(
            true,
            format!("{} ran out of memory for earlier packets, and may have missed repetition", method.name),
        );
    }
    notes
}
