//! A peer's sessions, and the handshake that is under way with it.

use crate::session::handshake::{HeardInitiation, Identity, Keys, Network, Refused};
use crate::session::initiator::{Answered, Initiator, Introduction};
use crate::session::keyring::Keyring;
use crate::session::seal::Cipher;
use crate::session::transport::{REKEY_AFTER, Session};
use re::mac::PacketMac;
use std::net::SocketAddr;
use std::time::Duration;
use wire::hello::Hello;
use wire::unit::Unit;

/// Sessions of a kind that are kept at once: one in use and one before it, or the two asked for last.
const MAX_OF_A_KIND: usize = 2;
/// Addresses that are remembered of where a response went.
const MOST_ANSWERED: usize = 4;

/// Kinds of sessions; a session replaces one of its own kind only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The peer is known to have the keys.
    Confirmed,
    /// It asked for them under a number that rises across boots.
    Numbered,
    /// Somebody asked for them with what the peer has said at some time.
    Unnumbered,
}

impl Kind {
    fn of(session: &Session) -> Self {
        match session.hello.second {
            _ if session.confirmed => Kind::Confirmed,
            Some(_) => Kind::Numbered,
            None => Kind::Unnumbered,
        }
    }
}

/// The number across boots of the peer's initiation.
fn across_boots(session: &Session) -> Option<u64> {
    session.hello.second.map(|second| second.across_boots)
}

/// The sessions with one peer, the oldest first.
pub struct Sessions {
    list: Vec<Session>,
    sending: Option<u32>,
    initiator: Initiator,
    /// The highest number across boots of a session that the peer asked for and confirmed.
    newest: Option<u64>,
    /// The boot and number of the newest initiation that was confirmed, of a peer that has no such numbers.
    heard: Option<(u64, u32)>,
}

/// The decision on an authentic initiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Answer it.
    New,
    /// Say nothing: it was heard before.
    Repeated,
    /// Tell its sender to go on above this number.
    NotAbove(u64),
}

impl Sessions {
    /// None, of a peer with which this node's handshakes have numbers above `across_boots`.
    #[must_use]
    pub fn new(across_boots: u64) -> Self {
        let initiator = Initiator::above(across_boots);
        Sessions { list: Vec::new(), sending: None, initiator, newest: None, heard: None }
    }

    /// The session to send under.
    pub fn sending(&mut self, now: Duration) -> Option<&mut Session> {
        let id = self.sending?;
        self.list.iter_mut().find(|session| session.local_id == id && session.is_usable(now))
    }

    /// The session that the peer names so.
    pub fn by_id(&mut self, local_id: u32) -> Option<&mut Session> {
        self.list.iter_mut().find(|session| session.local_id == local_id)
    }

    /// The session that `proves` is satisfied with, and its MAC for what comes in.
    pub fn proving(&self, proves: impl Fn(&Session) -> bool) -> Option<(u32, PacketMac)> {
        let session = self.list.iter().find(|session| session.confirmed && proves(session))?;
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

    fn in_use(&self) -> Option<&Session> {
        self.list.iter().find(|session| Some(session.local_id) == self.sending)
    }

    /// Version of the session in use.
    #[must_use]
    pub fn version(&self) -> Option<u8> {
        self.in_use().map(|session| session.version)
    }

    /// What units of the session in use are sealed with.
    #[must_use]
    pub fn cipher(&self) -> Option<Cipher> {
        self.in_use().map(|session| session.cipher)
    }

    /// The network under whose key the session in use was agreed on.
    #[must_use]
    pub fn network(&self) -> Option<&Network> {
        self.in_use().map(|session| &*session.network)
    }

    /// The handshake that this node begins, if one is under way.
    #[must_use]
    pub fn initiator(&self) -> &Initiator {
        &self.initiator
    }

    /// The same, to be driven.
    pub fn initiator_mut(&mut self) -> &mut Initiator {
        &mut self.initiator
    }

    /// Whether a handshake is under way.
    #[must_use]
    pub fn is_shaking_hands(&self) -> bool {
        self.initiator.is_trying()
    }

    /// Whether the session `local_id` waits for the peer's first unit.
    #[must_use]
    pub fn is_unconfirmed(&self, local_id: u32) -> bool {
        self.list.iter().any(|session| session.local_id == local_id && !session.confirmed)
    }

    /// When the keys in use are due to be replaced by a handshake of ours.
    #[must_use]
    pub fn rekey_at(&self) -> Option<Duration> {
        let session = self.in_use()?;
        // the responder steps in only if the initiator does not
        let grace = if session.initiator { Duration::ZERO } else { Duration::from_secs(30) };
        Some(session.established + REKEY_AFTER + grace)
    }

    /// Takes the response to our initiation, if it is that. The new session's id.
    pub fn finish(
        &mut self,
        now: Duration,
        identity: &Identity,
        unit: &Unit<'_>,
        keyring: &mut Keyring,
    ) -> Result<Option<u32>, Refused> {
        let Some(answered) = self.initiator.finish(identity, unit, keyring)? else { return Ok(None) };
        let Answered { ids: (local_id, remote_id), hellos: (own, hello), keys, network } = answered;
        let keys = (keys, network);
        self.add(Session::new(keys, local_id, remote_id, (&own, hello), true, now), keyring);
        Ok(Some(local_id))
    }

    /// The decision on an authentic initiation with this hello. For a peer that numbers its handshakes across
    /// boots, only a number above the newest confirmed one is new. A recording that nobody confirms raises
    /// nothing, so it keeps no peer off whose number is lower. The number told is above those that wait, too.
    #[must_use]
    pub fn judge(&self, hello: &Hello) -> Verdict {
        match (hello.second, self.newest) {
            (Some(second), Some(newest)) if second.across_boots <= newest => {
                let waiting = self.list.iter().filter(|session| Kind::of(session) == Kind::Numbered);
                Verdict::NotAbove(waiting.filter_map(across_boots).fold(newest, u64::max))
            }
            (Some(_), _) => Verdict::New,
            (None, _) => match self.heard {
                Some((boot, number)) if hello.boot == boot && hello.number <= number => Verdict::Repeated,
                _ => Verdict::New,
            },
        }
    }

    /// Whether a session of such an initiation would replace a waiting one. The initiator must then show its
    /// presence: recordings of higher numbers would crowd out a peer with a lower number.
    #[must_use]
    pub fn is_crowded_for(&self, hello: &Hello) -> bool {
        let waiting = self.list.iter().filter(|session| Kind::of(session) == Kind::Numbered).count();
        hello.second.is_some() && waiting == MAX_OF_A_KIND
    }

    /// The response of the session `local_id`, which waits for the peer's first unit, goes to `to`.
    pub fn note_answer(&mut self, local_id: u32, to: SocketAddr) {
        if let Some(session) = self.by_id(local_id)
            && session.answered_to.len() < MOST_ANSWERED
            && !session.answered_to.contains(&to)
        {
            session.answered_to.push(to);
        }
    }

    /// Answers an initiation; the unit to send.
    pub fn respond(
        &mut self,
        now: Duration,
        introduction: &Introduction<'_>,
        heard: HeardInitiation,
        remote_id: u32,
        local_id: u32,
        keyring: &mut Keyring,
    ) -> Result<Vec<u8>, Refused> {
        let HeardInitiation { hello, state, network, .. } = heard;
        let own = introduction.hello(0, 0, local_id);
        let mut letter = Vec::new();
        let keys: Keys = introduction
            .identity
            .respond((state, &network), local_id, remote_id, &own, &mut letter)
            .inspect_err(|_| keyring.release(local_id))?;
        let keys = (keys, network);
        self.add(Session::new(keys, local_id, remote_id, (&own, hello), false, now), keyring);
        Ok(letter)
    }

    /// Adds a session. It replaces an older one of its kind. It does not replace the session in use. Where
    /// the peer numbers its handshakes, a recording does not replace a session that the peer has just
    /// requested.
    fn add(&mut self, session: Session, keyring: &mut Keyring) {
        self.make_room(Kind::of(&session), MAX_OF_A_KIND - 1, keyring);
        keyring.reset_by(session.local_id, (session.remote_id, session.hello.reset_token));
        self.list.push(session);
    }

    /// Ends the oldest sessions of a kind that are not in use, until there are `most`.
    fn make_room(&mut self, kind: Kind, most: usize, keyring: &mut Keyring) {
        let (same, sending) = (|it: &Session| Kind::of(it) == kind, self.sending);
        while self.list.iter().filter(|it| same(it)).count() > most
            && let Some(victim) = self.list.iter().position(|it| same(it) && Some(it.local_id) != sending)
        {
            keyring.release(self.list.remove(victim).local_id);
        }
    }

    /// The living peer shares the session `local_id`: sends use it from now on. Sessions with an earlier boot
    /// of the peer end. So do sessions from its earlier initiations: an attacker that withheld their first
    /// unit would end this session with it.
    pub fn use_session(&mut self, local_id: u32, keyring: &mut Keyring) {
        let Some(session) = self.list.iter_mut().find(|session| session.local_id == local_id) else {
            return;
        };
        session.confirmed = true;
        let (boot, number, is_asked_for) = (session.hello.boot, session.hello.number, !session.initiator);
        if is_asked_for {
            self.newest = self.newest.max(across_boots(session));
            let before = self.heard.filter(|heard| heard.0 == boot).map_or(0, |heard| heard.1);
            self.heard = Some((boot, number.max(before)));
        }
        self.sending = Some(local_id);
        self.make_room(Kind::Confirmed, MAX_OF_A_KIND, keyring);
        let mut is_older = is_asked_for;
        self.list.retain(|session| {
            is_older &= session.local_id != local_id;
            let stays = match Kind::of(session) {
                Kind::Confirmed => session.hello.boot == boot,
                Kind::Numbered => !is_older,
                Kind::Unnumbered => true,
            };
            if !stays {
                keyring.release(session.local_id);
            }
            stays
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
        self.list.iter().map(|session| session.established + crate::session::transport::REJECT_AFTER).min()
    }

    /// Ends every session.
    pub fn end(&mut self, keyring: &mut Keyring) {
        for session in self.list.drain(..) {
            keyring.release(session.local_id);
        }
        self.sending = None;
    }
}
