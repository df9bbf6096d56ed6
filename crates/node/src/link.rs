//! A link: all that two nodes share from one boot of either to the next. It outlives sessions; when one of the
//! two starts anew, it begins again from nothing.

use crate::receipts::{Outstanding, Received};
use crate::reduce::{Reduce, Restore};
use crate::repair::Repair;
use re::{Parameters, Policy};
use std::collections::VecDeque;
use std::time::Duration;
use wire::hello::{ANSWERS_REQUESTS, Hello};

/// Replies that wait to be sent at once.
const MAX_REPLIES: usize = 256;
/// A first guess of the round trip, until it is measured.
const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(200);

/// One link with one peer.
pub struct Link {
    /// The peer's boot.
    pub peer_boot: u64,
    /// What was sent.
    pub outstanding: Outstanding,
    /// What arrived.
    pub received: Received,
    /// Leaves out what the peer has.
    pub reduce: Reduce,
    /// Puts back what we have.
    pub restore: Restore,
    /// Asks for what is missing; only if the peer answers requests.
    pub repair: Option<Repair>,
    /// Sequences that the peer asked for.
    pub replies: VecDeque<u64>,
    /// A ping to be answered.
    pub pong: Option<[u8; 8]>,
    /// Our store was lost and the peer is to be told.
    pub flushed: bool,
}

/// What this node answers to and stores, as it says in its hello.
#[must_use]
pub fn capabilities(parameters: &Parameters) -> u32 {
    if parameters.policy == Policy::RetrieveOnMiss { ANSWERS_REQUESTS } else { 0 }
}

/// Bytes that this node stores for a direction, as it says in its hello.
#[must_use]
pub fn store_kib(parameters: &Parameters) -> u32 {
    u32::try_from(parameters.store_bytes / 1024).unwrap_or(u32::MAX)
}

impl Link {
    /// A new link with the peer that said `hello`.
    #[must_use]
    pub fn new(parameters: &Parameters, hello: &Hello) -> Self {
        let store_bytes = store_kib(parameters).min(hello.store_kib) as usize * 1024;
        Link {
            peer_boot: hello.boot,
            outstanding: Outstanding::default(),
            received: Received::default(),
            reduce: Reduce::new(parameters, store_bytes),
            restore: Restore::new(hello.window_bytes.into(), hello.sample_bits.into(), store_bytes),
            repair: (hello.capabilities & ANSWERS_REQUESTS != 0).then(Repair::default),
            replies: VecDeque::new(),
            pong: None,
            flushed: false,
        }
    }

    /// Queues an answer to a request, within the bound.
    pub fn reply(&mut self, sequence: u64) {
        if self.replies.len() < MAX_REPLIES && !self.replies.contains(&sequence) {
            self.replies.push_back(sequence);
        }
    }

    /// How long to wait before something is asked for again.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.outstanding.srtt().map_or(UNKNOWN_ROUND_TRIP, |srtt| srtt * 3 / 2 + Duration::from_millis(10))
    }
}
