//! Packets that wait for missing chunks, or behind such a packet of their flow.

use super::Refusal;
use crate::names::PacketNumber;
use crate::settings::MissBounds;
use std::collections::VecDeque;
use std::time::Duration;
use wire::chunk_request;

/// A packet with gaps.
#[derive(Debug)]
pub struct Gaps {
    /// The packet as received.
    pub encoded: Vec<u8>,
    /// The referenced bytes of the chunks that were present at its arrival, one after another. They are
    /// copied because the cache changes.
    pub present: Vec<u8>,
    /// For each reference in the packet's order, its bytes in `present`; `None` if it is missing.
    pub lengths: Vec<Option<u16>>,
    /// Nothing is missing, but the MAC does not match: at least one chunk differs from the intended one.
    pub is_wrong: bool,
}

impl Gaps {
    /// The missing references, by their place in the packet.
    pub fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        self.lengths.iter().enumerate().filter(|(_, length)| length.is_none()).map(|(index, _)| index)
    }

    /// Discards all chunks from the cache.
    pub fn distrust(&mut self) {
        self.present.clear();
        self.lengths.fill(None);
        self.is_wrong = true;
    }
}

#[derive(Debug)]
enum State {
    Incomplete(Gaps),
    Restored(Vec<u8>),
}

#[derive(Debug)]
struct Held {
    number: PacketNumber,
    flow: u64,
    state: State,
    give_up_at: Duration,
    ask_at: Duration,
    tries_left: u8,
}

impl Held {
    fn is_incomplete(&self) -> bool {
        matches!(self.state, State::Incomplete(_))
    }
}

/// The packets in order of arrival.
#[derive(Debug)]
pub struct HeldPackets {
    bounds: MissBounds,
    packets: VecDeque<Held>,
    incomplete: usize,
}

impl HeldPackets {
    /// No packets.
    pub fn new(bounds: MissBounds) -> Self {
        HeldPackets { bounds, packets: VecDeque::new(), incomplete: 0 }
    }

    /// Whether the flow has an incomplete packet, so that later ones wait.
    pub fn blocks(&self, flow: u64) -> bool {
        self.incomplete > 0 && self.packets.iter().any(|held| held.flow == flow && held.is_incomplete())
    }

    /// Holds a packet with gaps; [`ask`](HeldPackets::ask) writes its request.
    pub fn hold(
        &mut self,
        number: PacketNumber,
        flow: u64,
        gaps: Gaps,
        now: Duration,
    ) -> Result<(), Refusal> {
        if self.packets.len() >= self.bounds.held_packets {
            return Err(Refusal::TooManyHeld);
        }
        if gaps.lengths.len() > chunk_request::MAX_SLOTS {
            return Err(Refusal::TooManyMissing);
        }
        let give_up_at = now + self.bounds.held_for;
        let tries_left = self.bounds.tries;
        self.packets.push_back(Held {
            number,
            flow,
            state: State::Incomplete(gaps),
            give_up_at,
            ask_at: now,
            tries_left,
        });
        self.incomplete += 1;
        Ok(())
    }

    /// Holds a restored packet behind those of its flow. If there is no room, the flow's held packets are
    /// dropped.
    pub fn queue(&mut self, number: PacketNumber, flow: u64, packet: &[u8], now: Duration) {
        if self.packets.len() >= self.bounds.held_packets {
            self.give_up_where(|held| held.flow == flow);
        }
        let state = State::Restored(packet.to_vec());
        let give_up_at = now + self.bounds.held_for;
        self.packets.push_back(Held { number, flow, state, give_up_at, ask_at: give_up_at, tries_left: 0 });
    }

    fn give_up_where(&mut self, which: impl Fn(&Held) -> bool) -> usize {
        let before = self.packets.len();
        self.packets.retain(|held| !(held.is_incomplete() && which(held)));
        let given_up = before - self.packets.len();
        self.incomplete -= given_up;
        given_up
    }

    /// Drops packets held for too long, and returns their number.
    pub fn expire(&mut self, now: Duration) -> usize {
        if self.incomplete == 0 { 0 } else { self.give_up_where(|held| held.give_up_at <= now) }
    }

    /// Writes the next request that is due.
    pub fn ask(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<PacketNumber> {
        if self.incomplete == 0 {
            return None;
        }
        let due = |held: &&mut Held| held.is_incomplete() && held.tries_left > 0 && held.ask_at <= now;
        let held = self.packets.iter_mut().find(due)?;
        held.tries_left -= 1;
        held.ask_at = now + self.bounds.retry_after;
        if let State::Incomplete(gaps) = &held.state {
            // One place behind the last means that nothing was missing.
            let wrong =
                Some(gaps.lengths.len()).filter(|place| gaps.is_wrong && *place < chunk_request::MAX_SLOTS);
            chunk_request::emit(held.number.0, gaps.missing().chain(wrong), out);
        }
        Some(held.number)
    }

    /// The gaps of the packet with these low 24 bits of its number.
    pub fn gaps(&mut self, low_bits: u32) -> Option<(PacketNumber, &mut Gaps)> {
        self.packets.iter_mut().find_map(|held| match &mut held.state {
            State::Incomplete(gaps) if held.number.0 & 0xff_ffff == u64::from(low_bits) => {
                Some((held.number, gaps))
            }
            _ => None,
        })
    }

    /// Notes that the packet is restored.
    pub fn complete(&mut self, number: PacketNumber, packet: Vec<u8>) {
        let incomplete = self.packets.iter_mut().find(|held| held.number == number && held.is_incomplete());
        if let Some(held) = incomplete {
            held.state = State::Restored(packet);
            self.incomplete -= 1;
        }
    }

    /// Requests the whole packet again.
    pub fn ask_again(&mut self, number: PacketNumber, now: Duration) {
        if let Some(held) = self.packets.iter_mut().find(|held| held.number == number && held.is_incomplete())
        {
            held.ask_at = now;
        }
    }

    /// Drops a packet that cannot be restored.
    pub fn give_up(&mut self, number: PacketNumber) {
        self.give_up_where(|held| held.number == number);
    }

    /// Takes the first packet without an incomplete predecessor in its flow.
    pub fn deliver(&mut self) -> Option<(PacketNumber, Vec<u8>)> {
        let at = (0..self.packets.len()).find(|&at| {
            let held = &self.packets[at];
            let blocked = || {
                self.packets.iter().take(at).any(|before| before.flow == held.flow && before.is_incomplete())
            };
            !held.is_incomplete() && !blocked()
        })?;
        match self.packets.remove(at)? {
            Held { number, state: State::Restored(packet), .. } => Some((number, packet)),
            Held { .. } => None,
        }
    }

    /// Time of the next due work.
    pub fn next_timeout(&self) -> Option<Duration> {
        let due = |held: &Held| {
            if held.tries_left > 0 { held.ask_at.min(held.give_up_at) } else { held.give_up_at }
        };
        self.packets.iter().filter(|held| held.is_incomplete()).map(due).min()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.incomplete = 0;
    }
}
