//! Whether a peer answers, and what becomes of packets for one that does not.
//!
//! A peer is reachable from the moment that a session with it is proven. It is not any more when it says
//! goodbye, when its session's keys have expired, or when a handshake and something else have gone unanswered
//! for [`DOWN_AFTER`] and nothing was heard of it meanwhile. Such a handshake begins at the latest ten
//! seconds after something was sent that nobody answered; a peer that keeps silent is sent something by every
//! keepalive.
//!
//! Packets for a peer that is not reachable are held as long, for it may be about to come, as when both have
//! just been started; then they and all that follow are refused, and their senders told (RFC 1812, 5.2.7.1).
//! So nothing hangs, and nothing leaves by another way than the one that was meant. While the keys still
//! hold, refused packets make the node ask for a sign of the peer, so that a link that is mended carries
//! packets at once. Who wants it otherwise withdraws the routes when
//! [`Event::Unreachable`](crate::Event::Unreachable) is told.

use std::time::Duration;

/// How long a handshake may go unanswered: its first message and two repetitions.
pub const DOWN_AFTER: Duration = Duration::from_secs(5);

/// How often a peer is asked while that is so: on a lossy path one answer is easily lost.
pub const DOUBTED_KEEPALIVE: Duration = Duration::from_secs(1);

/// How often refused packets make the node ask at most; a slow path is asked so many times a round trip.
const LEAST_BETWEEN_SIGNS: Duration = Duration::from_millis(10);
const SIGNS_A_ROUND_TRIP: u32 = 4;

/// Of one peer.
#[derive(Debug, Default)]
pub struct Reachability {
    up: bool,
    heard_at: Duration,
    /// Since when packets are held for it.
    holds_since: Option<Duration>,
    /// When it was last asked for a sign because a packet was refused.
    asked_at: Option<Duration>,
}

impl Reachability {
    /// Whether it answers, as far as is known.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.up
    }

    /// Notes that something proven came. Whether the peer was unreachable before.
    pub fn hear(&mut self, now: Duration) -> bool {
        let anew = Reachability { up: true, heard_at: now, ..Reachability::default() };
        let before = std::mem::replace(self, anew);
        !before.up
    }

    /// Gives the peer up. Whether it was reachable before.
    pub fn give_up(&mut self) -> bool {
        std::mem::take(&mut self.up)
    }

    /// Counts the time for which packets are held from `since`, if it does not run.
    pub fn hold_from(&mut self, since: Duration) {
        self.holds_since.get_or_insert(since);
    }

    /// Whether a packet is sent or held at `now`.
    pub fn takes_packets(&mut self, now: Duration) -> bool {
        self.up || now < *self.holds_since.get_or_insert(now) + DOWN_AFTER
    }

    /// A packet is refused. Whether the peer is to be asked for a sign, with this round trip.
    pub fn ask_for_a_sign(&mut self, now: Duration, srtt: Option<Duration>) -> bool {
        let between = srtt.unwrap_or_default() / SIGNS_A_ROUND_TRIP;
        let between = between.max(LEAST_BETWEEN_SIGNS);
        let is_due = self.asked_at.is_none_or(|at| now >= at + between);
        if is_due {
            self.asked_at = Some(now);
        }
        is_due
    }

    /// When the peer is given up, or packets for it. `shaking_since`: of the handshake that has no response.
    /// `unanswered_since`: of the message that has no answer.
    #[must_use]
    pub fn doubt_at(
        &self,
        shaking_since: Option<Duration>,
        unanswered_since: Option<Duration>,
        has_packets: bool,
    ) -> Option<Duration> {
        let since = if self.up {
            // a renewal of keys alone is no reason to doubt: it may be lost, and nobody waits for it
            let shaking = shaking_since.filter(|since| *since > self.heard_at);
            shaking.zip(unanswered_since).map(|(shaking, unanswered)| shaking.max(unanswered))
        } else {
            self.holds_since.filter(|_| has_packets)
        };
        since.map(|since| since + DOWN_AFTER)
    }

    /// A handshake was given up: packets may be held for the next.
    pub fn try_again(&mut self) {
        self.holds_since = None;
    }
}
