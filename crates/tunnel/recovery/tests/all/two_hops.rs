//! A relay repairs passing flows: the hop before it and the hop behind it each have two ends, and neither is
//! adjacent to both station and sender.

use crate::hop::{Flow, MS, acknowledgment, byte_at, data, segment};
use proptest::prelude::*;
use recovery::pattern::Pattern;
use recovery::{Coding, History, Repair, Replacement, Settings, Snoop, Undoes, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use wire::coded::Coded;
use wire::inner::Inner;

const BYTES: usize = 1000;
const HOP: Duration = Duration::from_millis(5);
const SPACING: Duration = Duration::from_millis(4);
const FAR: Duration = Duration::from_millis(50);

/// An event and its place.
#[derive(Debug, Clone)]
enum Arrival {
    /// At the end of a hop: the relay's or the station's.
    Packet(usize, Vec<u8>),
    Coded(usize, Vec<u8>),
    /// At the beginning of a hop, from its end.
    Acknowledgment(usize, Vec<u8>),
    /// At the sender.
    Shown(Vec<u8>),
}

/// The sender, a wire, and two hops: 0 from the access point to the relay, and 1 from the relay to the
/// station.
struct Path {
    now: Duration,
    flow: Flow,
    ends: [Snoop; 2],
    histories: [History; 2],
    free_at: [Duration; 2],
    crossings: [usize; 2],
    events: BTreeMap<(Duration, u64), Arrival>,
    number: u64,
    packets: usize,
    next: usize,
    received: BTreeSet<usize>,
    shown: usize,
    duplicates: usize,
    repeated: usize,
}

impl Path {
    fn new(settings: [Settings; 2], packets: usize) -> Self {
        Path {
            now: Duration::ZERO,
            flow: Flow::default(),
            ends: settings.map(|settings| Snoop::new(&settings, Undoes::Rows)),
            histories: Default::default(),
            free_at: [Duration::ZERO; 2],
            crossings: [0; 2],
            events: BTreeMap::new(),
            number: 0,
            packets,
            next: 0,
            received: BTreeSet::new(),
            shown: 0,
            duplicates: 0,
            repeated: 0,
        }
    }

    fn start(&self, index: usize) -> u32 {
        self.flow.first.wrapping_add((index * BYTES) as u32)
    }

    fn at(&mut self, at: Duration, what: Arrival) {
        self.events.insert((at, self.number), what);
        self.number += 1;
    }

    fn cross(&mut self, hop: usize, what: Arrival, lost: &dyn Fn(usize, usize) -> bool) {
        self.free_at[hop] = self.free_at[hop].max(self.now) + SPACING;
        let crossing = self.crossings[hop];
        self.crossings[hop] += 1;
        if !lost(hop, crossing) {
            self.at(self.free_at[hop] + HOP, what);
        }
    }

    /// Sends a packet over a hop; the hop's first end notes it.
    fn leave(&mut self, hop: usize, packet: Vec<u8>, lost: &dyn Fn(usize, usize) -> bool) {
        self.ends[hop].handle_departure(self.now, &packet, &segment(&packet));
        self.cross(hop, Arrival::Packet(hop, packet), lost);
    }

    fn send(&mut self, index: usize, lost: &dyn Fn(usize, usize) -> bool) {
        let packet = data(&self.flow, self.start(index), BYTES);
        self.leave(0, packet, lost);
    }

    /// Carries the stream. Returns whether all segments arrived.
    fn carry(&mut self, window: usize, lost: &dyn Fn(usize, usize) -> bool) -> bool {
        let mut silent_since = Duration::ZERO;
        while self.shown < self.packets {
            while self.next < self.packets.min(self.shown + window) {
                self.send(self.next, lost);
                self.next += 1;
            }
            let event = self.events.keys().next().map(|key| key.0);
            let timeouts = [self.ends[0].timeout(), self.ends[1].timeout()];
            let sender = Some(silent_since + 400 * MS);
            let next = [event, timeouts[0], timeouts[1], sender].into_iter().flatten().min().unwrap();
            self.now = self.now.max(next);
            if self.now > Duration::from_secs(600) {
                return false;
            }
            if Some(next) == event {
                let (_, what) = self.events.pop_first().unwrap();
                if matches!(what, Arrival::Shown(_)) {
                    silent_since = self.now;
                }
                self.happen(what, lost);
            } else if Some(next) == sender {
                silent_since = self.now;
                self.repeated += 1;
                self.send(self.shown, lost);
            }
            for hop in 0..2 {
                self.ends[hop].handle_timeout(self.now);
                let mut out = Vec::new();
                while let Some(repair) = self.ends[hop].poll_repair(self.now, &mut out) {
                    let out = std::mem::take(&mut out);
                    let what = match repair {
                        Repair::Packet => Arrival::Packet(hop, out),
                        Repair::Coded { .. } => Arrival::Coded(hop, out),
                    };
                    self.cross(hop, what, lost);
                }
            }
        }
        true
    }

    fn happen(&mut self, what: Arrival, lost: &dyn Fn(usize, usize) -> bool) {
        match what {
            Arrival::Packet(hop, packet) => self.arrive(hop, packet, lost),
            Arrival::Coded(hop, body) => {
                let mut packet = Vec::new();
                if self.histories[hop].restore(&Coded::parse(&body).unwrap(), &mut packet).is_ok() {
                    self.arrive(hop, packet, lost);
                }
                while let Some(packet) = self.histories[hop].poll_restored() {
                    self.arrive(hop, packet, lost);
                }
            }
            Arrival::Acknowledgment(hop, mut packet) => {
                let read = segment(&packet);
                if self.ends[hop].handle_arrival(self.now, &mut packet, &read) != Verdict::Suppress {
                    let (after, what) = match hop {
                        0 => (FAR, Arrival::Shown(packet)),
                        _ => (HOP, Arrival::Acknowledgment(0, packet)),
                    };
                    self.at(self.now + after, what);
                }
            }
            Arrival::Shown(packet) => self.show(&packet, lost),
        }
    }

    /// Delivers a packet at the end of a hop: the relay forwards it, and the station acknowledges it.
    fn arrive(&mut self, hop: usize, packet: Vec<u8>, lost: &dyn Fn(usize, usize) -> bool) {
        let inner = Inner::parse(&packet).unwrap();
        self.histories[hop].record_delivery(&packet, &inner);
        if hop == 0 {
            return self.leave(1, packet, lost);
        }
        let sequence = inner.tcp_sequence.unwrap();
        let payload = &packet[inner.payload_offset..];
        assert!(
            (0..).zip(payload).all(|(at, &byte)| byte == byte_at(sequence.wrapping_add(at))),
            "wrong bytes"
        );
        let index = sequence.wrapping_sub(self.flow.first) as usize / BYTES;
        self.received.insert(index);
        let first = (0..).find(|index| !self.received.contains(index)).unwrap();
        let mut blocks = Vec::new();
        if index > first {
            let from = (0..=index).rev().find(|at| !self.received.contains(at)).unwrap() + 1;
            let to = (index..).find(|at| !self.received.contains(at)).unwrap();
            blocks.push((self.start(from), self.start(to)));
        }
        let packet = acknowledgment(&self.flow, self.start(first), &blocks);
        self.at(self.now + HOP, Arrival::Acknowledgment(1, packet));
    }

    fn show(&mut self, packet: &[u8], lost: &dyn Fn(usize, usize) -> bool) {
        let sliced = etherparse::LaxSlicedPacket::from_ip(packet).unwrap();
        let Some(etherparse::TransportSlice::Tcp(tcp)) = sliced.transport else { panic!("no TCP") };
        let number = tcp.acknowledgment_number().wrapping_sub(self.flow.first) as usize / BYTES;
        assert!(self.received.len() >= number, "nothing is acknowledged on the receiver's behalf");
        if number > self.shown {
            (self.shown, self.duplicates) = (number, 0);
        } else if number == self.shown && number < self.packets {
            self.duplicates += 1;
            if self.duplicates == 3 {
                self.repeated += 1;
                self.send(number, lost);
            }
        }
    }
}

const SETTINGS: Settings =
    Settings { buffer_packets: 20, replacement: Replacement::None, coding: Coding::Off };

#[test]
fn each_hop_is_repaired_from_its_own_beginning_and_the_sender_is_told_nothing() {
    let pairs = Settings { coding: Coding::Fixed(Pattern { degree: 2, distance: 2 }), ..SETTINGS };
    let adaptive = Settings { coding: Coding::Adaptive, ..SETTINGS };
    for settings in [[SETTINGS; 2], [pairs, SETTINGS], [SETTINGS, pairs], [adaptive; 2]] {
        let mut path = Path::new(settings, 300);
        let lost = |hop: usize, crossing: usize| hop == 1 && crossing % 40 == 17;
        assert!(path.carry(16, &lost));
        let [before, behind] = path.ends.each_ref().map(|end| end.statistics);
        assert_eq!(path.repeated, 0, "{before:?} {behind:?}");
        assert!(behind.repairs + behind.coded_repairs >= 7, "{behind:?}");
        // The relay drops duplicate acknowledgments, so the access point does not see losses of the second
        // hop.
        assert_eq!(before.repairs + before.coded_repairs, 0, "{before:?}");
        let mut path = Path::new(settings, 300);
        assert!(path.carry(16, &|hop, crossing| hop == 0 && crossing % 40 == 17));
        let [before, behind] = path.ends.each_ref().map(|end| end.statistics);
        assert_eq!(path.repeated, 0, "{before:?} {behind:?}");
        assert!(before.repairs + before.coded_repairs >= 7, "{before:?}");
        assert_eq!(
            (behind.repairs, behind.suppressed),
            (0, 0),
            "what never came to the relay it cannot repair"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For any losses on either hop: everything arrives intact, and nothing of it is kept.
    #[test]
    fn everything_arrives_over_two_hops(
        buffers in (1usize..20, 1usize..20),
        codings in (0u8..4, 0u8..4),
        losses in proptest::collection::vec(any::<(bool, bool)>(), 1..60),
        rarely in 1usize..8,
        window in 1usize..24,
    ) {
        let coding = |which| match which {
            0 => Coding::Off,
            1 => Coding::Adaptive,
            2 => Coding::ReedSolomon,
            _ => Coding::Fixed(Pattern { degree: 2, distance: 2 }),
        };
        let settings = [(buffers.0, codings.0), (buffers.1, codings.1)]
            .map(|(buffer_packets, which)| Settings { buffer_packets, coding: coding(which), ..SETTINGS });
        let mut path = Path::new(settings, 60);
        let lost = |hop: usize, crossing: usize| {
            let loss = losses[crossing / rarely % losses.len()];
            crossing.is_multiple_of(rarely) && crossing < 1000 && if hop == 0 { loss.0 } else { loss.1 }
        };
        prop_assert!(path.carry(window, &lost));
        prop_assert_eq!((path.ends[0].bytes(), path.ends[1].bytes()), (0, 0));
    }
}
