//! A datagram that waits to be filled.

use crate::path::encapsulation::OuterClass;
use crate::session::seal::Seal;
use std::time::Duration;

/// A datagram that is being filled.
pub struct Partial {
    pub seal: Seal,
    /// Its header and frames.
    pub plaintext: Vec<u8>,
    /// The sequence that it begins with.
    pub first: u64,
    /// The same, while no packet has it: there is only the rest of one that was cut.
    pub free: Option<u64>,
    pub lane: usize,
    pub session: u32,
    pub class: OuterClass,
    /// How many packets are in it.
    pub packets: usize,
    /// Where its last frame begins, which says no length yet.
    pub last: Option<usize>,
}

/// Whether a datagram waits to be filled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Coalescer {
    /// None does.
    #[default]
    Idle,
    /// One does, and leaves then if not before.
    Until(Duration),
    /// The waiting packets leave now.
    Due,
}

impl Coalescer {
    /// Something is in the datagram that is not to wait.
    pub fn hurry(&mut self) {
        *self = Coalescer::Due;
    }

    /// A datagram has left.
    pub fn finish(&mut self) {
        *self = Coalescer::Idle;
    }

    /// Notes that it is `now`.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.timeout().is_some_and(|at| at <= now) {
            *self = Coalescer::Due;
        }
    }

    /// When what waits leaves.
    #[must_use]
    pub fn timeout(self) -> Option<Duration> {
        match self {
            Coalescer::Until(at) => Some(at),
            Coalescer::Idle | Coalescer::Due => None,
        }
    }

    /// Whether a datagram that is not full waits at `now`, no longer than `patience` since it began.
    pub fn waits(&mut self, now: Duration, patience: Duration) -> bool {
        if *self == Coalescer::Idle && !patience.is_zero() {
            *self = Coalescer::Until(now + patience);
        }
        self.timeout().is_some_and(|at| now < at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_datagram_waits_no_longer_than_its_patience_and_not_where_no_path_is_known() {
        let mut coalescer = Coalescer::default();
        assert!(!coalescer.waits(MS, Duration::ZERO));
        assert!(coalescer.waits(10 * MS, 4 * MS));
        assert!(coalescer.waits(12 * MS, 4 * MS), "more has come, but not enough");
        assert_eq!(coalescer.timeout(), Some(14 * MS), "it began at 10");
        coalescer.handle_timeout(14 * MS);
        assert_eq!(coalescer.timeout(), None, "once is enough");
        assert!(!coalescer.waits(14 * MS, 4 * MS));
        coalescer.finish();
        assert!(coalescer.waits(20 * MS, 4 * MS));
    }

    #[test]
    fn what_is_in_a_hurry_takes_along_what_waits() {
        let mut coalescer = Coalescer::default();
        assert!(coalescer.waits(MS, 4 * MS));
        coalescer.hurry();
        assert!(!coalescer.waits(MS, 4 * MS));
    }
}
