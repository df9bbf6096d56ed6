//! Times at which a connection has something to do.

use super::{Connection, instant};
use crate::tcp::State;
use crate::tcp::watch::OPENING;
use std::time::Duration;

impl Connection {
    /// The time at which [`Self::poll`] has something to do, on the clock of `now`, and not before `now`.
    pub fn timeout(&mut self, now: Duration) -> Option<Duration> {
        self.now = self.now.max(now);
        let is_due = !self.replies.is_empty() || self.owed.is_some();
        let is_ended = matches!(self.state, State::Refused | State::Reset | State::Closed);
        if is_ended {
            return (is_due || !self.is_at_rest).then_some(now);
        }
        if is_due || self.is_unacknowledged() != self.watch.is_waiting() {
            return Some(now);
        }
        let due = [self.timer_at(), self.gives_up_at(), self.prods_at()].into_iter().flatten().min();
        due.map(|at| at.max(now))
    }

    pub(super) fn gives_up_at(&self) -> Option<Duration> {
        match self.state {
            State::Opening => Some(self.began + OPENING),
            State::Open => self.watch.gives_up_at(),
            State::Refused | State::Reset | State::Closed => None,
        }
    }

    /// smoltcp 0.12 does not probe a closed window, and it forgets its timer when the host acknowledges a
    /// part after its FIN.
    pub(super) fn prods_at(&mut self) -> Option<Duration> {
        let is_stuck = self.state == State::Open && self.is_unacknowledged() && self.timer_at().is_none();
        is_stuck.then(|| self.watch.prods_at())
    }

    /// When smoltcp has something to do.
    fn timer_at(&mut self) -> Option<Duration> {
        let at = self.interface.poll_at(instant(self.now), &self.sockets)?;
        Some(Duration::from_micros(u64::try_from(at.total_micros()).unwrap_or(0)))
    }
}
