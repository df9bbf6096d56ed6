//! The time for which a peer has answered nothing.

use std::time::Duration;

/// A peer that answers nothing for so long is asked again, and gets a new handshake.
const ASK_EVERY: Duration = Duration::from_secs(10);

/// Of one peer.
#[derive(Debug, Default)]
pub struct Unanswered {
    since: Option<Duration>,
    asked_at: Duration,
}

impl Unanswered {
    /// Notes that something was sent that wants an answer.
    pub fn send(&mut self, now: Duration) {
        if self.since.is_none() {
            (self.since, self.asked_at) = (Some(now), now);
        }
    }

    /// Notes an answer.
    pub fn clear(&mut self) {
        self.since = None;
    }

    /// Since when the peer has answered nothing. A repeated question does not change it.
    #[must_use]
    pub fn since(&self) -> Option<Duration> {
        self.since
    }

    /// Whether the peer is to be asked again. Then this is noted.
    pub fn ask_again(&mut self, now: Duration) -> bool {
        let is_due = self.timeout().is_some_and(|at| now >= at);
        if is_due {
            self.asked_at = now;
        }
        is_due
    }

    /// When [`Unanswered::ask_again`] is due.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.since.map(|_| self.asked_at + ASK_EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_asked_again_leaves_the_beginning_of_the_silence() {
        let at = |tenths: u64| Duration::from_millis(tenths * 100);
        let mut unanswered = Unanswered::default();
        assert!(unanswered.timeout().is_none() && !unanswered.ask_again(at(0)));
        unanswered.send(at(10));
        unanswered.send(at(50));
        assert!(!unanswered.ask_again(at(109)) && unanswered.ask_again(at(110)));
        assert_eq!((unanswered.since(), unanswered.timeout()), (Some(at(10)), Some(at(210))));
        unanswered.clear();
        assert_eq!((unanswered.since(), unanswered.timeout()), (None, None));
        unanswered.send(at(300));
        assert_eq!((unanswered.since(), unanswered.timeout()), (Some(at(300)), Some(at(400))));
    }
}
