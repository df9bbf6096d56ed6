//! Natives that share a frame (COPE; REfactor, section 2.2.2, Figure 1d), and the node's knowledge of them.
//! [`mesh::cope`] has the pieces.
//!
//! A relay sends packets for several next hops as one. Each next hop removes the others' natives, because it
//! has sent or overheard them. A *native* is a packet's transport payload. The headers before it change from
//! hop to hop, and travel beside it. The sender of a native knows it by the link sequence that it had then,
//! an overhearer by group and number ([`wire::natives`]).

use crate::group::Untold;
use mesh::cope::PacketId;
use mesh::cope::neighbours::Neighbours;
use mesh::cope::pool::Pool;
use mesh::cope::window::Window;
use std::collections::VecDeque;
use std::time::Duration;
use wire::frame::FrameType;
use wire::group::{HeardOfOther, Shared};
use wire::inner::Inner;
use wire::natives::{Name, Overheard};
use wire::removed::Removed;
use wire::shim::slots::Encoded;

/// Natives with fewer bytes do not become components.
pub const LEAST_BYTES: usize = 128;
/// Bytes of each pool,
const POOL_BYTES: usize = 4 << 20;
/// ... and how long a native stays: longer than it waits in a relay's queue.
const POOL_FOR: Duration = Duration::from_secs(2);
/// Latest time to report an overheard native.
const TELL_WITHIN: Duration = Duration::from_millis(5);
/// ... or when it is so much.
const MOST_UNTOLD: u32 = 64;
/// Groups of which a relay is told what was overheard.
const MAX_GROUPS: usize = 16;
/// Names of what came from a peer that are remembered.
const MAX_NAMED: usize = 1024;
/// Natives of which it is not known yet what became of them.
const MAX_UNDER_WAY: usize = 1024;
/// Over how many natives a member's success is averaged.
const AVERAGED: f64 = 16.0;
/// A member that gets fewer of them is tried rarely.
const LEAST_SUCCESS: f64 = 0.5;
/// How rarely.
const TRY_EVERY: u32 = 64;

/// The part of a packet that others can overhear: its transport payload.
pub fn native<'a>(packet: &'a [u8], inner: &Inner) -> &'a [u8] {
    &packet[packet.len() - inner.payload_bytes().min(packet.len())..]
}

/// The whole of a shared packet's rest, if nothing was removed from it.
fn whole<'a>(shared: &Shared<'a>) -> Option<&'a [u8]> {
    let mut rest = shared.rest;
    let shim = Encoded::take_shim(&mut rest).ok()?;
    (shim.slot_count == 0).then_some(rest)
}

/// A native that this node sent to a peer.
fn sent(peer: usize, sequence: u32) -> PacketId {
    PacketId { source: peer as u16, number: sequence & 0xff_ffff }
}

/// A native that was overheard; `None`: its name cannot be told from one of the members' own.
fn overheard(name: Overheard) -> Option<PacketId> {
    let source = (name.key_id >> 8) as u16;
    (source > u16::from(u8::MAX))
        .then_some(PacketId { source, number: name.key_id << 24 | name.number & 0xff_ffff })
}

/// A node's knowledge of natives.
pub(crate) struct Coding {
    sent: Pool,
    heard: Pool,
    /// The members' reports of overheard natives.
    neighbours: Neighbours,
    /// Overheard natives by peer index, until others are told.
    pub news: Vec<(usize, Overheard)>,
    /// Index of the next partner in turn, and the addressee.
    pub turn: usize,
}

impl Default for Coding {
    fn default() -> Self {
        let pool = || Pool::new(POOL_BYTES, POOL_FOR);
        Coding { sent: pool(), heard: pool(), neighbours: Neighbours::default(), news: Vec::new(), turn: 0 }
    }
}

impl Coding {
    /// Keeps what this node sends to a peer.
    pub fn sent(&mut self, now: Duration, peer: usize, sequence: u64, native: &[u8]) {
        if native.len() >= LEAST_BYTES {
            self.sent.keep(sent(peer, sequence as u32), native, now);
        }
    }

    /// Keeps what a peer sent to another, if it is whole.
    pub fn heard(&mut self, now: Duration, peer: usize, key_id: u32, shared: &Shared<'_>) {
        let name = Overheard { key_id, number: shared.number };
        if let Some(native) = whole(shared).filter(|native| native.len() >= LEAST_BYTES)
            && let Some(id) = overheard(name)
            && self.heard.keep(id, native, now)
        {
            self.news.push((peer, name));
        }
    }

    /// A member says what it overheard.
    pub fn reported(&mut self, member: u8, said: &HeardOfOther<'_>) {
        for back in said.back() {
            let number = said.newest.wrapping_sub(back as u32) & 0xff_ffff;
            if let Some(id) = overheard(Overheard { key_id: said.key_id, number }) {
                self.neighbours.record_report(member.into(), id.source, Window::new(id.number));
            }
        }
    }

    /// How likely a member has a native.
    pub fn has(&self, member: u16, name: &Name) -> f64 {
        let is_own = member == u16::from(name.from);
        match name.overheard.and_then(overheard).filter(|_| !is_own) {
            Some(id) => self.neighbours.probability(member, id, name.from.into()),
            None => f64::from(u8::from(is_own)),
        }
    }

    /// A native that a peer sends to another member, if this node has it; it is the peer's member `own`.
    pub fn native(&self, peer: usize, own: u8, name: &Name) -> Option<&[u8]> {
        if name.from == own {
            return self.sent.get(sent(peer, name.sequence));
        }
        self.heard.get(overheard(name.overheard?)?)
    }

    /// Bytes that are kept.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.sent.bytes() + self.heard.bytes()
    }
}

/// A packet as it can stand in a frame with others.
#[derive(Debug)]
pub(crate) struct Form {
    /// The frame that it would have been.
    pub frame_type: FrameType,
    /// Its front.
    pub front: Vec<u8>,
    /// The group's number.
    pub number: u64,
    /// The bytes for the XOR.
    pub literals: Vec<u8>,
    /// [`Removed`], or empty.
    pub removed: Vec<u8>,
}

impl Form {
    /// Of a frame whose rest was encoded so, from the runs of which so many bytes each were removed.
    pub fn new(
        (frame_type, front): (FrameType, &[u8]),
        number: u64,
        encoded: &[u8],
        lengths: impl Iterator<Item = u32>,
    ) -> Option<Self> {
        let mut literals = encoded;
        let slot_count = Encoded::take_shim(&mut literals).ok()?.slot_count;
        let shim = &encoded[..encoded.len() - literals.len()];
        let mut removed = Vec::new();
        if slot_count > 0 {
            Removed::emit(shim, lengths, &mut removed);
        }
        let (front, literals) = (front.to_vec(), literals.to_vec());
        Some(Form { frame_type, front, number, literals, removed })
    }
}

/// Unreported natives that this node overheard, for a relay, by group key id.
#[derive(Debug, Default)]
pub struct Reports(VecDeque<(u32, Untold)>);

impl Reports {
    /// Notes what was overheard.
    pub fn note(&mut self, now: Duration, name: Overheard) {
        if !self.0.iter().any(|(key_id, _)| *key_id == name.key_id) {
            if self.0.len() == MAX_GROUPS {
                self.0.pop_front();
            }
            self.0.push_back((name.key_id, Untold::default()));
        }
        if let Some((_, untold)) = self.0.iter_mut().find(|(key_id, _)| *key_id == name.key_id) {
            let number = untold.widen(name.number);
            untold.note(now, number);
        }
    }

    /// When something is to be told.
    pub fn tell_at(&self) -> Option<Duration> {
        self.0.iter().filter_map(|(_, untold)| untold.tell_within(TELL_WITHIN, MOST_UNTOLD)).min()
    }

    /// Appends the next report, if there is one.
    pub fn tell(&mut self, out: &mut Vec<u8>) -> bool {
        let Some((key_id, untold)) = self.0.iter_mut().find(|(_, untold)| !untold.is_empty()) else {
            return false;
        };
        HeardOfOther::emit_front(*key_id, out);
        untold.tell(out);
        true
    }
}

/// Names of recent packets from a peer for overhearers: link sequence, name, and length of the rest in bytes.
#[derive(Debug, Default)]
pub struct Named(VecDeque<(u64, Overheard, usize)>);

impl Named {
    /// A shared packet came, in a unit under this key.
    pub fn note(&mut self, sequence: u64, key_id: u32, shared: &Shared<'_>) {
        let Some(native) = whole(shared) else { return };
        if self.0.len() == MAX_NAMED {
            self.0.pop_front();
        }
        self.0.push_back((sequence, Overheard { key_id, number: shared.number }, native.len()));
    }

    /// The name of what was sent as `sequence`, if its native has so many bytes: from one that came reduced
    /// something is missing.
    pub fn of(&self, sequence: u64, native_bytes: usize) -> Option<Overheard> {
        let is_it = |(of, _, bytes): &&(u64, Overheard, usize)| (*of, *bytes) == (sequence, native_bytes);
        self.0.iter().rev().find(is_it).map(|(_, name, _)| *name)
    }
}

/// A member's success with natives that share a frame. A native that it cannot take out, or does not hear,
/// comes again alone.
#[derive(Debug)]
pub struct Separated {
    under_way: VecDeque<u64>,
    success: f64,
    passed_over: u32,
}

impl Default for Separated {
    fn default() -> Self {
        Separated { under_way: VecDeque::new(), success: 1.0, passed_over: 0 }
    }
}

impl Separated {
    /// One left as this link sequence.
    pub fn sent(&mut self, sequence: u64) {
        if self.under_way.len() == MAX_UNDER_WAY {
            self.under_way.pop_front();
        }
        self.under_way.push_back(sequence);
    }

    /// It is known what became of a packet.
    pub fn fate(&mut self, sequence: u64, is_held: bool) {
        let Ok(at) = self.under_way.binary_search(&sequence) else { return };
        self.under_way.remove(at);
        self.success += (f64::from(u8::from(is_held)) - self.success) / AVERAGED;
    }

    /// Whether the next one is worth trying.
    pub fn is_worth_trying(&mut self) -> bool {
        if self.success >= LEAST_SUCCESS {
            return true;
        }
        self.passed_over += 1;
        self.passed_over.is_multiple_of(TRY_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::group::Heard;
    use wire::shim::slots::Slots;

    const MS: Duration = Duration::from_millis(1);

    fn rest(native: &[u8]) -> Vec<u8> {
        let mut rest = Vec::new();
        Slots { slot_bits: 18, mac: None, runs: &[], slots: &[] }.emit(&mut rest);
        rest.extend_from_slice(native);
        rest
    }

    fn shared(number: u32, rest: &[u8]) -> Shared<'_> {
        Shared { number, frame_type: FrameType::Packet, is_compressed: false, front: &[], rest }
    }

    #[test]
    fn what_is_said_and_heard_is_bounded_whoever_says_it() {
        let mut coding = Coding::default();
        let native = vec![7; 1200];
        let whole = rest(&native);
        for number in 0..20_000u32 {
            coding.sent(MS, (number % 5) as usize, number.into(), &native);
            coding.heard(MS, 1, 0x100_000 + number % 300, &shared(number, &whole));
            coding.news.clear();
            let mut said = Vec::new();
            HeardOfOther::emit_front(0x100_000 + number, &mut said);
            Heard::emit(number.into(), &[0xff; 4], &mut said);
            coding.reported((number % 7) as u8, &HeardOfOther::parse(&said).unwrap());
        }
        assert!(coding.bytes() <= 2 * POOL_BYTES);
        let mut reports = Reports::default();
        (0..1000).for_each(|key_id| reports.note(MS, Overheard { key_id, number: 5 }));
        assert_eq!(reports.0.len(), MAX_GROUPS);
        let mut named = Named::default();
        (0..5000).for_each(|sequence| named.note(sequence, 9, &shared(1, &whole)));
        assert_eq!((named.0.len(), named.of(4999, 1200).is_some()), (MAX_NAMED, true));
        assert_eq!(named.of(4999, 1201), None, "something was taken out of it before");
    }

    #[test]
    fn only_who_sent_a_native_or_says_it_heard_it_has_it() {
        let mut coding = Coding::default();
        let overheard = Overheard { key_id: 0x12_3456, number: 500 };
        let name = Name { from: 2, sequence: 9, overheard: Some(overheard) };
        assert_eq!([1, 2, 3].map(|member| coding.has(member, &name)), [0.0, 1.0, 0.0]);
        let mut said = Vec::new();
        HeardOfOther::emit_front(overheard.key_id, &mut said);
        Heard::emit(502, &[0b101], &mut said);
        coding.reported(3, &HeardOfOther::parse(&said).unwrap());
        assert_eq!([1, 2, 3].map(|member| coding.has(member, &name)), [0.0, 1.0, 1.0]);
        let next = Name { overheard: Some(Overheard { number: 501, ..overheard }), ..name };
        assert_eq!(coding.has(3, &next), 0.0);
        // a key whose names could be taken for members' own
        let low = Name { overheard: Some(Overheard { key_id: 0x399, number: 1 }), ..name };
        assert_eq!(coding.has(3, &low), 0.0);
    }

    #[test]
    fn who_takes_nothing_out_is_tried_rarely_and_again() {
        let mut separated = Separated::default();
        let mut tried = 0;
        for sequence in 0..1000 {
            if separated.is_worth_trying() {
                tried += 1;
                separated.sent(sequence);
                separated.fate(sequence, false);
            }
        }
        assert!((20..60).contains(&tried), "{tried}");
        (1000..1040).for_each(|sequence| {
            separated.sent(sequence);
            separated.fate(sequence, true);
        });
        assert!(separated.is_worth_trying());
    }
}
