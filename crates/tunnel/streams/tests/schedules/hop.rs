//! The fates of datagrams, and of hosts' packets.

use crate::dice::Dice;
use crate::plan::{HopPlan, HostsPlan};
use std::time::Duration;
use streams::Streams;

/// The latest receipt is so much later than others, in milliseconds.
const LATEST: u64 = 3000;

/// What becomes of a datagram.
pub struct Fates {
    pub comes_at: [Option<Duration>; 2],
    /// When its sender hears of it.
    pub judged_at: Duration,
    pub is_held: bool,
}

impl Fates {
    pub fn draw(dice: &mut Dice, hop: &HopPlan, now: Duration) -> Self {
        if now >= hop.repaired_at {
            let at = now + hop.delay;
            return Fates { comes_at: [Some(at), None], judged_at: at + hop.delay, is_held: true };
        }
        let mut at = || now + hop.delay + dice.milliseconds(0..hop.jitter);
        let (first, second, answered) = (at(), at(), at() + hop.delay);
        let is_lost = hop.outage.contains(&now) || dice.happens(hop.lost);
        let is_repeated = !is_lost && dice.happens(hop.repeated);
        let is_misjudged = dice.happens(hop.misjudged);
        let late = if dice.happens(hop.late) { dice.milliseconds(0..LATEST) } else { Duration::ZERO };
        let is_held = !is_lost && !is_misjudged;
        // nobody hears that a datagram came before it did
        let judged_at = if is_held { answered.max(first + hop.delay) } else { answered };
        let comes_at = [(!is_lost).then_some(first), is_repeated.then_some(second)];
        Fates { comes_at, judged_at: judged_at + late, is_held }
    }
}

impl HostsPlan {
    /// When a packet comes, if it does.
    pub fn draw(&self, dice: &mut Dice, now: Duration) -> Option<Duration> {
        if self.lost == 0 {
            return Some(now + self.delay);
        }
        let at = now + self.delay + dice.milliseconds(0..2);
        (!dice.happens(self.lost)).then_some(at)
    }
}

/// One direction of the hop.
#[derive(Debug, Default)]
pub struct Direction {
    pub next_sequence: u64,
    pub in_flight: usize,
    free_at: Duration,
}

impl Direction {
    /// Whether bytes may leave.
    pub fn admits(&self, engine: &Streams, hop: &HopPlan) -> bool {
        engine.has_to_send() && self.in_flight < hop.most_in_flight
    }

    /// When the next datagram leaves, as things are.
    pub fn sends_at(&self, engine: &Streams, hop: &HopPlan) -> Option<Duration> {
        (engine.has_to_tell() || self.admits(engine, hop)).then_some(self.free_at)
    }

    pub fn note_sent(&mut self, now: Duration, hop: &HopPlan) {
        self.next_sequence += 1;
        self.in_flight += 1;
        self.free_at = now + hop.gap;
    }
}
