//! The handshake's cryptography: Noise IKpsk2, the mark that members make, the reset tokens.

mod network;

pub use network::Network;

use crate::config::Config;
use crate::keys::{PresharedKey, PrivateKey, PublicKey, curve25519};
use blake2::Blake2sMac;
use blake2::digest::consts::{U16, U32};
use blake2::digest::{KeyInit, Mac};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use snow::HandshakeState;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::handshake::{Initiation, InitiationWithCookie, MARK_BYTES, NOISE_NAME, Response};
use wire::hello::Hello;
use wire::reset::RESET_TOKEN_BYTES;
use wire::unit::{Kind, Unit, emit_header};
use zeroize::Zeroize;

/// Room for any handshake message with its hello.
const MESSAGE_BYTES: usize = 512;

/// An initiation with the network's mark, not decrypted yet.
#[derive(Clone)]
pub struct Marked<'a> {
    /// The network of the mark.
    pub network: Arc<Network>,
    /// The mark.
    pub mark: [u8; MARK_BYTES],
    /// The mark made with a cookie, if there is one.
    pub cookie_mark: Option<[u8; MARK_BYTES]>,
    /// The unit's header.
    pub header: &'a [u8],
    /// The Noise message.
    pub noise: &'a [u8],
}

/// Why a handshake message is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not of the form.
    #[error("malformed handshake")]
    Malformed,
    /// Not marked with the network's key.
    #[error("handshake without the network's mark")]
    Mark,
    /// Noise did not verify.
    #[error("handshake not authentic")]
    Authentication,
    /// The response has the network's mark, and Noise did not verify: one of the two has another pre-shared
    /// key for the other.
    #[error("handshake under another pre-shared key")]
    PresharedKey,
}

impl From<wire::Malformed> for Refused {
    fn from(_: wire::Malformed) -> Self {
        Refused::Malformed
    }
}

impl From<snow::Error> for Refused {
    fn from(_: snow::Error) -> Self {
        Refused::Authentication
    }
}

/// The traffic keys that come out of a handshake, one a direction.
pub struct Keys {
    /// For what this node sends.
    pub send: [u8; 32],
    /// For what it receives.
    pub receive: [u8; 32],
}

/// This node's keys.
pub struct Identity {
    private_key: PrivateKey,
    /// The network's key, under which this node begins handshakes.
    network: Arc<Network>,
    /// The one before, while there are nodes that have no other.
    previous: Option<Arc<Network>>,
    /// Keys that are shared with one peer beside the network's key.
    preshared_keys: BTreeMap<PublicKey, PresharedKey>,
    reset_key: [u8; 32],
}

/// The contents of an initiation.
pub struct HeardInitiation {
    /// Public key of the initiator.
    pub from: PublicKey,
    /// That node's announcements.
    pub hello: Hello,
    /// The state that makes the response.
    pub state: HandshakeState,
    /// The network under whose key both are.
    pub network: Arc<Network>,
}

/// A keyed hash of `label`: one key from another.
#[must_use]
pub fn derive(key: &[u8; 32], label: &[u8]) -> [u8; 32] {
    let mut mac = <Blake2sMac<U32> as KeyInit>::new(key.into());
    mac.update(label);
    mac.finalize().into_bytes().into()
}

/// BLAKE2s-128 of `parts`, keyed with 32 bytes at most.
#[must_use]
pub fn keyed_mark(key: &[u8], parts: &[&[u8]]) -> [u8; MARK_BYTES] {
    let mut mac = <Blake2sMac<U16> as KeyInit>::new_from_slice(key).expect("BLAKE2s takes keys to 32 bytes");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

impl Identity {
    /// The node of a configuration.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let private_key = config.private_key.clone();
        let reset_key = derive(private_key.as_bytes(), b"overheard 1 reset token");
        let previous = config.previous_network_key.clone().map(|key| Arc::new(Network::new(key)));
        Identity {
            private_key,
            network: Arc::new(Network::new(config.network_key.clone())),
            previous,
            preshared_keys: config.preshared_keys.clone(),
            reset_key,
        }
    }

    /// Replaces the keys that this node shares with one peer each.
    pub fn set_preshared_keys(&mut self, keys: BTreeMap<PublicKey, PresharedKey>) {
        self.preshared_keys = keys;
    }

    /// The network of the attempt after one under the key of `before`. A peer without an answer under the new
    /// key may have only the previous one. The attempt after that uses the new one again.
    #[must_use]
    pub fn network_after(&self, before: Option<&Network>) -> &Arc<Network> {
        match (&self.previous, before) {
            (Some(previous), Some(before)) if *before == *self.network => previous,
            _ => &self.network,
        }
    }

    /// Whether this is the network's key of now, and not the one before.
    #[must_use]
    pub fn is_current(&self, network: &Network) -> bool {
        *network == *self.network
    }

    /// The key that this node and `peer` alone have without a handshake: for what is said of handshakes.
    #[must_use]
    pub fn pair_key(&self, peer: &PublicKey) -> Option<[u8; 32]> {
        let mut dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519)?;
        dh.set(self.private_key.as_bytes());
        let mut shared = [0; 32];
        dh.dh(peer.as_bytes(), &mut shared).ok()?;
        let key = derive(&shared, b"overheard 2 pair");
        shared.zeroize();
        Some(key)
    }

    /// The token that this node shows when it no longer knows `key_id`.
    #[must_use]
    pub fn reset_token(&self, key_id: u32) -> [u8; RESET_TOKEN_BYTES] {
        keyed_mark(&self.reset_key, &[&key_id.to_be_bytes()])
    }

    /// The network that made a mark.
    fn network_of(&self, parts: &[&[u8]], mark: [u8; MARK_BYTES]) -> Result<Arc<Network>, Refused> {
        let networks = [Some(&self.network), self.previous.as_ref()];
        let made = networks.into_iter().flatten().find(|network| network.check_mark(parts, mark).is_ok());
        made.cloned().ok_or(Refused::Mark)
    }

    /// Noise's pre-shared key of a handshake with `peer`, before its second message.
    fn set_noise_key(
        &self,
        state: &mut HandshakeState,
        network: &Network,
        peer: &PublicKey,
    ) -> Result<(), Refused> {
        Ok(state.set_psk(2, &*network.noise_key(self.preshared_keys.get(peer)))?)
    }

    fn noise<'a>(&'a self, rng: &mut impl Rng) -> Result<snow::Builder<'a>, snow::Error> {
        let parameters = NOISE_NAME.parse()?;
        snow::Builder::with_resolver(parameters, Box::new(SeededResolver::new(rng)))
            .local_private_key(self.private_key.as_bytes())?
            .prologue(b"overheard 1")
    }

    /// Begins a handshake: its state, and the Noise message.
    pub fn initiate(
        &self,
        network: &Network,
        peer: &PublicKey,
        hello: &Hello,
        rng: &mut impl Rng,
    ) -> Result<(HandshakeState, Vec<u8>), Refused> {
        let mut state = self.noise(rng)?.remote_public_key(peer.as_bytes())?.build_initiator()?;
        self.set_noise_key(&mut state, network, peer)?;
        let (noise, length) = write_message(&mut state, hello)?;
        Ok((state, noise[..length].to_vec()))
    }

    /// An initiation, if it has the network's mark.
    pub fn check_initiation<'a>(&self, unit: &Unit<'a>) -> Result<Marked<'a>, Refused> {
        let header = unit.header;
        if unit.kind == Kind::InitiationWithCookie {
            let InitiationWithCookie { mark, cookie_mark, noise } = InitiationWithCookie::parse(unit.body)?;
            let network = self.network_of(&[header, &cookie_mark, noise], mark)?;
            return Ok(Marked { network, mark, cookie_mark: Some(cookie_mark), header, noise });
        }
        let Initiation { mark, noise } = Initiation::parse(unit.body)?;
        let network = self.network_of(&[header, noise], mark)?;
        Ok(Marked { network, mark, cookie_mark: None, header, noise })
    }

    /// Decrypts an initiation: who says what.
    pub fn hear(&self, initiation: &Marked<'_>, rng: &mut impl Rng) -> Result<HeardInitiation, Refused> {
        let mut state = self.noise(rng)?.build_responder()?;
        let hello = read_message(&mut state, initiation.noise)?;
        let remote = state.get_remote_static().ok_or(Refused::Authentication)?;
        let from = PublicKey::from_bytes(remote.try_into().map_err(|_| Refused::Authentication)?);
        let network = initiation.network.clone();
        self.set_noise_key(&mut state, &network, &from)?;
        Ok(HeardInitiation { from, hello, state, network })
    }

    /// Appends the response to an initiation that was heard.
    pub fn respond(
        &self,
        (mut state, network): (HandshakeState, &Network),
        key_id: u32,
        peer_key_id: u32,
        hello: &Hello,
        out: &mut Vec<u8>,
    ) -> Result<Keys, Refused> {
        let (noise, length) = write_message(&mut state, hello)?;
        let noise = &noise[..length];
        let start = out.len();
        emit_header(Kind::Response, peer_key_id, None, out);
        let mark = network.mark(&[&out[start..], &key_id.to_be_bytes(), noise]);
        Response { key_id, mark, noise }.emit(out);
        let (from_initiator, to_initiator) = state.dangerously_get_raw_split();
        Ok(Keys { send: to_initiator, receive: from_initiator })
    }

    /// Reads the response to an initiation of ours under the same network's key: the peer's key id, its
    /// hello, and the keys.
    pub fn finish(
        &self,
        (state, network): (&mut HandshakeState, &Network),
        unit: &Unit<'_>,
    ) -> Result<(u32, Hello, Keys), Refused> {
        let message = Response::parse(unit.body)?;
        network.check_mark(&[unit.header, &message.key_id.to_be_bytes(), message.noise], message.mark)?;
        let hello = read_message(state, message.noise).map_err(|why| match why {
            Refused::Authentication => Refused::PresharedKey,
            why => why,
        })?;
        let (from_initiator, to_initiator) = state.dangerously_get_raw_split();
        Ok((message.key_id, hello, Keys { send: from_initiator, receive: to_initiator }))
    }
}

fn write_message(state: &mut HandshakeState, hello: &Hello) -> Result<([u8; MESSAGE_BYTES], usize), Refused> {
    let mut payload = Vec::with_capacity(Hello::BYTES + Hello::SECOND_BYTES);
    hello.emit(&mut payload);
    let mut message = [0; MESSAGE_BYTES];
    let length = state.write_message(&payload, &mut message)?;
    Ok((message, length))
}

fn read_message(state: &mut HandshakeState, message: &[u8]) -> Result<Hello, Refused> {
    let mut payload = [0; MESSAGE_BYTES];
    if message.len() > MESSAGE_BYTES {
        return Err(Refused::Malformed);
    }
    let length = state.read_message(message, &mut payload)?;
    Ok(Hello::parse(&payload[..length])?)
}

/// Snow's own primitives, with randomness from the node's generator instead of the system's.
struct SeededResolver {
    seed: [u8; 32],
}

impl SeededResolver {
    fn new(rng: &mut impl Rng) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        SeededResolver { seed }
    }
}

impl CryptoResolver for SeededResolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(SeededRandom(ChaCha12Rng::from_seed(self.seed))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        matches!(choice, DHChoice::Curve25519).then(curve25519)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

struct SeededRandom(ChaCha12Rng);

impl Random for SeededRandom {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), snow::Error> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::NetworkKey;

    fn hello(boot: u64) -> Hello {
        Hello {
            oldest_version: 1,
            newest_version: 1,
            boot,
            number: 0,
            store_kib: 1024,
            capabilities: 0,
            window_bytes: 16,
            sample_bits: 4,
            reset_token: [0; 16],
            second: None,
        }
    }

    /// An initiation of this one for that one.
    fn initiation(from: &Identity, to: &PublicKey, rng: &mut ChaCha12Rng) -> (HandshakeState, Vec<u8>) {
        let network = from.network_after(None);
        let (state, noise) = from.initiate(network, to, &hello(1), rng).unwrap();
        let mut message = Vec::new();
        network.mark_initiation(0xa11ce, &noise, None, &mut message);
        (state, message)
    }

    fn identity_of(rng: &mut ChaCha12Rng, network: &NetworkKey) -> (Identity, PublicKey) {
        let private = PrivateKey::generate(rng);
        let public = private.public();
        (Identity::of(&Config::new(private, network.clone(), Vec::new())), public)
    }

    #[test]
    fn two_members_of_a_network_agree_on_keys_and_learn_each_others_hello() {
        let rng = &mut ChaCha12Rng::seed_from_u64(1);
        let network = NetworkKey::generate(rng);
        let (alice, alice_key) = identity_of(rng, &network);
        let (bob, bob_key) = identity_of(rng, &network);
        let (mut pending, first) = initiation(&alice, &bob_key, rng);
        let unit = wire::unit::parse(&mut &first[..]).unwrap();
        let heard = bob.hear(&bob.check_initiation(&unit).unwrap(), rng).unwrap();
        assert_eq!((heard.from, heard.hello), (alice_key, hello(1)));
        let mut second = Vec::new();
        let bobs =
            bob.respond((heard.state, &heard.network), 0xb0b, unit.key_id, &hello(2), &mut second).unwrap();
        let unit = wire::unit::parse(&mut &second[..]).unwrap();
        assert_eq!(unit.key_id, 0xa11ce);
        let (id, heard, alices) = alice.finish((&mut pending, alice.network_after(None)), &unit).unwrap();
        assert_eq!((id, heard), (0xb0b, hello(2)));
        assert_eq!((alices.send, alices.receive), (bobs.receive, bobs.send));
    }

    #[test]
    fn another_networks_initiation_is_refused_by_its_mark() {
        let rng = &mut ChaCha12Rng::seed_from_u64(2);
        let (alice, _) = identity_of(rng, &NetworkKey::generate(&mut ChaCha12Rng::seed_from_u64(3)));
        let (bob, bob_key) = identity_of(rng, &NetworkKey::generate(&mut ChaCha12Rng::seed_from_u64(4)));
        let (_, message) = initiation(&alice, &bob_key, rng);
        let unit = wire::unit::parse(&mut &message[..]).unwrap();
        assert_eq!(bob.check_initiation(&unit).err(), Some(Refused::Mark));
    }

    #[test]
    fn every_changed_byte_of_a_handshake_is_noticed() {
        let rng = &mut ChaCha12Rng::seed_from_u64(5);
        let network = NetworkKey::generate(rng);
        let (alice, _) = identity_of(rng, &network);
        let (bob, bob_key) = identity_of(rng, &network);
        let network = alice.network_after(None);
        let (_, noise) = alice.initiate(network, &bob_key, &hello(1), rng).unwrap();
        for cookie in [None, Some([9; 16])] {
            let mut message = Vec::new();
            network.mark_initiation(1, &noise, cookie.as_ref(), &mut message);
            let unit = wire::unit::parse(&mut &message[..]).unwrap();
            assert_eq!(bob.check_initiation(&unit).unwrap().cookie_mark.is_some(), cookie.is_some());
            for index in 1..message.len() {
                let mut changed = message.clone();
                changed[index] ^= 1;
                let unit = wire::unit::parse(&mut &changed[..]).unwrap();
                assert!(bob.check_initiation(&unit).is_err(), "byte {index}");
            }
        }
    }

    #[test]
    fn two_nodes_have_a_key_that_no_third_has() {
        let rng = &mut ChaCha12Rng::seed_from_u64(6);
        let network = NetworkKey::generate(rng);
        let (alice, alice_key) = identity_of(rng, &network);
        let (bob, bob_key) = identity_of(rng, &network);
        let (carol, _) = identity_of(rng, &network);
        assert_eq!(alice.pair_key(&bob_key), bob.pair_key(&alice_key));
        assert_ne!(alice.pair_key(&bob_key), carol.pair_key(&bob_key));
    }

    /// Both ends of a handshake, with what each shares with the other beside the network's key; the
    /// initiator's result.
    fn shake_hands(pairs: [Option<PresharedKey>; 2]) -> Result<(), Refused> {
        let rng = &mut ChaCha12Rng::seed_from_u64(7);
        let network = NetworkKey::generate(rng);
        let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
        let publics = keys.each_ref().map(PrivateKey::public);
        let identities: [Identity; 2] = std::array::from_fn(|at| {
            let mut config = Config::new(keys[at].clone(), network.clone(), Vec::new());
            config.preshared_keys.extend(pairs[at].clone().map(|pair| (publics[1 - at], pair)));
            Identity::of(&config)
        });
        let [alice, bob] = &identities;
        let (mut pending, first) = initiation(alice, &publics[1], rng);
        let unit = wire::unit::parse(&mut &first[..]).unwrap();
        let heard = bob.hear(&bob.check_initiation(&unit).unwrap(), rng).unwrap();
        let mut second = Vec::new();
        bob.respond((heard.state, &heard.network), 0xb0b, unit.key_id, &hello(2), &mut second).unwrap();
        let unit = wire::unit::parse(&mut &second[..]).unwrap();
        alice.finish((&mut pending, alice.network_after(None)), &unit).map(|_| ())
    }

    #[test]
    fn a_pair_agrees_on_keys_only_if_both_have_the_same_preshared_key() {
        let rng = &mut ChaCha12Rng::seed_from_u64(8);
        let (one, other) = (PresharedKey::generate(rng), PresharedKey::generate(rng));
        assert_eq!(shake_hands([Some(one.clone()), Some(one.clone())]), Ok(()));
        for pairs in [[Some(one.clone()), Some(other)], [Some(one.clone()), None], [None, Some(one)]] {
            assert_eq!(shake_hands(pairs), Err(Refused::PresharedKey));
        }
    }

    #[test]
    fn attempts_under_the_new_and_the_previous_key_take_turns_and_either_is_answered() {
        let rng = &mut ChaCha12Rng::seed_from_u64(9);
        let (old, new) = (NetworkKey::generate(rng), NetworkKey::generate(rng));
        let mut config = Config::new(PrivateKey::generate(rng), new.clone(), Vec::new());
        config.previous_network_key = Some(old.clone());
        let identity = Identity::of(&config);
        let [first, second] = {
            let first = identity.network_after(None);
            [first, identity.network_after(Some(first))]
        };
        assert!(identity.is_current(first) && !identity.is_current(second));
        assert!(identity.is_current(identity.network_after(Some(second))));
        for (key, is_current) in [(new, true), (old, false)] {
            let (member, _) = identity_of(rng, &key);
            let (_, message) = initiation(&member, &config.private_key.public(), rng);
            let unit = wire::unit::parse(&mut &message[..]).unwrap();
            let network = identity.check_initiation(&unit).unwrap().network;
            assert_eq!(identity.is_current(&network), is_current);
        }
    }
}
