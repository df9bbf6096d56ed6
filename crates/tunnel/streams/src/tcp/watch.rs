//! Times after which a silent host is prodded, and given up.

use std::time::Duration;

/// A handshake is given up after this time.
pub(super) const OPENING: Duration = Duration::from_secs(30);
/// A host that acknowledges nothing and sends nothing is given up after this time.
const SILENCE: Duration = Duration::from_secs(120);
const FIRST_PATIENCE: Duration = Duration::from_millis(300);
const LAST_PATIENCE: Duration = Duration::from_secs(16);

/// Watches what is sent and not acknowledged.
#[derive(Debug)]
pub(super) struct Watch {
    /// When the host was heard last, or when something began to wait for its acknowledgment.
    heard: Duration,
    /// Whether something waits for the host's acknowledgment.
    is_waiting: bool,
    /// When bytes were sent or acknowledged last.
    stirred: Duration,
    /// How long smoltcp may do nothing about bytes that wait.
    patience: Duration,
}

impl Watch {
    pub(super) fn new(now: Duration) -> Self {
        Watch { heard: now, is_waiting: false, stirred: now, patience: FIRST_PATIENCE }
    }

    /// Takes note of a packet of the host.
    pub(super) fn hear(&mut self, now: Duration) {
        self.heard = now;
    }

    /// Takes note of bytes sent.
    pub(super) fn send(&mut self, now: Duration) {
        self.stirred = now;
    }

    /// Takes note of bytes acknowledged.
    pub(super) fn advance(&mut self, now: Duration) {
        self.stirred = now;
        self.patience = FIRST_PATIENCE;
    }

    /// Takes note of whether something waits for the host's acknowledgment.
    pub(super) fn wait(&mut self, now: Duration, is_waiting: bool) {
        if is_waiting && !self.is_waiting {
            self.heard = now;
        }
        self.is_waiting = is_waiting;
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// When the host is given up.
    pub(super) fn gives_up_at(&self) -> Option<Duration> {
        self.is_waiting.then(|| self.heard + SILENCE)
    }

    /// When something happens although smoltcp has no timer.
    pub(super) fn prods_at(&self) -> Duration {
        self.stirred + self.patience
    }

    /// Takes note that it happens: the patience doubles.
    pub(super) fn prod(&mut self, now: Duration) {
        self.stirred = now;
        self.patience = (self.patience * 2).min(LAST_PATIENCE);
    }
}
