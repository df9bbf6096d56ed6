//! Segments a wire packet, for each TCP flow. A congestion control needs it to turn saved bytes into speed
//! (REboost, section III-A).
//!
//! A full datagram of a flow has as many bytes as a segment would have had to itself; the ratio is therefore
//! that of the packets' bytes to their frames', lately. It is not counted in datagrams: where a sender hands
//! over one segment at a time, each would leave alone, the ratio would be one, and the window that the ratio
//! makes would never hand over more.

use std::collections::BTreeMap;
use std::time::Duration;
use wire::inner::{Flow, Inner, TCP};

/// Flows of which something is known; of others nothing is told until some of these have ended.
const MAX_FLOWS: usize = 4096;
/// A flow that has sent nothing for so long makes room for others.
const SILENCE: Duration = Duration::from_secs(5);
/// Packets over which the mean decays to 1/e: a few windows of a path that loses packets.
const PACKETS: f64 = 64.0;
/// Bytes of a frame's length field.
const LENGTH_BYTES: usize = 2;
/// A ratio that differs so much from what was told last is told.
const CHANGE: f64 = 0.03;
/// ... but not sooner than this after the last.
const LEAST_GAP: Duration = Duration::from_millis(2);
/// An unchanged ratio is repeated after this time: the listener takes silence for an end.
const MOST_GAP: Duration = Duration::from_secs(1);
/// Below this a flow is left as it is.
const LEAST_GAIN: f64 = 1.02;

/// Ratios of the flows to one peer.
#[derive(Debug, Default)]
pub struct Ratios {
    flows: BTreeMap<Flow, Carried>,
    swept_at: Duration,
}

#[derive(Debug, Default)]
struct Carried {
    /// Decayed sums.
    packet_bytes: f64,
    frame_bytes: f64,
    last: Duration,
    told: Option<(f64, Duration)>,
}

impl Ratios {
    /// A packet of so many bytes has become a frame of so many. The flow's ratio, if it is to be told now.
    pub fn leaves(
        &mut self,
        now: Duration,
        inner: &Inner,
        packet_bytes: usize,
        frame_bytes: usize,
    ) -> Option<f64> {
        if inner.flow.protocol != TCP || inner.payload_bytes() == 0 || !self.has_room(now, &inner.flow) {
            return None;
        }
        let carried = self.flows.entry(inner.flow).or_default();
        let keep = 1.0 - 1.0 / PACKETS;
        carried.packet_bytes = carried.packet_bytes * keep + packet_bytes as f64;
        carried.frame_bytes = carried.frame_bytes * keep + (frame_bytes + LENGTH_BYTES) as f64;
        carried.last = now;
        let ratio = (carried.packet_bytes / carried.frame_bytes).max(1.0);
        let is_due = match carried.told {
            None => ratio >= LEAST_GAIN,
            Some((told, at)) => {
                let gap = now.saturating_sub(at);
                gap >= MOST_GAP || gap >= LEAST_GAP && (ratio - told).abs() > told * CHANGE
            }
        };
        is_due.then(|| carried.told.insert((ratio, now)).0)
    }

    /// Flows whose congestion windows are larger for what is removed, and the mean of their ratios.
    #[must_use]
    pub fn boosted(&self, now: Duration) -> (usize, Option<f64>) {
        let is_live = |carried: &&Carried| now.saturating_sub(carried.last) < SILENCE;
        let live = || self.flows.values().filter(is_live).filter_map(|carried| carried.told);
        let count = live().count();
        (count, (count > 0).then(|| live().map(|(ratio, _)| ratio).sum::<f64>() / count as f64))
    }

    fn has_room(&mut self, now: Duration, flow: &Flow) -> bool {
        if self.flows.len() < MAX_FLOWS || self.flows.contains_key(flow) {
            return true;
        }
        if now.saturating_sub(self.swept_at) >= MOST_GAP {
            self.swept_at = now;
            self.flows.retain(|_, carried| now.saturating_sub(carried.last) < SILENCE);
        }
        self.flows.len() < MAX_FLOWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    const MS: Duration = Duration::from_millis(1);

    fn inner(port: u16, payload_bytes: usize) -> Inner {
        let address = IpAddr::from([10, 0, 0, 1]);
        let (source_port, destination_port) = (port, 80);
        Inner {
            flow: Flow {
                source: address,
                destination: address,
                protocol: TCP,
                source_port,
                destination_port,
            },
            tcp_sequence: Some(0),
            payload_offset: 40,
            total_bytes: 40 + payload_bytes,
            traffic_class: 0,
        }
    }

    #[test]
    fn a_flow_that_shrinks_is_told_of_and_one_that_does_not_never() {
        let mut ratios = Ratios::default();
        let told = ratios.leaves(MS, &inner(1, 1360), 1400, 558);
        assert_eq!(told, Some(2.5));
        assert_eq!(ratios.leaves(2 * MS, &inner(1, 1360), 1400, 558), None, "nothing has changed");
        assert_eq!(ratios.leaves(1100 * MS, &inner(1, 1360), 1400, 558), Some(2.5), "but it still holds");
        for at in 0..1000 {
            assert_eq!(ratios.leaves(at * MS, &inner(2, 1360), 1400, 1401), None);
        }
        assert_eq!(ratios.boosted(1100 * MS), (1, Some(2.5)));
        assert_eq!(ratios.boosted(9000 * MS), (0, None));
        assert_eq!(ratios.leaves(MS, &inner(3, 0), 40, 10), None, "an acknowledgment is no segment");
    }

    #[test]
    fn a_flow_that_no_longer_shrinks_comes_back_to_one_and_never_below() {
        let mut ratios = Ratios::default();
        let mut last = ratios.leaves(MS, &inner(1, 1360), 1400, 200);
        for at in 2..1000 {
            last = ratios.leaves(at * MS, &inner(1, 1360), 1400, 1401).or(last);
        }
        assert!(last.is_some_and(|ratio| (1.0..1.05).contains(&ratio)), "{last:?}");
    }

    #[test]
    fn there_are_never_more_flows_than_fit_and_the_silent_make_room() {
        let mut ratios = Ratios::default();
        for port in 0..=u16::MAX {
            ratios.leaves(MS, &inner(port, 1000), 1040, 500);
        }
        assert_eq!(ratios.flows.len(), MAX_FLOWS);
        assert_eq!(ratios.leaves(2 * MS, &inner(60_000, 1000), 1040, 500), None);
        assert!(ratios.leaves(SILENCE * 2, &inner(60_000, 1000), 1040, 500).is_some());
        assert_eq!(ratios.flows.len(), 1);
    }
}
