//! What happened to a peer in one step, and rows of that by columns.

use ::page::ring::Sample as _;
use node::{PeerCounters, PeerStatus};

/// Around the frames of a datagram of ours there are so many bytes, without its IP and UDP headers.
const AROUND_FRAMES: u64 = 26;

::page::columns! {
    /// What happened in one step: what was counted in it, and what the state was at its end.
    sample Sample
    /// Samples by columns, as they travel: each column has as many entries as there are steps.
    columns Columns
    counts {
        /// Packets offered to the tunnel, and sent.
        offered_packets,
        /// Their bytes.
        offered_bytes,
        /// Datagrams sent.
        sent_datagrams,
        /// Their bytes, with outer headers.
        sent_bytes,
        /// Bytes of datagrams received, with outer headers.
        received_bytes,
        /// Bytes of packets delivered.
        delivered_bytes,
        /// Bytes that redundancy elimination left out.
        reduced_bytes,
        /// Bytes that shorter headers and compressed literals left out beyond that.
        shortened_bytes,
        /// Bytes that were not sent because they had been overheard, or sent before to whoever is in the
        /// group.
        overheard_bytes,
        /// Bytes that were not sent because packets for several peers left combined.
        coded_bytes,
        /// Bytes of headers that packets sharing a datagram did not need.
        packed_bytes,
        /// Packets sent again because the hop lost them (hop ARQ).
        hop_repaired,
        /// TCP segments sent again from here as they were (Snoop).
        segments_repaired,
        /// TCP segments sent again combined with others (XBC).
        segments_coded,
        /// Packets that could not be restored when they arrived.
        missed,
        /// Packets dropped from the queue, full or slow.
        queue_dropped,
    }
    states {
        /// The share of what was sent lately that the air lost, in millionths.
        loss_ppm,
        /// The smoothed round trip; 0: none known.
        srtt_microseconds,
        /// Bytes that wait to be sent.
        queue_bytes,
    }
}

impl Sample {
    /// What has happened to a peer between two reports on it. Counters that went back began anew.
    #[must_use]
    pub fn between(before: &PeerCounters, now: &PeerStatus) -> Self {
        let it = &now.counters;
        macro_rules! since {
            ($($counter:ident)+) => { 0 $(+ it.$counter.saturating_sub(before.$counter))+ };
        }
        // IPv6's header where nothing is known
        let outer_header_bytes = now.endpoint.map_or(48, node::outer_header_bytes);
        Sample {
            offered_packets: since!(inner_sent_packets),
            offered_bytes: since!(inner_sent_bytes),
            sent_datagrams: since!(outer_sent_datagrams),
            sent_bytes: since!(outer_sent_bytes),
            received_bytes: since!(outer_received_bytes),
            delivered_bytes: since!(inner_received_bytes),
            reduced_bytes: since!(removed_bytes),
            shortened_bytes: since!(shortened_bytes),
            overheard_bytes: since!(overheard_removed_bytes),
            coded_bytes: since!(natives_saved_bytes),
            packed_bytes: since!(packed_packets) * (outer_header_bytes + AROUND_FRAMES),
            hop_repaired: since!(recovered),
            segments_repaired: since!(segments_repaired),
            segments_coded: since!(segments_repaired_coded),
            missed: since!(missed),
            queue_dropped: since!(queue_dropped queue_dropped_by_codel),
            loss_ppm: (now.loss.unwrap_or(0.0) * 1e6).round() as u64,
            srtt_microseconds: (now.srtt_seconds.unwrap_or(0.0) * 1e6).round() as u64,
            queue_bytes: now.queue_bytes as u64,
        }
    }

    /// Adds what happened to another peer in the same step: a queue is beside the other, and of the other
    /// states the whole has the highest.
    pub fn beside(&mut self, other: &Sample) {
        let queue_bytes = self.queue_bytes + other.queue_bytes;
        self.then(other);
        self.queue_bytes = queue_bytes;
    }
}
