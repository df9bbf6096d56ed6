//! One direction of a point-to-point path.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Duration;

use crate::fate::{Chances, Fate};
use crate::policer::Policer;
use crate::queue::{Queue, Waiting};
use crate::transmitter::Transmitter;
use crate::{ConfigError, LinkConfig, LinkCounters, Tally};

/// One direction of a point-to-point path; the crate's page describes the stages of a frame.
///
/// Time never goes back: an earlier `now` counts as the latest one.
///
/// `queue_bytes` bounds the memory of the queue, `queue_frames` its length, and [`Link::MOST_HELD_BYTES`] the
/// memory of the whole link. Frames beyond any of them are dropped before the air and counted as queue drops.
/// So are the drops of the policer and of the queue's discipline.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    now: Duration,
    policer: Option<Policer>,
    queue: Queue,
    transmitter: Transmitter,
    transmitting: Option<Transmitting>,
    /// Index of the next transmitted frame.
    next_index: u64,
    chances: Chances,
    flight: BinaryHeap<Reverse<Arriving>>,
    /// Frames that are not held back arrive no earlier than this, so a shorter delay lets no frame overtake.
    in_order_until: Duration,
    /// One above the highest delivered index.
    delivered_below: u64,
    held: Tally,
    counters: LinkCounters,
}

#[derive(Debug)]
struct Transmitting {
    index: u64,
    start: Duration,
    finish: Duration,
    fate: Fate,
    frame: Vec<u8>,
}

/// Ordered by arrival; at equal times by transmission, with a copy after its original.
#[derive(Debug)]
struct Arriving {
    time: Duration,
    index: u64,
    copy: bool,
    frame: Vec<u8>,
}

impl Arriving {
    fn order(&self) -> (Duration, u64, bool) {
        (self.time, self.index, self.copy)
    }
}

impl Ord for Arriving {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Arriving {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Arriving {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Arriving {}

/// Cost of a held frame beyond its bytes, so that empty frames are bounded, too.
const FRAME_COST_BYTES: u64 = 64;

impl Link {
    /// The most bytes that a link holds, waiting and in flight, with 64 more for each frame.
    pub const MOST_HELD_BYTES: u64 = 256 << 20;

    /// A link that is idle and empty at time 0. Links with equal configuration and seed treat equal schedules
    /// equally. The two directions of a path need different seeds, or they lose the same indexes.
    pub fn new(config: &LinkConfig, seed: u64) -> Result<Self, ConfigError> {
        config.validate()?;
        Ok(Self {
            config: config.clone(),
            now: Duration::ZERO,
            policer: config.policer.clone().map(Policer::new),
            queue: Queue::new(config),
            transmitter: Transmitter::new(config, Duration::ZERO)?,
            transmitting: None,
            next_index: 0,
            chances: Chances::new(config, seed),
            flight: BinaryHeap::new(),
            in_order_until: Duration::ZERO,
            delivered_below: 0,
            held: Tally::default(),
            counters: LinkCounters::default(),
        })
    }

    /// Offers a frame at `now`.
    pub fn send(&mut self, now: Duration, frame: Vec<u8>) {
        self.advance(now);
        let bytes = frame.len();
        self.counters.offered.add(bytes);
        let held = self.held.bytes + (self.held.frames + 1) * FRAME_COST_BYTES + bytes as u64;
        let policed_bytes = bytes.saturating_add(self.config.overhead_bytes);
        let passes = self.policer.as_mut().is_none_or(|policer| policer.passes(self.now, policed_bytes));
        let fits = self.transmitting.is_none() || self.queue.has_room(&self.config, bytes);
        if !passes || !fits || held > Self::MOST_HELD_BYTES {
            self.counters.queue_dropped.add(bytes);
            return;
        }
        self.held.add(bytes);
        if self.transmitting.is_none() {
            self.transmit(self.now, self.now, frame);
            // A transmission without duration frees the transmitter for the next frame at the same instant.
            self.advance(now);
        } else {
            self.queue.push(Waiting { arrival: self.now, frame });
            self.counters.longest_queue_bytes = self.counters.longest_queue_bytes.max(self.queue.bytes());
        }
    }

    /// The next frame that has arrived by `now`. Call it until it returns `None`.
    pub fn poll_deliver(&mut self, now: Duration) -> Option<Vec<u8>> {
        self.advance(now);
        if self.flight.peek()?.0.time > self.now {
            return None;
        }
        let Reverse(arriving) = self.flight.pop()?;
        let bytes = arriving.frame.len();
        self.held.remove(bytes);
        self.counters.delivered.add(bytes);
        if arriving.index < self.delivered_below && !arriving.copy {
            self.counters.reordered.add(bytes);
        }
        self.delivered_below = self.delivered_below.max(arriving.index + 1);
        Some(arriving.frame)
    }

    /// Time of the next call of [`Link::poll_deliver`], if nothing is sent before; `None` for an empty link.
    /// Nothing may arrive then, because a frame can be lost.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let arriving = self.flight.peek().map(|Reverse(arriving)| arriving.time);
        // No frame that waits can arrive before this one.
        let transmitting = self
            .transmitting
            .as_ref()
            .map(|transmitting| transmitting.finish.saturating_add(self.config.delay));
        let next = match (arriving, transmitting) {
            (Some(one), Some(other)) => one.min(other),
            (one, other) => one.or(other)?,
        };
        Some(next)
    }

    /// Changes the conditions from the latest `now` on. The frame on the air and frames in flight keep the
    /// old conditions. Waiting frames get the new ones, and are not dropped by a shorter queue. An unchanged
    /// loss model, discipline or policer keeps its state. An invalid configuration changes nothing.
    pub fn set_config(&mut self, config: &LinkConfig) -> Result<(), ConfigError> {
        config.validate()?;
        let capacity = |config: &LinkConfig| (config.rate, config.trace.clone(), config.radio.clone());
        if capacity(config) != capacity(&self.config) {
            let free = self.transmitting.as_ref().map_or(self.now, |transmitting| transmitting.finish);
            self.transmitter = Transmitter::new(config, free)?;
        }
        self.chances.set_config(config);
        if config.queue_discipline != self.config.queue_discipline {
            self.queue.set_config(config);
        }
        if config.policer.as_ref() != self.policer.as_ref().map(Policer::config) {
            self.policer = config.policer.clone().map(Policer::new);
        }
        self.config = config.clone();
        Ok(())
    }

    /// The current conditions.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// The counters so far.
    pub fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// Frames in the link: waiting, on the air, and in flight (with copies).
    pub fn held(&self) -> Tally {
        self.held
    }

    /// Bytes that wait for the transmitter.
    pub fn waiting_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// Processes all events up to `now`, each at its own time.
    fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
        while let Some(transmitted) =
            self.transmitting.take_if(|transmitting| transmitting.finish <= self.now)
        {
            let finish = transmitted.finish;
            self.fly(transmitted);
            let dropped = |bytes| {
                self.counters.queue_dropped.add(bytes);
                self.held.remove(bytes);
            };
            if let Some(next) = self.queue.pop(finish, dropped) {
                self.transmit(next.arrival, finish, next.frame);
            }
        }
    }

    /// Starts the transmission, at `start`, of a frame offered at `arrival`.
    fn transmit(&mut self, arrival: Duration, start: Duration, frame: Vec<u8>) {
        let index = self.next_index;
        self.next_index += 1;
        let bytes_on_air =
            self.transmitter.bytes_on_air(frame.len().saturating_add(self.config.overhead_bytes));
        let fate = self.chances.decide(
            &self.config,
            (index, start),
            self.transmitter.retry_limit(),
            frame.len(),
            bytes_on_air,
        );
        let finish = self.transmitter.finish(arrival, start, bytes_on_air, fate.tries, fate.lost);
        self.transmitting = Some(Transmitting { index, start, finish, fate, frame });
    }

    /// Moves a transmitted frame to the flight, unless the air lost it.
    fn fly(&mut self, transmitted: Transmitting) {
        let Transmitting { index, start, finish, fate, mut frame } = transmitted;
        let bytes = frame.len();
        let counters = &mut self.counters;
        counters.air_time = counters.air_time.saturating_add(finish.saturating_sub(start));
        for retry in 0..fate.tries {
            counters.transmitted.add(bytes);
            if retry > 0 {
                counters.retried.add(bytes);
            }
        }
        if fate.lost {
            counters.lost.add(bytes);
            self.held.remove(bytes);
            return;
        }
        if let Some(bit) = fate.flipped_bit
            && let Some(byte) = frame.get_mut((bit / 8) as usize)
        {
            *byte ^= 0x80 >> (bit % 8);
            counters.corrupted.add(bytes);
        }
        let in_order = finish.saturating_add(self.config.delay).max(self.in_order_until);
        let time = match fate.held_back {
            Some(extra) => in_order.saturating_add(extra),
            None => {
                self.in_order_until = in_order;
                in_order
            }
        };
        if fate.duplicated {
            counters.duplicated.add(bytes);
            self.held.add(bytes);
            self.flight.push(Reverse(Arriving { time, index, copy: true, frame: frame.clone() }));
        }
        self.flight.push(Reverse(Arriving { time, index, copy: false, frame }));
    }
}
