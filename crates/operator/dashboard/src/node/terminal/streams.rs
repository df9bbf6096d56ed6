//! The streams of the charts' subject, in a sentence or two.

use super::{Shown, View};
use crate::figures::bytes;
use node::{PeerStatus, StreamCounters, StreamsStatus};

/// The state of the streams and their counters since the start. None where no shown peer has streams.
pub fn told(view: View, shown: &Shown<'_>) -> Option<String> {
    let (subject, _) = shown.subject(view);
    let is_shown = |peer: &&PeerStatus| view.subject == 0 || peer.name == subject;
    let peers: Vec<(&PeerStatus, &StreamsStatus)> = shown
        .report
        .snapshot
        .node
        .peers
        .iter()
        .filter(is_shown)
        .filter_map(|peer| Some((peer, peer.streams.as_ref()?)))
        .collect();
    if peers.is_empty() {
        return None;
    }
    let off: Vec<String> = peers
        .iter()
        .filter_map(|(peer, streams)| Some(format!("{} ({})", peer.name, streams.off.as_ref()?)))
        .collect();
    let off = if off.is_empty() { String::new() } else { format!(" Off: {}.", off.join(", ")) };
    let now = |figure: fn(&StreamsStatus) -> u64| peers.iter().map(|(_, it)| figure(it)).sum::<u64>();
    let since = |figure: fn(&StreamCounters) -> u64| {
        peers.iter().map(|(peer, _)| figure(&peer.counters.streams)).sum::<u64>()
    };
    Some(format!(
        "Streams: {} open, of {} at most; memory {}, of {} at most.{off} Since the start: {} opened here, {} opened by peers, \
         {} refused by their destination, {} reset, {} connections in packets for want of a stream, and {} for want \
         of a way back; {} from hosts, {} sent for them, {} sent again, {} received.",
        now(|it| it.open as u64),
        now(|it| it.most as u64),
        bytes(now(|it| it.memory_bytes)),
        bytes(now(|it| it.most_memory_bytes)),
        since(|it| it.opened),
        since(|it| it.accepted),
        since(|it| it.refused),
        since(|it| it.aborted),
        since(|it| it.passed),
        since(|it| it.no_way_back),
        bytes(since(|it| it.taken_bytes)),
        bytes(since(|it| it.sent_bytes)),
        bytes(since(|it| it.resent_bytes)),
        bytes(since(|it| it.received_bytes)),
    ))
}
