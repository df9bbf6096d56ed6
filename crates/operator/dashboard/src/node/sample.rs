//! A peer's sample of one step, and series of samples by columns.

use ::page::ring::Sample as _;
use node::{PeerCounters, PeerStatus};

/// Bytes around the frames of one of our datagrams, without IP and UDP headers.
const AROUND_FRAMES: u64 = 26;
/// Bytes of a stream that its host would have sent in one packet.
const FULL_SEGMENT_BYTES: u64 = 1360;

::page::columns! {
    /// One step: counts in it, and states at its end.
    sample Sample
    /// Samples by columns, for transfer: each column has one entry for each step.
    columns Columns
    counts {
        /// Packets offered to the tunnel and sent. Bytes of streams count as full segments.
        offered_packets,
        /// Their bytes, and those of streams.
        offered_bytes,
        /// Datagrams sent.
        sent_datagrams,
        /// Their bytes, with outer headers.
        sent_bytes,
        /// Bytes of datagrams received, with outer headers.
        received_bytes,
        /// Bytes of packets and streams delivered.
        delivered_bytes,
        /// Bytes that redundancy elimination removed.
        reduced_bytes,
        /// Further bytes that shorter headers and compressed literals saved.
        shortened_bytes,
        /// Bytes not sent because a receiver overheard them, or a member of the group received them before.
        overheard_bytes,
        /// Bytes not sent because packets for several peers left combined.
        coded_bytes,
        /// Bytes of headers saved because packets share a datagram.
        packed_bytes,
        /// Packets retransmitted after a loss on the hop (hop ARQ).
        hop_repaired,
        /// TCP segments retransmitted from here as originals (Snoop).
        segments_repaired,
        /// TCP segments retransmitted in combination with others (XBC).
        segments_coded,
        /// Packets that could not be restored at their arrival.
        missed,
        /// Packets dropped from the queue because it was full or slow.
        queue_dropped,
        /// Bytes of streams from hosts, sent in any form.
        stream_taken_bytes,
        /// Bytes as which these were sent for the first time.
        stream_sent_bytes,
        /// Bytes of streams sent again.
        stream_resent_bytes,
        /// Bytes of streams handed to hosts.
        stream_received_bytes,
    }
    states {
        /// Recent loss rate on the air, in millionths.
        loss_ppm,
        /// The smoothed round trip; 0 if unknown.
        srtt_microseconds,
        /// Bytes that wait to be sent.
        queue_bytes,
        /// Open streams.
        open_streams,
    }
}

impl Sample {
    /// A peer's sample between two reports. A counter that decreased has restarted.
    #[must_use]
    pub fn between(before: &PeerCounters, now: &PeerStatus) -> Self {
        let it = &now.counters;
        macro_rules! since {
            ($($($counter:ident).+)+) => { 0 $(+ it.$($counter).+.saturating_sub(before.$($counter).+))+ };
        }
        let stream_taken_bytes = since!(streams.taken_bytes);
        // IPv6's header if the endpoint is unknown.
        let outer_header_bytes = now.endpoint.map_or(48, node::outer_header_bytes);
        Sample {
            offered_packets: since!(inner_sent_packets) + stream_taken_bytes.div_ceil(FULL_SEGMENT_BYTES),
            offered_bytes: since!(inner_sent_bytes) + stream_taken_bytes,
            sent_datagrams: since!(outer_sent_datagrams),
            sent_bytes: since!(outer_sent_bytes),
            received_bytes: since!(outer_received_bytes),
            delivered_bytes: since!(inner_received_bytes streams.received_bytes),
            reduced_bytes: since!(removed_bytes),
            shortened_bytes: since!(shortened_bytes),
            overheard_bytes: since!(overheard_removed_bytes),
            coded_bytes: since!(natives_saved_bytes),
            packed_bytes: since!(packed_packets) * (outer_header_bytes + AROUND_FRAMES),
            hop_repaired: since!(recovered),
            segments_repaired: since!(segments_repaired),
            segments_coded: since!(segments_repaired_coded),
            missed: since!(missed),
            queue_dropped: since!(queue_dropped queue_dropped_by_codel queue_dropped_for_path),
            stream_taken_bytes,
            stream_sent_bytes: since!(streams.sent_bytes),
            stream_resent_bytes: since!(streams.resent_bytes),
            stream_received_bytes: since!(streams.received_bytes),
            loss_ppm: (now.loss.unwrap_or(0.0) * 1e6).round() as u64,
            srtt_microseconds: (now.srtt_seconds.unwrap_or(0.0) * 1e6).round() as u64,
            queue_bytes: now.queue_bytes as u64,
            open_streams: now.streams.as_ref().map_or(0, |streams| streams.open as u64),
        }
    }

    /// Adds another peer's sample of the same step: queues and open streams add up, and of other states the
    /// highest counts.
    pub fn beside(&mut self, other: &Sample) {
        let (queue_bytes, open_streams) =
            (self.queue_bytes + other.queue_bytes, self.open_streams + other.open_streams);
        self.then(other);
        (self.queue_bytes, self.open_streams) = (queue_bytes, open_streams);
    }
}
