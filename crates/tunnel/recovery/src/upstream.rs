//! The end of the hop away from TCP's sender: it notifies the station at once of losses of its data on the
//! hop.
//!
//! An acknowledgment would report the loss after the whole path's round trip, and TCP would slow down. The
//! hop keeps the order, so a segment behind the expected one shows that the data between was lost. (Snoop,
//! MobiCom 1995, section 3.2: negative acknowledgments for data from mobile hosts.)

use crate::segment::Segment;
use std::collections::BTreeMap;
use std::time::Duration;
use wire::inner::Flow;
use wire::notice::MAX_STRETCHES;
use wire::number::widen;

/// The most flows that are watched; the one that was idle longest is dropped.
const MAX_FLOWS: usize = 2048;
/// The most notices of one gap.
const MAX_TOLD: u8 = 3;
/// Delay of a notice, in case the gap is only reordering.
const PATIENCE: Duration = Duration::from_millis(2);
/// Origin of the widened TCP sequence numbers, so that none is below zero.
const ORIGIN: u64 = 1 << 33;

/// A range that did not arrive.
#[derive(Debug, Clone, Copy)]
struct Gap {
    start: u64,
    end: u64,
    tell_at: Duration,
    told: u8,
}

/// A flow of data from the station.
#[derive(Debug)]
struct Expected {
    /// Everything before this has arrived or is in a gap.
    next: u64,
    gaps: Vec<Gap>,
    last_use: Duration,
}

/// All flows from one station.
#[derive(Debug, Default)]
pub struct Upstream {
    flows: BTreeMap<Flow, Expected>,
    /// No notice is due before this time.
    tell_at: Option<Duration>,
}

impl Upstream {
    /// Handles a packet from the station.
    pub fn handle_arrival(&mut self, now: Duration, segment: &Segment) {
        if segment.syn || segment.reset {
            self.flows.remove(&segment.flow);
            return;
        }
        if segment.length() == 0 {
            return;
        }
        let first = ORIGIN + u64::from(segment.sequence);
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&segment.flow) {
            let silent = self.flows.iter().min_by_key(|(_, flow)| flow.last_use).map(|(&name, _)| name);
            silent.map(|name| self.flows.remove(&name));
        }
        let new = || Expected { next: first, gaps: Vec::new(), last_use: now };
        let flow = self.flows.entry(segment.flow).or_insert_with(new);
        flow.last_use = now;
        let start = widen(segment.sequence.into(), 32, flow.next);
        let end = start + segment.length();
        if start > flow.next && flow.gaps.len() < MAX_STRETCHES {
            let tell_at = now + PATIENCE;
            flow.gaps.push(Gap { start: flow.next, end: start, tell_at, told: 0 });
            self.tell_at = Some(self.tell_at.map_or(tell_at, |at| at.min(tell_at)));
        } else if start < flow.next {
            flow.fill(start, end);
        }
        flow.next = flow.next.max(end);
    }

    /// Handles a packet that leaves for the station: acknowledged data is no longer missing.
    pub fn handle_departure(&mut self, segment: &Segment) {
        let Some(flow) = self.flows.get_mut(&segment.flow.reversed()).filter(|flow| !flow.gaps.is_empty())
        else {
            return;
        };
        if let Some(acknowledgment) = segment.acknowledgment {
            let acknowledged = widen(acknowledgment.into(), 32, flow.next);
            flow.gaps.retain(|gap| gap.end > acknowledged);
        }
    }

    /// Time at which a notice may be due.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.tell_at
    }

    /// Whether a notice may be due now.
    pub fn is_due(&mut self, now: Duration) -> bool {
        if self.tell_at.is_some_and(|at| at <= now) {
            let gaps = self.flows.values().flat_map(|flow| &flow.gaps);
            self.tell_at = gaps.map(|gap| gap.tell_at).min();
        }
        self.tell_at.is_some_and(|at| at <= now)
    }

    /// The next flow with a due notice: TCP sequence numbers and lengths. A gap that stays is repeated after
    /// `retry`, a few times.
    pub fn poll_notice(&mut self, now: Duration, retry: Duration) -> Option<(Flow, Vec<(u32, u32)>)> {
        if !self.is_due(now) {
            return None;
        }
        for (name, flow) in &mut self.flows {
            let mut stretches = Vec::new();
            flow.gaps.retain_mut(|gap| {
                if gap.tell_at <= now {
                    if gap.told == MAX_TOLD {
                        return false;
                    }
                    gap.told += 1;
                    gap.tell_at = now + retry;
                    stretches.push((gap.start as u32, (gap.end - gap.start) as u32));
                }
                true
            });
            if !stretches.is_empty() {
                return Some((*name, stretches));
            }
        }
        self.is_due(now); // what was hopeless is told no more
        None
    }
}

impl Expected {
    /// Removes late data from the gaps.
    fn fill(&mut self, start: u64, end: u64) {
        let mut rest = None;
        self.gaps.retain_mut(|gap| {
            if end <= gap.start || gap.end <= start {
                return true;
            }
            if gap.start < start && end < gap.end {
                rest = Some(Gap { start: end, ..*gap });
            }
            match (gap.start < start, end < gap.end) {
                (false, false) => return false,
                (true, _) => gap.end = start,
                (false, true) => gap.start = end,
            }
            true
        });
        self.gaps.extend(rest.filter(|_| self.gaps.len() < MAX_STRETCHES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;
    use wire::inner::Inner;

    const MS: Duration = Duration::from_millis(1);
    const SEGMENT: u32 = 100;

    fn segment(sequence: u32) -> (Vec<u8>, Inner) {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 2], [10, 0, 0, 1], 64).tcp(4242, 80, sequence, 1000);
        builder.write(&mut packet, &[7; SEGMENT as usize]).unwrap();
        let inner = Inner::parse(&packet).unwrap();
        (packet, inner)
    }

    fn acknowledgment(number: u32) -> (Vec<u8>, Inner) {
        let mut packet = Vec::new();
        let builder =
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, 1, 1000).ack(number);
        builder.write(&mut packet, &[]).unwrap();
        let inner = Inner::parse(&packet).unwrap();
        (packet, inner)
    }

    fn came(upstream: &mut Upstream, now: Duration, sequence: u32) {
        let (packet, inner) = segment(sequence);
        upstream.handle_arrival(now, &Segment::parse(&packet, &inner).unwrap());
    }

    #[test]
    fn a_gap_is_told_soon_and_again_until_it_is_filled_or_hopeless() {
        let mut upstream = Upstream::default();
        let begin = u32::MAX - 150; // across the end of the numbers
        let at = |index: u32| begin.wrapping_add(index * SEGMENT);
        came(&mut upstream, MS, at(0));
        assert_eq!(upstream.timeout(), None);
        came(&mut upstream, MS, at(3));
        came(&mut upstream, MS, at(5));
        assert_eq!(upstream.poll_notice(2 * MS, 10 * MS), None, "it may have been overtaken");
        let (flow, stretches) = upstream.poll_notice(3 * MS, 10 * MS).unwrap();
        assert_eq!((flow.source_port, stretches), (4242, vec![(at(1), 200), (at(4), 100)]));
        assert_eq!(upstream.poll_notice(3 * MS, 10 * MS), None);
        came(&mut upstream, 5 * MS, at(2));
        assert_eq!(upstream.timeout(), Some(13 * MS));
        assert_eq!(upstream.poll_notice(13 * MS, 10 * MS).unwrap().1, [(at(1), 100), (at(4), 100)]);
        let (packet, inner) = acknowledgment(at(2));
        upstream.handle_departure(&Segment::parse(&packet, &inner).unwrap());
        assert_eq!(upstream.poll_notice(23 * MS, 10 * MS).unwrap().1, [(at(4), 100)]);
        assert_eq!(upstream.poll_notice(33 * MS, 10 * MS), None, "three times is enough");
        assert_eq!(upstream.timeout(), None);
    }

    proptest! {
        /// For any order of arrivals: no notice reports data that arrived, and the table stays within its
        /// bound.
        #[test]
        fn what_came_is_not_told(order in proptest::collection::vec(0u32..60, 1..200)) {
            let mut upstream = Upstream::default();
            let mut have = std::collections::BTreeSet::new();
            let mut now = Duration::ZERO;
            for index in order {
                now += 3 * MS;
                came(&mut upstream, now, index * SEGMENT);
                have.insert(index);
                while let Some((_, stretches)) = upstream.poll_notice(now, 4 * MS) {
                    for (start, length) in stretches {
                        prop_assert!(length % SEGMENT == 0 && length > 0);
                        let indices = (start / SEGMENT)..((start + length) / SEGMENT);
                        prop_assert!(indices.into_iter().all(|index| !have.contains(&index)));
                    }
                }
                prop_assert!(upstream.flows.values().all(|flow| flow.gaps.len() <= MAX_STRETCHES));
            }
        }
    }
}
