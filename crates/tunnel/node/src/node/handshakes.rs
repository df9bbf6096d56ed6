//! How the node comes to sessions: handshakes that it begins and answers, and resets from and for those who
//! hold keys that are not known any more.

use super::Node;
use crate::config::Config;
use crate::event::Event;
use crate::keys::{NetworkKey, PublicKey};
use crate::peer::{capabilities, store_kib};
use crate::session::admission::{Answer, Letter};
use crate::session::challenge;
use crate::session::handshake::{Identity, Marked, Refused};
use crate::session::initiator::Introduction;
use crate::session::sessions::Verdict;
use re::Policy;
use std::net::SocketAddr;
use std::time::Duration;
use wire::hello::{DRAFT, Hello, Second};
use wire::unit::{self, Kind, Unit};

/// Handshake messages and resets that wait to be sent.
const MAX_LETTERS: usize = 256;

impl Node {
    pub(super) fn handle_initiation(&mut self, now: Duration, from: SocketAddr, unit: &Unit<'_>) {
        let initiation = match self.identity.check_initiation(unit) {
            Ok(initiation) => initiation,
            Err(why) => return self.refuse_handshake(why),
        };
        let answers = &self.admission.answers;
        let is_answered = answers.has(initiation.mark);
        // a repetition costs no keyed hashes of cookies, unless a cookie is what it was asked for
        let may_use_cookie = !is_answered || answers.awaits_cookie(initiation.mark);
        let has_cookie = may_use_cookie
            && initiation.cookie_mark.is_some_and(|mark| {
                let cookies = &self.admission.cookies;
                cookies.accept(now, from, mark, &[initiation.header, initiation.noise])
            });
        if is_answered && !has_cookie {
            return self.answer_again(now, from, (unit.key_id, &initiation));
        }
        if !self.admission.admit(now, from.ip(), has_cookie) {
            self.refused.handshake_rate += 1;
            if !has_cookie {
                self.give_cookie(now, from, (unit.key_id, &initiation));
            }
            return;
        }
        let answer = self.answer_initiation((now, from), unit.key_id, &initiation, has_cookie);
        if let Some(answer) = &answer {
            self.peers[answer.peer].count_received(from, unit.header.len() + unit.body.len());
            self.post_answer((now, from), (unit.key_id, &initiation), answer);
        }
        self.admission.answers.note(initiation.mark, answer);
    }

    /// Decrypts an initiation, and says what it is answered, if anything.
    fn answer_initiation(
        &mut self,
        (now, first_from): (Duration, SocketAddr),
        remote_id: u32,
        initiation: &Marked<'_>,
        has_cookie: bool,
    ) -> Option<Answer> {
        let given = (now, 0);
        let heard = match self.identity.hear(initiation, &mut self.rng) {
            Ok(heard) => heard,
            Err(why) => {
                if why == Refused::Authentication {
                    self.tell_of_other_key(now, first_from);
                }
                self.refuse_handshake(why);
                return None;
            }
        };
        let Some(index) = self.by_public_key.get(&heard.from).copied() else {
            if !self.ctx.keyring.shard().is_elsewhere(&heard.from) {
                self.refused.handshake_stranger += 1;
                self.tell_of_stranger(now, heard.from, first_from);
            }
            return None;
        };
        if self.peers[index].is_revoked() {
            self.refused.handshake_revoked += 1;
            return None;
        }
        match self.peers[index].sessions().judge(&heard.hello) {
            Verdict::New => {}
            Verdict::Repeated => {
                self.refused.replay += 1;
                return None;
            }
            Verdict::NotAbove(newest) => {
                self.refused.replay += 1;
                let pair_key = self.identity.pair_key(&heard.from)?;
                let asked = (remote_id, initiation.mark);
                let letter = Letter::Unit(challenge::tell_number(&pair_key, asked, newest, &mut self.rng));
                return Some(Answer { peer: index, session: None, letter, first_from, given });
            }
        }
        if !has_cookie && self.peers[index].sessions().is_crowded_for(&heard.hello) {
            return Some(Answer { peer: index, session: None, letter: Letter::Cookie, first_from, given });
        }
        let local_id = self.ctx.keyring.allocate(&mut self.rng, index);
        let boot = self.peers[index].boot_for_answer(heard.hello.boot);
        let hello = own_hello(&self.ctx.config, boot);
        let introduction = Introduction { identity: &self.identity, hello };
        let sessions = self.peers[index].sessions_mut();
        let keyring = &mut self.ctx.keyring;
        match sessions.respond(now, &introduction, heard, remote_id, local_id, keyring) {
            Ok(unit) => {
                let (session, letter) = (Some(local_id), Letter::Unit(unit));
                Some(Answer { peer: index, session, letter, first_from, given })
            }
            Err(why) => {
                self.refuse_handshake(why);
                None
            }
        }
    }

    /// Tells of a node that is no peer. Only holders of the network's key come so far, and one may be told of
    /// in a minute, whoever they are.
    fn tell_of_stranger(&mut self, now: Duration, key: PublicKey, from: SocketAddr) {
        if self.ctx.keyring.shard().is_first() && self.strangers.is_told(now) {
            self.ctx.events.push(Event::Stranger { key, from });
        }
    }

    /// Tells of a node that takes this one for another: it has the network's key, and not this node's.
    fn tell_of_other_key(&mut self, now: Duration, from: SocketAddr) {
        if self.ctx.keyring.shard().is_first() && self.misaddressed.is_told(now) {
            let own = self.ctx.config.private_key.public();
            self.ctx.events.push(Event::Misaddressed { own, from });
        }
    }

    /// An initiation came again: its sender gets the lost answer once more, and the session stays.
    fn answer_again(&mut self, now: Duration, from: SocketAddr, asked: (u32, &Marked<'_>)) {
        self.refused.handshake_repeated += 1;
        let peers = &self.peers;
        let is_known = |answer: &Answer| peers[answer.peer].address() == Some(from);
        let answer = self.admission.answer_again(now, from, asked.1.mark, is_known);
        let is_open = |answer: &&Answer| {
            let peer = &peers[answer.peer];
            !peer.is_revoked() && answer.session.is_none_or(|session| peer.sessions().is_unconfirmed(session))
        };
        if let Some(answer) = answer.filter(is_open).cloned() {
            self.post_answer((now, from), asked, &answer);
        }
    }

    fn post_answer(&mut self, (now, to): (Duration, SocketAddr), asked: (u32, &Marked<'_>), answer: &Answer) {
        if let Some(session) = answer.session {
            self.peers[answer.peer].sessions_mut().note_answer(session, to);
        }
        match &answer.letter {
            Letter::Unit(unit) => self.post_to_peer(answer.peer, to, unit.clone()),
            Letter::Cookie => self.post_cookie(now, to, asked),
        }
    }

    /// Gives a cookie, if it may.
    fn give_cookie(&mut self, now: Duration, from: SocketAddr, asked: (u32, &Marked<'_>)) {
        // all shards hear it, and make the same cookies
        if self.ctx.keyring.shard().is_first() && self.admission.may_give_cookie(now) {
            self.post_cookie(now, from, asked);
        }
    }

    /// Sends a cookie, which is fewer bytes than came.
    fn post_cookie(&mut self, now: Duration, to: SocketAddr, (key_id, initiation): (u32, &Marked<'_>)) {
        let cookie = self.admission.cookies.of(now, to);
        let (key, asked) = (initiation.network.cookie_key(), (key_id, initiation.mark));
        let unit = challenge::give_cookie(key, asked, cookie, &mut self.rng);
        self.refused.handshake_challenged += 1;
        let _ = self.post(to, unit);
    }

    /// A peer asks for more before it answers our initiation.
    pub(super) fn handle_challenge(&mut self, now: Duration, unit: &Unit<'_>) {
        let index = self.ctx.keyring.owner(unit.key_id);
        let Some((index, to)) = index.and_then(|index| Some((index, self.peers[index].address()?))) else {
            self.refused.unknown_key += 1;
            return;
        };
        let introduce =
            |boot| Introduction { identity: &self.identity, hello: own_hello(&self.ctx.config, boot) };
        let (rng, keyring) = (&mut self.rng, &mut self.ctx.keyring);
        match self.peers[index].challenged(now, introduce, unit, rng, keyring) {
            Some(letter) => self.post_to_peer(index, to, letter),
            None => self.refused.authentication += 1,
        }
    }

    pub(super) fn handle_response(&mut self, now: Duration, from: SocketAddr, unit: &Unit<'_>) {
        let Some(index) = self.ctx.keyring.owner(unit.key_id) else {
            self.refused.unknown_key += 1;
            return;
        };
        let peer = &mut self.peers[index];
        match peer.sessions_mut().finish(now, &self.identity, unit, &mut self.ctx.keyring) {
            Ok(Some(local_id)) => {
                peer.count_received(from, unit.header.len() + unit.body.len());
                // where it came from nothing proves: the first sealed unit does
                peer.use_session(now, local_id, &mut self.ctx);
                // the first sealed unit tells the responder that these keys are in use
                peer.ping(now);
            }
            Ok(None) => self.refused.replay += 1,
            Err(why) => {
                if why == Refused::PresharedKey && peer.sessions_mut().initiator_mut().may_complain(now) {
                    self.ctx.events.push(Event::OtherPresharedKey { peer: peer.name().to_owned() });
                }
                self.refuse_handshake(why);
            }
        }
    }

    fn refuse_handshake(&mut self, why: Refused) {
        match why {
            Refused::Malformed => self.refused.malformed += 1,
            Refused::Mark => self.refused.handshake_mark += 1,
            Refused::Authentication => self.refused.authentication += 1,
            Refused::PresharedKey => self.refused.handshake_preshared_key += 1,
        }
    }

    /// Tells the sender of a unit under `key_id` that the key is unknown; never with more bytes than came.
    pub(super) fn send_reset(&mut self, now: Duration, to: SocketAddr, key_id: u32, came_bytes: usize) {
        let mut letter = Vec::new();
        unit::emit_header(Kind::Reset, key_id, None, &mut letter);
        wire::reset::emit(self.identity.reset_token(key_id), &mut letter);
        if letter.len() < came_bytes && self.resets.take(now) {
            let _ = self.post(to, letter);
        }
    }

    /// A peer does not know a key of ours any more: shake hands at once. The session stays until then.
    pub(super) fn handle_reset(&mut self, now: Duration, unit: &Unit<'_>) {
        let token = wire::reset::parse(unit.body).ok();
        let owners =
            token.map(|token| self.ctx.keyring.owners_by_reset((unit.key_id, token)).collect::<Vec<_>>());
        let owners = owners.unwrap_or_default();
        self.refused.unknown_key += u64::from(owners.is_empty());
        for index in owners {
            if !self.peers[index].sessions().is_shaking_hands() {
                self.initiate(now, index);
            }
        }
    }

    /// Begins a handshake with a peer whose address is known, or tries again.
    pub(super) fn initiate(&mut self, now: Duration, index: usize) {
        let Some(to) = self.peers[index].address() else { return };
        let hello = own_hello(&self.ctx.config, self.peers[index].boot());
        let introduction = Introduction { identity: &self.identity, hello };
        let (public_key, initiator) = self.peers[index].initiator_mut();
        let (peer, rng, keyring) = ((index, public_key), &mut self.rng, &mut self.ctx.keyring);
        if let Some(letter) = initiator.initiate(now, &introduction, peer, rng, keyring) {
            self.post_to_peer(index, to, letter);
        }
    }

    /// The network has another key from now on, and had `previous` before. Sessions stay; handshakes follow.
    /// Among several gateways the group begins anew: the key of its addresses follows from the network's key.
    pub fn set_network_keys(&mut self, now: Duration, key: NetworkKey, previous: Option<NetworkKey>) {
        let is_new = key != self.ctx.config.network_key;
        self.ctx.config.network_key = key;
        self.ctx.config.previous_network_key = previous;
        self.identity = Identity::of(&self.ctx.config);
        if is_new {
            self.renew_addresses(now);
        }
    }

    /// Ends all that there is with a peer, and refuses its handshakes from now on. Whether it is known here.
    pub fn revoke(&mut self, now: Duration, key: &PublicKey) -> bool {
        let Some(index) = self.by_public_key.get(key).copied() else { return false };
        self.ctx.config.revoked.insert(*key);
        self.peers[index].revoke(now, &mut self.ctx);
        self.ctx.events.push(Event::Revoked { peer: self.peers[index].name().to_owned() });
        true
    }

    /// Posts a message of a handshake, and counts it as the peer's.
    fn post_to_peer(&mut self, index: usize, to: SocketAddr, letter: Vec<u8>) {
        let bytes = letter.len();
        if self.post(to, letter) {
            self.peers[index].count_sent(to, bytes);
        }
    }

    /// Whether there is room for the letter.
    fn post(&mut self, to: SocketAddr, letter: Vec<u8>) -> bool {
        let has_room = self.letters.len() < MAX_LETTERS;
        if has_room {
            self.letters.push_back((to, letter));
        }
        has_room
    }
}

fn own_hello(config: &Config, boot: u64) -> Hello {
    Hello {
        oldest_version: *config.versions.start(),
        newest_version: *config.versions.end(),
        boot,
        number: 0,
        store_kib: store_kib(config),
        capabilities: capabilities(config),
        // without removal a peer need not keep what comes
        window_bytes: match config.reduce.policy {
            Policy::Off => 0,
            _ => u8::try_from(config.reduce.window_bytes).unwrap_or(u8::MAX),
        },
        sample_bits: u8::try_from(config.reduce.sample_bits).unwrap_or(u8::MAX),
        reset_token: [0; wire::reset::RESET_TOKEN_BYTES],
        second: (*config.versions.end() >= 2).then_some(Second { draft: DRAFT, across_boots: 0 }),
    }
}
