//! ARQ on the hop: receipts, retransmission, requests, and order. [`Arq`] has both directions of one link:
//! the [sending](outgoing) and the [receiving](incoming) side.

pub mod delay;
mod incoming;
pub mod losses;
pub mod nack;
mod outgoing;
pub mod receipts;
pub mod reorder;
pub mod sender;

use delay::Delay;
use nack::Nack;
use receipts::{Fate, GAP_TOLD_AFTER, HISTORY, Outstanding, Received};
use reorder::Reorder;
use sender::Sender;
use std::collections::VecDeque;
use std::time::Duration;

/// A first guess of the round trip, until it is measured.
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(200);

/// What the peer does for this node's packets, and this node for the peer's.
#[derive(Debug, Clone, Copy)]
pub struct Abilities {
    /// The peer answers requests.
    pub answers: bool,
    /// The peer sends lost packets again by itself.
    pub recovers: bool,
    /// This node does.
    pub sends_again: bool,
}

/// What receipts told until now.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The newest sequence of the last receipt.
    pub newest: u64,
    /// Sequences up to that one, from the beginning.
    pub sent: u64,
    /// How many of them came, repairs not counted.
    pub came: u64,
    /// How long the receipt waited after that sequence came.
    pub waited: Duration,
    /// The share of sequences that the air loses.
    pub air_loss: f64,
    /// The round trips.
    pub delay: &'a Delay,
}

/// ARQ of one link.
pub struct Arq {
    /// Sequences that were sent.
    outstanding: Outstanding,
    /// Keeps what is not confirmed, to send it again; only under a policy that wants it.
    sender: Option<Sender>,
    /// Sequences that the peer asked for.
    replies: VecDeque<u64>,
    /// Receipts in a row that make no sense.
    strange_receipts: u32,
    /// Sequences that repairs may still restore, and when they will not any more.
    late: VecDeque<(u64, Duration)>,
    /// The fates in a receipt, during its processing; kept to allocate once.
    fates: Vec<(u64, Fate)>,
    /// Sequences that arrived.
    received: Received,
    /// Parks packets that cannot be restored yet, and requests their references; only if the peer answers
    /// requests or retransmits by itself.
    nack: Option<Nack>,
    /// Hands packets on in order; only if the peer sends again what is lost.
    reorder: Option<Reorder>,
    /// A receipt is due and did not fit into the datagram before.
    receipt_had_no_room: bool,
}

impl Arq {
    /// Nothing was sent and nothing came.
    #[must_use]
    pub fn new(abilities: Abilities) -> Self {
        let Abilities { answers, recovers, sends_again } = abilities;
        Arq {
            outstanding: Outstanding::default(),
            sender: sends_again.then(Sender::default),
            replies: VecDeque::new(),
            strange_receipts: 0,
            late: VecDeque::new(),
            fates: Vec::new(),
            received: Received::new(recovers),
            nack: (answers || recovers).then(|| Nack::new(answers)),
            reorder: recovers.then(Reorder::default),
            receipt_had_no_room: false,
        }
    }

    /// Frees buffers that nobody needed since the last call.
    pub fn trim(&mut self) {
        self.sender.iter_mut().for_each(Sender::trim);
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.outstanding.memory_bytes()
            + self.sender.as_ref().map_or(0, Sender::memory_bytes)
            + self.nack.as_ref().map_or(0, Nack::memory_bytes)
            + self.reorder.as_ref().map_or(0, Reorder::memory_bytes)
            + HISTORY / 8
    }

    /// The smoothed round trip.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.outstanding.srtt()
    }

    /// The shortest round trip of late, and the queueing beyond it.
    #[must_use]
    pub fn round_trips(&self) -> Option<(Duration, Duration)> {
        self.outstanding.delay().round_trips()
    }

    /// Whether the path's queue was short at the latest measurement.
    #[must_use]
    pub fn queue_is_short(&self) -> bool {
        self.outstanding.delay().queue_is_short()
    }

    /// The share of sent sequences that were lost, over about the last thousand.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        self.outstanding.loss()
    }

    /// The share of sent sequences that the air loses, and not a full queue.
    #[must_use]
    pub fn air_loss(&self) -> f64 {
        self.outstanding.air_loss()
    }

    /// The same, by receipts beside which the queue was short all the time.
    #[must_use]
    pub fn calm_loss(&self) -> f64 {
        self.outstanding.calm_loss()
    }

    /// The number of sequences of whose fate that is the share.
    #[must_use]
    pub fn air_units(&self) -> u64 {
        self.outstanding.air_units()
    }

    /// Signals of congestion that the end hosts are to have for what repairs restored, since the last call.
    pub fn take_signals(&mut self) -> u64 {
        self.outstanding.take_signals()
    }

    /// Whether a full queue lost something since the last call; `air`: the most that the air loses.
    pub fn take_congestion(&mut self, air: f64) -> bool {
        self.outstanding.take_congestion(air)
    }

    /// How long to wait before something is asked for again.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.srtt().map_or(UNKNOWN_ROUND_TRIP, |srtt| srtt * 3 / 2 + Duration::from_millis(10))
    }

    /// The time in which a loss is likely repaired; `None` until the round trip is known.
    #[must_use]
    pub fn repair_time(&self) -> Option<Duration> {
        self.srtt().map(|srtt| srtt * 3 / 2 + GAP_TOLD_AFTER)
    }
}
