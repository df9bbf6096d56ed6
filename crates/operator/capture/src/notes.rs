//! Notes of a report on limitations of its figures.

use crate::advice::share;
use crate::report::{Report, percent};

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
