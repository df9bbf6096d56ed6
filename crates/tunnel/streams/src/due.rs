//! Times at which streams have something to do.

use crate::streams::{Emit, Streams};
use std::time::Duration;
use wire::stream::Name;

impl Streams {
    /// When [`Streams::handle_timeout`] has something to do.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let timer = self.timers.first().map(|(at, _)| *at);
        [timer, self.under_way.gives_up_at(), self.tells_stored_at].into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Duration, emit: Emit<'_>) {
        self.tells_stored |= self.tells_stored_at.take_if(|at| *at <= now).is_some();
        while let Some(&(at, name)) = self.timers.first()
            && at <= now
        {
            self.timers.remove(&(at, name));
            let Some(stream) = self.streams.get_mut(&name) else { continue };
            stream.timer = None;
            if stream.forgotten_at.is_some_and(|at| at <= now) {
                self.give_up(now, name, None);
                self.forget(name);
            } else {
                if stream.answered_by.is_some_and(|at| at <= now) {
                    self.give_up_unanswered(now, name, emit);
                }
                self.step(now, name, emit);
            }
        }
    }

    /// Lets the next timeout, which is due, do for a stream what there is to do: once for all packets and
    /// frames that come together.
    pub(crate) fn step_soon(&mut self, now: Duration, name: Name) {
        let Some(stream) = self.streams.get_mut(&name) else { return };
        if stream.timer.is_none_or(|at| at > now) {
            stream.timer.into_iter().for_each(|at| _ = self.timers.remove(&(at, name)));
            self.timers.insert((now, name));
            stream.timer = Some(now);
        }
    }
}
