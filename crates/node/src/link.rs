//! A link: all that two nodes share from one boot of either to the next. It outlives sessions; when one of the
//! two starts anew, it begins again from nothing.

use crate::pack::Overflow;
use crate::receipts::{Outstanding, Received};
use crate::recover::Recover;
use crate::reduce::{Reduce, Restore};
use crate::release::Release;
use crate::repair::Repair;
use crate::shorten::Shortening;
use re::{Form, Parameters, Policy};
use std::collections::VecDeque;
use std::time::Duration;
use wire::hello::{ANSWERS_REQUESTS, Hello, LENGTHENS, RECOVERS};

/// Replies that wait to be sent at once.
const MAX_REPLIES: usize = 256;
/// Over longer hops ARQ does not pay: what it repairs comes so late that the end hosts have repaired it themselves.
const LONGEST_HOP: Duration = Duration::from_millis(120);
/// The least and the most that a packet waits behind a gap.
const PATIENCE: [Duration; 2] = [Duration::from_millis(40), Duration::from_millis(300)];
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
    /// Parks what cannot be restored yet, and asks for what is missing; only if the peer answers requests or sends
    /// again by itself.
    pub repair: Option<Repair>,
    /// Keeps what is not confirmed, to send it again; only under a policy that wants it.
    pub recover: Option<Recover>,
    /// Hands packets on in order; only if the peer sends again what is lost.
    pub release: Option<Release>,
    /// A packet's frame that waits for the next datagram.
    pub overflow: Option<Overflow>,
    /// Bytes of the last packet's frame: the next one's are likely about as many.
    pub usual_frame_bytes: usize,
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
    LENGTHENS
        | match parameters.policy {
            Policy::RetrieveOnMiss => ANSWERS_REQUESTS,
            _ if sends_again(parameters) => RECOVERS,
            _ => 0,
        }
}

/// Whether this node sends again what is lost; a packet in the paper's form refers to nothing by name, so that nobody knows
/// what it waits for.
fn sends_again(parameters: &Parameters) -> bool {
    parameters.policy == Policy::Adaptive && parameters.form == Form::Compact
}

/// Bytes that this node stores for a direction, as it says in its hello.
#[must_use]
pub fn store_kib(parameters: &Parameters) -> u32 {
    u32::try_from(parameters.store_bytes / 1024).unwrap_or(u32::MAX)
}

impl Link {
    /// A new link with the peer that said `hello`.
    #[must_use]
    pub fn new(parameters: &Parameters, shortening: Shortening, hello: &Hello) -> Self {
        let store_bytes = store_kib(parameters).min(hello.store_kib) as usize * 1024;
        let (answers, recovers) =
            (hello.capabilities & ANSWERS_REQUESTS != 0, hello.capabilities & RECOVERS != 0);
        let shortening = if hello.capabilities & LENGTHENS != 0 { shortening } else { Shortening::NONE };
        Link {
            peer_boot: hello.boot,
            outstanding: Outstanding::default(),
            received: Received::new(recovers),
            reduce: Reduce::new(parameters, store_bytes, shortening),
            restore: Restore::new(hello.window_bytes.into(), hello.sample_bits.into(), store_bytes),
            repair: (answers || recovers).then(|| Repair::new(answers)),
            recover: sends_again(parameters).then(Recover::default),
            release: recovers.then(Release::default),
            overflow: None,
            usual_frame_bytes: usize::MAX,
            replies: VecDeque::new(),
            pong: None,
            flushed: false,
        }
    }

    /// Whether what is lost now is worth sending again from here: decided by what was measured, not configured.
    #[must_use]
    pub fn repairs_losses(&self) -> bool {
        self.recover.is_some() && self.outstanding.delay.shortest().is_some_and(|hop| hop <= LONGEST_HOP)
    }

    /// For how long a packet waits behind a gap: while its filling may still be on the way.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let [least, most] = PATIENCE;
        match self.outstanding.delay.shortest() {
            Some(hop) if hop > LONGEST_HOP => Duration::ZERO,
            _ => self.outstanding.srtt().map_or(least, |srtt| (srtt * 2 + least).min(most)),
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
