//! The initiator's end of the handshakes with one peer.
//!
//! An initiation goes out again, with the same bytes, until it is answered or too old; then the next attempt
//! begins, and the one before may still be answered. Loss costs a third of a second so, and a slow path costs
//! no attempt. While the network's key is replaced, attempts under the new key and under the previous one
//! take turns.

use crate::keys::PublicKey;
use crate::session::challenge::{self, Asked};
use crate::session::handshake::{Identity, Keys, Network, Refused};
use crate::session::keyring::Keyring;
use rand::{Rng, RngExt};
use snow::HandshakeState;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use wire::challenge::COOKIE_BYTES;
use wire::handshake::MARK_BYTES;
use wire::hello::{Hello, Second};
use wire::unit::Unit;

/// How long it is tried often.
const EAGER_FOR: Duration = Duration::from_secs(5);
/// The wait for an answer meanwhile, and the shortest and longest one afterwards.
const EAGER_WAIT: Duration = Duration::from_millis(300);
const WAITS: [Duration; 2] = [Duration::from_millis(600), Duration::from_secs(8)];
/// The first waits where the peer is expected back from a restart, and for how long it is.
const SOON: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(100), Duration::from_millis(200)];
const AWAITED_FOR: Duration = Duration::from_secs(3);
/// After how long an attempt gives way to the next.
const ATTEMPT_LASTS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(16)];
/// Attempts that may be answered.
const MAX_ATTEMPTS: usize = 2;
/// Challenges that one attempt answers.
const MAX_CHALLENGES: u32 = 4;
/// How long a cookie is shown: as long as any responder takes it.
const COOKIE_LASTS: Duration = crate::session::admission::SECRET_LIFETIME;
/// How often it is told that a response is under another pre-shared key.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);
/// Without a keepalive, an unanswered handshake is given up after this.
const GIVE_UP_AFTER: Duration = Duration::from_secs(90);

/// The node's facts for a handshake.
pub struct Introduction<'a> {
    /// The node's keys.
    pub identity: &'a Identity,
    /// Its announcements, without numbers and reset token.
    pub hello: Hello,
}

impl Introduction<'_> {
    /// The hello of a handshake with these numbers, for the session `local_id`.
    #[must_use]
    pub fn hello(&self, number: u32, across_boots: u64, local_id: u32) -> Hello {
        let reset_token = self.identity.reset_token(local_id);
        let second = self.hello.second.map(|second| Second { across_boots, ..second });
        Hello { number, reset_token, second, ..self.hello }
    }
}

/// The handshakes that this node begins with one peer.
pub struct Initiator {
    /// Handshakes begun since the boot.
    begun: u32,
    /// The newest number across boots.
    across_boots: u64,
    trying: Option<Trying>,
    /// Until when the peer is expected back from a restart.
    awaited_until: Duration,
    /// When it was told last that a response is under another pre-shared key.
    complained: Option<Duration>,
}

/// A handshake that is not answered yet.
struct Trying {
    since: Duration,
    /// Initiations sent.
    sent: usize,
    send_at: Duration,
    pair_key: [u8; 32],
    cookie: Option<([u8; COOKIE_BYTES], Duration)>,
    /// The newest last.
    attempts: VecDeque<Attempt>,
}

struct Attempt {
    network: Arc<Network>,
    state: HandshakeState,
    noise: Vec<u8>,
    mark: [u8; MARK_BYTES],
    local_id: u32,
    hello: Hello,
    since: Duration,
    challenges: u32,
}

/// A handshake that was answered.
pub struct Answered {
    /// Ids of the session in the peer's units to us, and in ours to it.
    pub ids: (u32, u32),
    /// The hellos of this node and of the peer.
    pub hellos: (Hello, Hello),
    /// The session's keys.
    pub keys: Keys,
    /// The network under whose key they were agreed on.
    pub network: Arc<Network>,
}

impl Initiator {
    /// An initiator with higher numbers than this one, across boots.
    #[must_use]
    pub fn above(across_boots: u64) -> Self {
        Initiator { begun: 0, across_boots, trying: None, awaited_until: Duration::ZERO, complained: None }
    }

    /// The peer said goodbye, and may be back in a moment.
    pub fn await_restart(&mut self, now: Duration) {
        self.awaited_until = now + AWAITED_FOR;
    }

    /// Whether a handshake is under way.
    #[must_use]
    pub fn is_trying(&self) -> bool {
        self.trying.is_some()
    }

    /// Since when one is.
    #[must_use]
    pub fn trying_since(&self) -> Option<Duration> {
        self.trying.as_ref().map(|trying| trying.since)
    }

    /// When the next initiation is due.
    #[must_use]
    pub fn send_at(&self) -> Option<Duration> {
        self.trying.as_ref().map(|trying| trying.send_at)
    }

    /// Begins a handshake, or tries it again; the unit to send. `None`: the peer's key is no point on the
    /// curve, and no handshake will ever succeed.
    pub fn initiate(
        &mut self,
        now: Duration,
        introduction: &Introduction<'_>,
        peer: (usize, &PublicKey),
        rng: &mut impl Rng,
        keyring: &mut Keyring,
    ) -> Option<Vec<u8>> {
        if self.trying.is_none() {
            let pair_key = introduction.identity.pair_key(peer.1)?;
            let attempts = VecDeque::new();
            self.trying =
                Some(Trying { since: now, sent: 0, send_at: now, pair_key, cookie: None, attempts });
        }
        let trying = self.trying.as_mut()?;
        if trying.attempts.back().is_none_or(|attempt| now >= attempt.since + trying.attempt_lasts(now)) {
            let before = trying.attempts.back().map(|attempt| &*attempt.network);
            let network = introduction.identity.network_after(before).clone();
            self.begin_attempt(now, (introduction, network), peer, rng, keyring)?;
        }
        self.letter(now, rng)
    }

    fn begin_attempt(
        &mut self,
        now: Duration,
        (introduction, network): (&Introduction<'_>, Arc<Network>),
        (index, peer): (usize, &PublicKey),
        rng: &mut impl Rng,
        keyring: &mut Keyring,
    ) -> Option<()> {
        self.begun += 1;
        self.across_boots = self.across_boots.saturating_add(1);
        let local_id = keyring.allocate(rng, index);
        let hello = introduction.hello(self.begun, self.across_boots, local_id);
        let Ok((state, noise)) = introduction.identity.initiate(&network, peer, &hello, rng) else {
            keyring.release(local_id);
            self.stop(keyring);
            return None;
        };
        let attempts = &mut self.trying.as_mut()?.attempts;
        if attempts.len() == MAX_ATTEMPTS
            && let Some(oldest) = attempts.pop_front()
        {
            keyring.release(oldest.local_id);
        }
        let (mark, challenges) = ([0; MARK_BYTES], 0);
        attempts.push_back(Attempt { network, state, noise, mark, local_id, hello, since: now, challenges });
        Some(())
    }

    /// The newest attempt's initiation.
    fn letter(&mut self, now: Duration, rng: &mut impl Rng) -> Option<Vec<u8>> {
        let is_awaited = now < self.awaited_until;
        let trying = self.trying.as_mut()?;
        let soon = SOON.get(trying.sent).filter(|_| is_awaited);
        let wait = soon.copied().unwrap_or_else(|| trying.wait(now));
        trying.sent += 1;
        trying.send_at = now + wait + wait.mul_f64(rng.random_range(0.0..0.25));
        trying.cookie = trying.cookie.filter(|(_, since)| now < *since + COOKIE_LASTS);
        let cookie = trying.cookie.as_ref().map(|(cookie, _)| cookie);
        let attempt = trying.attempts.back_mut()?;
        let mut letter = Vec::new();
        attempt.mark = attempt.network.mark_initiation(attempt.local_id, &attempt.noise, cookie, &mut letter);
        Some(letter)
    }

    /// Takes a challenge to the newest attempt, if it is that: the unit to send at once. `introduce` is
    /// called if the peer has confirmed a higher number than this node's newest.
    pub fn challenged<'a>(
        &mut self,
        now: Duration,
        introduce: impl FnOnce() -> Introduction<'a>,
        peer: (usize, &PublicKey),
        unit: &Unit<'_>,
        rng: &mut impl Rng,
        keyring: &mut Keyring,
    ) -> Option<Vec<u8>> {
        let trying = self.trying.as_mut()?;
        let attempt = trying.attempts.back_mut()?;
        let is_its = attempt.local_id == unit.key_id && attempt.challenges < MAX_CHALLENGES;
        if !is_its {
            return None;
        }
        match challenge::open(attempt.network.cookie_key(), &trying.pair_key, attempt.mark, unit)? {
            Asked::Cookie(cookie) => {
                attempt.challenges += 1;
                trying.cookie = Some((cookie, now));
            }
            Asked::NumberAbove(newest) => {
                let (challenges, network) = (attempt.challenges + 1, attempt.network.clone());
                self.across_boots = self.across_boots.max(newest);
                self.begin_attempt(now, (&introduce(), network), peer, rng, keyring)?;
                self.trying.as_mut()?.attempts.back_mut()?.challenges = challenges;
            }
        }
        self.letter(now, rng)
    }

    /// Takes the response to an initiation of ours, if it is that. A response that does not verify changes
    /// nothing: Noise leaves the state as it was.
    pub fn finish(
        &mut self,
        identity: &Identity,
        unit: &Unit<'_>,
        keyring: &mut Keyring,
    ) -> Result<Option<Answered>, Refused> {
        let attempts = self.trying.iter_mut().flat_map(|trying| &mut trying.attempts);
        let Some(attempt) = attempts.into_iter().find(|attempt| attempt.local_id == unit.key_id) else {
            return Ok(None);
        };
        let (remote_id, hello, keys) = identity.finish((&mut attempt.state, &attempt.network), unit)?;
        let (local_id, own, network) = (attempt.local_id, attempt.hello, attempt.network.clone());
        for attempt in self.trying.take().into_iter().flat_map(|trying| trying.attempts) {
            if attempt.local_id != local_id {
                keyring.release(attempt.local_id);
            }
        }
        Ok(Some(Answered { ids: (local_id, remote_id), hellos: (own, hello), keys, network }))
    }

    /// Whether it is to be told that a response is under another pre-shared key: not with every one.
    pub fn may_complain(&mut self, now: Duration) -> bool {
        let may = self.complained.is_none_or(|before| now >= before + COMPLAIN_EVERY);
        if may {
            self.complained = Some(now);
        }
        may
    }

    /// Gives up a handshake that nobody answers, unless it is to go on for ever. Whether it did.
    pub fn give_up(&mut self, now: Duration, persistent: bool, keyring: &mut Keyring) -> bool {
        let over = !persistent && self.trying_since().is_some_and(|since| now >= since + GIVE_UP_AFTER);
        if over {
            self.stop(keyring);
        }
        over
    }

    /// Gives up the handshake that is under way, if there is one.
    pub fn stop(&mut self, keyring: &mut Keyring) {
        for attempt in self.trying.take().into_iter().flat_map(|trying| trying.attempts) {
            keyring.release(attempt.local_id);
        }
    }
}

impl Trying {
    fn wait(&self, now: Duration) -> Duration {
        let tried = now.saturating_sub(self.since);
        if tried < EAGER_FOR { EAGER_WAIT } else { (tried / 8).clamp(WAITS[0], WAITS[1]) }
    }

    fn attempt_lasts(&self, now: Duration) -> Duration {
        (now.saturating_sub(self.since) / 4).clamp(ATTEMPT_LASTS[0], ATTEMPT_LASTS[1])
    }
}
