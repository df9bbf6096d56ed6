//! ExOR over a measured mesh (section 2.2.2, "opportunistic routing"): batches of a source, forwarded by
//! nodes that heard them, with and without removal of content that the destination or a forwarder has.
//!
//! Nodes take turns in the correct order, the nearest to the destination first: the timers of turns are not
//! modelled. Receptions are those that a testbed recorded.

mod net;
mod recorded;

use anyhow::Result;

use self::net::Net;
pub use self::recorded::Mesh;
use crate::trace::TracePacket;

/// Fragments of a batch.
const BATCH_FRAGMENTS: usize = 64;
/// Bytes of a fragment: the longest packet, its front, and a little.
const FRAGMENT_BYTES: usize = 1412;
/// Packets of a batch at most.
const BATCH_PACKETS: usize = 1024;

/// Handling of repeated content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// ExOR as published: a packet is a fragment.
    Exor,
    /// What the destination has is removed by REfactor's codec as printed, and fragments are filled (section
    /// 2.2.2): MAXP, whole chunks, marked slots, flushes, no MAC. What the destination has is known exactly.
    ReducedAsPrinted,
    /// The same by our codec.
    Reduced,
    /// What a forwarder has is told to it by name, too, and it counts as holding it.
    ReducedForForwarders,
    /// The same, and that forwarder comes earlier.
    Reordered,
}

/// One run.
#[derive(Debug, Clone)]
pub struct Opportunistic<'a> {
    /// Where.
    pub mesh: &'a Mesh,
    /// The source.
    pub source: usize,
    /// The destinations, by the clients of the trace.
    pub destinations: Vec<usize>,
    /// Handling of repeated content.
    pub scheme: Scheme,
    /// The caches have two to this many slots.
    pub slot_bits: u8,
    /// Where in the recordings each node begins.
    pub seed: u64,
}

/// What a run took.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken {
    /// Seconds of air time.
    pub air_seconds: f64,
    /// Payload that arrived.
    pub payload_bytes: u64,
    /// Batches.
    pub batches: u64,
    /// Batches in which a forwarder got an earlier turn for its content.
    pub reordered_batches: u64,
    /// Fragments of all batches.
    pub fragments: u64,
}

impl Opportunistic<'_> {
    /// Carries a trace to its end.
    ///
    /// # Errors
    ///
    /// When a packet comes out other than it was, or a batch never arrives.
    pub fn of(&self, trace: impl Iterator<Item = TracePacket>) -> Result<Taken> {
        let mut waiting: Vec<Vec<TracePacket>> = vec![Vec::new(); self.destinations.len()];
        let mut bytes = vec![0; self.destinations.len()];
        let mut net = Net::new(self)?;
        for packet in trace {
            let client = packet.client % self.destinations.len();
            bytes[client] += net.expected_bytes(client, &packet);
            waiting[client].push(packet);
            // Every batch has the same number of fragments.
            if bytes[client] > (BATCH_FRAGMENTS - 2) * FRAGMENT_BYTES
                || waiting[client].len() == BATCH_PACKETS
            {
                net.carry(client, &waiting[client])?;
                waiting[client].clear();
                bytes[client] = 0;
            }
        }
        for (client, packets) in waiting.iter().enumerate().filter(|(_, packets)| !packets.is_empty()) {
            net.carry(client, packets)?;
        }
        Ok(net.taken)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use air::receptions::RecordedPath;

    use super::*;
    use crate::trace::{Composer, Fresh, Kind, Mix};

    /// A line of five, of which each hears the next ones nine times in ten and those after them one time in
    /// two.
    fn mesh() -> Mesh {
        let mut paths = Vec::new();
        for from in 0..5i32 {
            for to in (0..5i32).filter(|to| *to != from) {
                let bits: String = (0..60)
                    .map(|at| match (from - to).abs() {
                        1 => at % 10 != from % 10,
                        2 => (at + to) % 2 == 0,
                        _ => false,
                    })
                    .map(|heard| if heard { '1' } else { '0' })
                    .collect();
                let receptions = bits.parse().unwrap();
                paths.push(RecordedPath {
                    transmitter: from.to_string(),
                    receiver: to.to_string(),
                    receptions,
                });
            }
        }
        Mesh::new(&paths)
    }

    fn seconds(scheme: Scheme, destinations: &[usize], mix: Mix) -> f64 {
        let trace = Composer::new(Arc::new(Fresh::random(1)), mix, Kind::Whole, 1 << 20, 3);
        let mesh = mesh();
        let run = Opportunistic {
            mesh: &mesh,
            source: 0,
            destinations: destinations.to_vec(),
            scheme,
            slot_bits: 17,
            seed: 1,
        };
        run.of(trace).unwrap().air_seconds
    }

    #[test]
    fn batches_that_repeat_content_take_less_air() {
        let (plain, reduced) =
            (seconds(Scheme::Exor, &[4], Mix::Low), seconds(Scheme::Reduced, &[4], Mix::Low));
        assert!(reduced < 0.65 * plain, "{reduced} of {plain}");
    }

    #[test]
    fn the_papers_codec_saves_and_ours_saves_more() {
        let of = |scheme| seconds(scheme, &[4], Mix::Low);
        let (plain, printed, ours) = (of(Scheme::Exor), of(Scheme::ReducedAsPrinted), of(Scheme::Reduced));
        assert!(ours < printed && printed < 0.95 * plain, "{ours} {printed} {plain}");
    }

    #[test]
    fn what_a_forwarder_holds_need_not_come_from_the_source() {
        let of = |scheme| seconds(scheme, &[4, 3], Mix::High);
        let (reduced, expanded) = (of(Scheme::Reduced), of(Scheme::ReducedForForwarders));
        assert!(expanded < reduced, "{expanded} of {reduced}");
    }
}
