//! Reorder: hop ARQ's receiving side. Packets are handed on in the order in which they were sent, within a
//! bound.
//!
//! A packet behind a gap waits until the gap is filled, so that the end hosts see no reordering where the
//! sender repairs its losses soon enough. Nothing waits longer than the bound that the caller gives, which
//! may be none at all, and no more than so many packets and bytes wait. Acknowledgments of TCP pass: a later
//! one says all that an earlier one does, and one that waits stops the sender's clock. Packets of a call
//! pass, too: its ends put them in order themselves, and have no time.

use crate::lifetime::is_real_time;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wire::inner::is_pure_acknowledgment;

/// Bytes of an acknowledgment, at most.
const ACKNOWLEDGMENT_BYTES: usize = 100;
/// The most packets that wait.
const MAX_PACKETS: usize = 1024;
/// The most bytes that wait.
const MAX_BYTES: usize = 1 << 20;
/// The most places that were given up and may still be filled.
const MAX_GIVEN_UP: usize = 1024;

#[derive(Debug)]
struct Waiting {
    since: Duration,
    /// `None`: there is nothing to hand on, only a place to be passed.
    packet: Option<Vec<u8>>,
}

/// Packets that wait behind gaps.
#[derive(Debug, Default)]
pub struct Reorder {
    /// Everything before this link sequence was handed on or given up.
    next: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// Places before `next` that were never filled. A packet for any other place there has come before.
    given_up: BTreeSet<u64>,
    bytes: usize,
}

impl Reorder {
    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.bytes + 2 * self.waiting.len() * size_of::<Waiting>()
    }

    /// `sequence` has come, with a packet to be handed on or with none; hands on to `out` whatever that
    /// allows.
    pub fn arrived(
        &mut self,
        now: Duration,
        sequence: u64,
        mut packet: Option<Vec<u8>>,
        out: &mut impl FnMut(u64, Vec<u8>),
    ) {
        if sequence < self.next {
            if self.given_up.remove(&sequence) {
                packet.into_iter().for_each(|packet| out(sequence, packet)); // better late than never
            }
            return;
        }
        if sequence == self.next && self.waiting.is_empty() {
            self.next += 1;
            packet.into_iter().for_each(|packet| out(sequence, packet));
            return;
        }
        if let Entry::Vacant(place) = self.waiting.entry(sequence) {
            if let Some(urgent) = packet.take_if(|packet| waits_for_nothing(packet)) {
                out(sequence, urgent);
            }
            self.bytes += packet.as_ref().map_or(0, Vec::len);
            place.insert(Waiting { since: now, packet });
        }
        self.hand_on(out);
        while self.waiting.len() > MAX_PACKETS || self.bytes > MAX_BYTES {
            self.give_up_first_gap(out);
        }
    }

    fn hand_on(&mut self, out: &mut impl FnMut(u64, Vec<u8>)) {
        while let Some(waiting) = self.waiting.remove(&self.next) {
            self.next += 1;
            if let Some(packet) = waiting.packet {
                self.bytes -= packet.len();
                out(self.next - 1, packet);
            }
        }
    }

    fn give_up_first_gap(&mut self, out: &mut impl FnMut(u64, Vec<u8>)) {
        if let Some((&first, _)) = self.waiting.first_key_value() {
            self.given_up.extend(self.next.max(first.saturating_sub(MAX_GIVEN_UP as u64))..first);
            while self.given_up.len() > MAX_GIVEN_UP {
                self.given_up.pop_first();
            }
            self.next = first;
            self.hand_on(out);
        }
    }

    /// Gives up gaps behind which something has waited for `patience`.
    pub fn expire(&mut self, now: Duration, patience: Duration, out: &mut impl FnMut(u64, Vec<u8>)) {
        while self.first_waits_since().is_some_and(|since| since + patience <= now) {
            self.give_up_first_gap(out);
        }
    }

    /// Since when the first packet behind the first gap has waited.
    #[must_use]
    pub fn first_waits_since(&self) -> Option<Duration> {
        self.waiting.first_key_value().map(|(_, waiting)| waiting.since)
    }
}

fn waits_for_nothing(packet: &[u8]) -> bool {
    is_real_time(packet) || packet.len() <= ACKNOWLEDGMENT_BYTES && is_pure_acknowledgment(packet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_gap_is_waited_for_and_then_given_up() {
        let mut reorder = Reorder::default();
        let mut out = Vec::new();
        reorder.arrived(MS, 0, Some(vec![0]), &mut |_, packet| out.push(packet[0]));
        reorder.arrived(2 * MS, 2, Some(vec![2]), &mut |_, packet| out.push(packet[0]));
        reorder.arrived(3 * MS, 3, None, &mut |_, packet| out.push(packet[0]));
        reorder.arrived(3 * MS, 4, Some(vec![4]), &mut |_, packet| out.push(packet[0]));
        assert_eq!(out, [0]);
        reorder.expire(11 * MS, 10 * MS, &mut |_, packet| out.push(packet[0]));
        assert_eq!(out, [0]);
        reorder.expire(12 * MS, 10 * MS, &mut |_, packet| out.push(packet[0]));
        assert_eq!(out, [0, 2, 4]);
        reorder.arrived(13 * MS, 1, Some(vec![1]), &mut |_, packet| out.push(packet[0]));
        assert_eq!(out, [0, 2, 4, 1], "late, and handed on all the same");
        for again in [1, 2] {
            reorder.arrived(14 * MS, again, Some(vec![9]), &mut |_, packet| out.push(packet[0]));
        }
        assert_eq!(out, [0, 2, 4, 1], "twice");
        assert_eq!(reorder.first_waits_since(), None);
    }

    #[test]
    fn an_acknowledgment_and_a_call_s_packet_wait_for_nothing_and_come_once() {
        let (mut acknowledgment, mut voice) = (Vec::new(), Vec::new());
        let ip = || PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        ip().tcp(80, 4242, 77, 1000).ack(1).write(&mut acknowledgment, &[]).unwrap();
        ip().udp(5004, 5004).write(&mut voice, &[0; 160]).unwrap();
        for urgent in [acknowledgment, voice] {
            let mut reorder = Reorder::default();
            let mut out = Vec::new();
            for (sequence, packet) in [(2, &urgent), (2, &urgent), (3, &vec![3]), (0, &vec![0])] {
                reorder.arrived(MS, sequence, Some(packet.clone()), &mut |sequence, _| out.push(sequence));
            }
            assert_eq!(out, [2, 0]);
            reorder.arrived(MS, 1, Some(vec![1]), &mut |sequence, _| out.push(sequence));
            assert_eq!(out, [2, 0, 1, 3]);
        }
    }

    proptest! {
        /// In any order of arrival everything is handed on once, in order unless a gap was given up, and
        /// within bounds.
        #[test]
        fn each_packet_is_handed_on_once(order in Just((0u32..300).collect::<Vec<_>>()).prop_shuffle(),
                                         steps in proptest::collection::vec(0u32..30, 300)) {
            let mut reorder = Reorder::default();
            let mut out = Vec::new();
            let mut now = Duration::ZERO;
            let patience = 100 * MS;
            for (number, step) in order.iter().zip(steps) {
                now += step * MS;
                let mut hand_on = |_, packet: Vec<u8>| out.push(u32::from_be_bytes(packet.try_into().unwrap()));
                reorder.arrived(now, u64::from(*number), Some(number.to_be_bytes().to_vec()), &mut hand_on);
                reorder.expire(now, patience, &mut hand_on);
                prop_assert!(reorder.first_waits_since().is_none_or(|since| now - since < patience));
                prop_assert_eq!(reorder.bytes, reorder.waiting.len() * 4);
            }
            reorder.expire(now + patience, patience, &mut |_, packet| out.push(u32::from_be_bytes(packet.try_into().unwrap())));
            out.sort_unstable();
            prop_assert_eq!(out, (0..300).collect::<Vec<_>>());
        }
    }
}
