//! How the node comes to sessions: handshakes that it begins and answers, and resets from and for those who
//! hold keys that are not known any more.

use super::Node;
use crate::config::Config;
use crate::handshake::Refused;
use crate::link::{capabilities, store_kib};
use crate::peer::Peer;
use crate::sessions::Introduction;
use std::net::SocketAddr;
use std::time::Duration;
use wire::hello::Hello;
use wire::unit::{self, Kind, Unit};

/// Handshake messages and resets that wait to be sent.
const MAX_LETTERS: usize = 256;

impl Node {
    pub(super) fn handle_initiation(&mut self, now: Duration, from: SocketAddr, unit: &Unit<'_>) {
        if !self.handshakes.take(now) {
            self.refused.handshake_rate += 1;
            return;
        }
        let (key, hello, state) = match self.identity.hear(unit, &mut self.rng) {
            Ok(heard) => heard,
            Err(why) => return self.refuse_handshake(why),
        };
        let Some(index) = self.peers.iter().position(|peer| peer.config.public_key == key) else {
            self.refused.handshake_stranger += u64::from(!self.keyring.shard().is_elsewhere(&key));
            return;
        };
        if !self.peers[index].sessions.is_new(&hello) {
            self.refused.replay += 1;
            return;
        }
        let local_id = self.keyring.allocate(&mut self.rng, index);
        let introduction =
            Introduction { identity: &self.identity, hello: own_hello(&self.config, self.boot) };
        let sessions = &mut self.peers[index].sessions;
        let (id, keyring) = (unit.key_id, &mut self.keyring);
        match sessions.respond(now, &introduction, (hello, state), id, local_id, keyring) {
            Ok(letter) => self.post(from, letter),
            Err(why) => self.refuse_handshake(why),
        }
    }

    pub(super) fn handle_response(&mut self, now: Duration, from: SocketAddr, unit: &Unit<'_>) {
        let Some(index) = self.keyring.owner(unit.key_id) else {
            self.refused.unknown_key += 1;
            return;
        };
        let peer = &mut self.peers[index];
        match peer.sessions.finish(now, &self.identity, unit, &mut self.keyring) {
            Ok(Some(local_id)) => {
                peer.endpoint = Some(from);
                peer.use_session(now, local_id, &mut outside!(self));
                // the first sealed unit tells the responder that these keys are in use
                peer.ping_at = Some(now);
            }
            Ok(None) => self.refused.replay += 1,
            Err(why) => self.refuse_handshake(why),
        }
    }

    fn refuse_handshake(&mut self, why: Refused) {
        match why {
            Refused::Malformed => self.refused.malformed += 1,
            Refused::Mark => self.refused.handshake_mark += 1,
            Refused::Authentication => self.refused.authentication += 1,
        }
    }

    /// Tells whoever used `key_id` that it is not known; never with more bytes than came.
    pub(super) fn send_reset(&mut self, now: Duration, to: SocketAddr, key_id: u32, came_bytes: usize) {
        let mut letter = Vec::new();
        unit::emit_header(Kind::Reset, key_id, None, &mut letter);
        wire::reset::emit(self.identity.reset_token(key_id), &mut letter);
        if letter.len() < came_bytes && self.resets.take(now) {
            self.post(to, letter);
        }
    }

    /// A peer does not know a key of ours any more: shake hands at once. The session stays until then.
    pub(super) fn handle_reset(&mut self, now: Duration, unit: &Unit<'_>) {
        let token = wire::reset::parse(unit.body).ok();
        let shown = |peer: &Peer| {
            let session = peer.sessions.by_remote_id(unit.key_id)?;
            (token == Some(session.hello.reset_token)).then_some(())
        };
        match self.peers.iter().position(|peer| shown(peer).is_some()) {
            Some(index) if !self.peers[index].sessions.is_shaking_hands() => self.initiate(now, index),
            Some(_) => {}
            None => self.refused.unknown_key += 1,
        }
    }

    /// Begins a handshake with a peer whose address is known, or tries again.
    pub(super) fn initiate(&mut self, now: Duration, index: usize) {
        let Some(to) = self.peers[index].endpoint else { return };
        let local_id = self.keyring.allocate(&mut self.rng, index);
        let introduction =
            Introduction { identity: &self.identity, hello: own_hello(&self.config, self.boot) };
        let Peer { sessions, config, .. } = &mut self.peers[index];
        let keyring = &mut self.keyring;
        if let Some(letter) = sessions.initiate(now, &introduction, config, local_id, &mut self.rng, keyring)
        {
            self.post(to, letter);
        }
    }

    fn post(&mut self, to: SocketAddr, letter: Vec<u8>) {
        if self.letters.len() < MAX_LETTERS {
            self.letters.push_back((to, letter));
        }
    }
}

fn own_hello(config: &Config, boot: u64) -> Hello {
    Hello {
        oldest_version: *config.versions.start(),
        newest_version: *config.versions.end(),
        boot,
        number: 0,
        store_kib: store_kib(&config.reduce),
        capabilities: capabilities(config),
        window_bytes: u8::try_from(config.reduce.window_bytes).unwrap_or(u8::MAX),
        sample_bits: u8::try_from(config.reduce.sample_bits).unwrap_or(u8::MAX),
        reset_token: [0; wire::reset::RESET_TOKEN_BYTES],
    }
}
