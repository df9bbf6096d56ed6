//! A peer's sessions, and the handshake that is under way with it.

use crate::config::PeerConfig;
use crate::handshake::{Identity, Keys};
use crate::keyring::Keyring;
use crate::session::{REKEY_AFTER, Session};
use rand::{Rng, RngExt};
use re::mac::PacketMac;
use snow::HandshakeState;
use std::time::Duration;
use wire::hello::Hello;

/// Sessions kept at once: one in use, one before it, and room for handshakes not confirmed yet.
const MAX_SESSIONS: usize = 4;
/// The wait after the first unanswered initiation; doubled up to the longest.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(8);
/// Without a keepalive, an unanswered handshake is given up after this.
const GIVE_UP_AFTER: Duration = Duration::from_secs(90);

/// An initiation that waits for its response.
struct Pending {
    state: HandshakeState,
    local_id: u32,
    hello: Hello,
    started: Duration,
    retry_at: Duration,
    attempt: u32,
}

/// The sessions with one peer.
#[derive(Default)]
pub struct Sessions {
    list: Vec<Session>,
    sending: Option<u32>,
    pending: Option<Pending>,
    handshakes: u32,
    heard: Option<(u64, u32)>,
}

/// What a handshake needs to know of the node.
pub struct Introduction<'a> {
    /// Who the node is.
    pub identity: &'a Identity,
    /// What it says of itself; number and reset token are filled in.
    pub hello: Hello,
}

impl Introduction<'_> {
    fn hello(&self, number: u32, local_id: u32) -> Hello {
        Hello { number, reset_token: self.identity.reset_token(local_id), ..self.hello }
    }
}

impl Sessions {
    /// The session to send under.
    pub fn sending(&mut self, now: Duration) -> Option<&mut Session> {
        let id = self.sending?;
        self.list.iter_mut().find(|session| session.local_id == id && session.is_usable(now))
    }

    /// The session that the peer names so.
    pub fn by_id(&mut self, local_id: u32) -> Option<&mut Session> {
        self.list.iter_mut().find(|session| session.local_id == local_id)
    }

    /// The session that we name so to the peer.
    #[must_use]
    pub fn by_remote_id(&self, remote_id: u32) -> Option<&Session> {
        self.list.iter().find(|session| session.remote_id == remote_id)
    }

    /// The session with whose MAC for what comes in `proves` is satisfied, and that MAC.
    pub fn proving(&self, proves: impl Fn(&PacketMac) -> bool) -> Option<(u32, PacketMac)> {
        let session = self.list.iter().find(|session| session.confirmed && proves(&session.receive_mac))?;
        Some((session.local_id, session.receive_mac.clone()))
    }

    /// When the session in use was established.
    #[must_use]
    pub fn established(&self) -> Option<Duration> {
        self.list
            .iter()
            .find(|session| Some(session.local_id) == self.sending)
            .map(|session| session.established)
    }

    /// What the session in use speaks.
    #[must_use]
    pub fn version(&self) -> Option<u8> {
        let session = self.list.iter().find(|session| Some(session.local_id) == self.sending)?;
        Some(session.version)
    }

    /// Whether a handshake is under way.
    #[must_use]
    pub fn is_shaking_hands(&self) -> bool {
        self.pending.is_some()
    }

    /// When the keys in use are due to be replaced by a handshake of ours.
    #[must_use]
    pub fn rekey_at(&self) -> Option<Duration> {
        let session = self.list.iter().find(|session| Some(session.local_id) == self.sending)?;
        // the responder steps in only if the initiator does not
        let grace = if session.initiator { Duration::ZERO } else { Duration::from_secs(30) };
        Some(session.established + REKEY_AFTER + grace)
    }

    /// Begins a handshake, or begins it again; the message to send, if there can be one.
    pub fn initiate(
        &mut self,
        now: Duration,
        introduction: &Introduction<'_>,
        peer: &PeerConfig,
        local_id: u32,
        rng: &mut impl Rng,
        keyring: &mut Keyring,
    ) -> Option<Vec<u8>> {
        let (started, attempt) = match self.pending.take() {
            Some(pending) => {
                keyring.release(pending.local_id);
                (pending.started, pending.attempt + 1)
            }
            None => (now, 0),
        };
        self.handshakes += 1;
        let hello = introduction.hello(self.handshakes, local_id);
        let mut letter = Vec::new();
        match introduction.identity.initiate(&peer.public_key, local_id, &hello, rng, &mut letter) {
            Ok(state) => {
                let wait = (FIRST_RETRY * (1 << attempt.min(3))).min(LONGEST_RETRY);
                let retry_at = now + wait + Duration::from_millis(rng.random_range(0..300));
                self.pending = Some(Pending { state, local_id, hello, started, retry_at, attempt });
                Some(letter)
            }
            Err(_) => {
                // the peer's configured key is no point on the curve: no handshake will ever succeed
                keyring.release(local_id);
                None
            }
        }
    }

    /// When the pending handshake began.
    #[must_use]
    pub fn shaking_since(&self) -> Option<Duration> {
        self.pending.as_ref().map(|pending| pending.started)
    }

    /// When the pending handshake is to be tried again.
    #[must_use]
    pub fn retry_at(&self) -> Option<Duration> {
        self.pending.as_ref().map(|pending| pending.retry_at)
    }

    /// Gives up a handshake that nobody answers, unless it is to go on for ever. Whether it did.
    pub fn give_up(&mut self, now: Duration, persistent: bool, keyring: &mut Keyring) -> bool {
        let over = !persistent
            && self.pending.as_ref().is_some_and(|pending| now >= pending.started + GIVE_UP_AFTER);
        if over && let Some(pending) = self.pending.take() {
            keyring.release(pending.local_id);
        }
        over
    }

    /// Takes the response to our initiation, if it is that. The new session's id.
    pub fn finish(
        &mut self,
        now: Duration,
        identity: &Identity,
        unit: &wire::unit::Unit<'_>,
        keyring: &mut Keyring,
    ) -> Result<Option<u32>, crate::handshake::Refused> {
        // Noise leaves the state as it was when a message does not verify: a forged response does no harm
        let Some(pending) = self.pending.as_mut().filter(|pending| pending.local_id == unit.key_id) else {
            return Ok(None);
        };
        let (remote_id, hello, keys) = identity.finish(&mut pending.state, unit)?;
        let (local_id, own) = (pending.local_id, pending.hello);
        self.pending = None;
        self.add(Session::new(keys, local_id, remote_id, (&own, hello), true, now), keyring);
        Ok(Some(local_id))
    }

    /// Whether an initiation with this hello may be answered: not one of the boot in use that was heard
    /// before.
    #[must_use]
    pub fn is_new(&self, hello: &Hello) -> bool {
        self.heard.is_none_or(|(boot, number)| hello.boot != boot || hello.number > number)
    }

    /// Answers an initiation; the message to send.
    pub fn respond(
        &mut self,
        now: Duration,
        introduction: &Introduction<'_>,
        heard: (Hello, HandshakeState),
        remote_id: u32,
        local_id: u32,
        keyring: &mut Keyring,
    ) -> Result<Vec<u8>, crate::handshake::Refused> {
        let (hello, state) = heard;
        let own = introduction.hello(0, local_id);
        let mut letter = Vec::new();
        let keys: Keys = introduction
            .identity
            .respond(state, local_id, remote_id, &own, &mut letter)
            .inspect_err(|_| keyring.release(local_id))?;
        self.add(Session::new(keys, local_id, remote_id, (&own, hello), false, now), keyring);
        Ok(letter)
    }

    fn add(&mut self, session: Session, keyring: &mut Keyring) {
        if self.list.len() == MAX_SESSIONS {
            // the oldest that is not in use, unconfirmed ones first
            let victim = (0..self.list.len())
                .filter(|&index| Some(self.list[index].local_id) != self.sending)
                .min_by_key(|&index| (self.list[index].confirmed, self.list[index].established))
                .unwrap_or(0);
            keyring.release(self.list.remove(victim).local_id);
        }
        self.list.push(session);
    }

    /// The session `local_id` is proven to be shared with the living peer: sends go under it from now on, and
    /// sessions with an earlier boot of the peer end.
    pub fn use_session(&mut self, local_id: u32, keyring: &mut Keyring) {
        let Some(session) = self.list.iter_mut().find(|session| session.local_id == local_id) else {
            return;
        };
        session.confirmed = true;
        let (boot, number) = (session.hello.boot, session.hello.number);
        if !session.initiator {
            let before = self.heard.filter(|heard| heard.0 == boot).map_or(0, |heard| heard.1);
            self.heard = Some((boot, number.max(before)));
        }
        self.sending = Some(local_id);
        self.list.retain(|session| {
            let same_boot = session.hello.boot == boot || !session.confirmed;
            if !same_boot {
                keyring.release(session.local_id);
            }
            same_boot
        });
    }

    /// Ends sessions whose keys are too old. Whether the one in use was among them.
    pub fn expire(&mut self, now: Duration, keyring: &mut Keyring) -> bool {
        self.list.retain(|session| {
            let usable = session.is_usable(now);
            if !usable {
                keyring.release(session.local_id);
            }
            usable
        });
        let lost = self.sending.is_some_and(|id| self.list.iter().all(|session| session.local_id != id));
        if lost {
            self.sending = None;
        }
        lost
    }

    /// When the next session's keys become too old.
    #[must_use]
    pub fn expire_at(&self) -> Option<Duration> {
        self.list.iter().map(|session| session.established + crate::session::REJECT_AFTER).min()
    }

    /// Ends every session.
    pub fn end(&mut self, keyring: &mut Keyring) {
        for session in self.list.drain(..) {
            keyring.release(session.local_id);
        }
        self.sending = None;
    }
}
