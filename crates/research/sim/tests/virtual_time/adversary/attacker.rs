//! An attacker on the path: it hears everything, delays and drops datagrams, and sends from any address.

use blake2::Blake2sMac;
use blake2::digest::consts::{U16, U32};
use blake2::digest::{KeyInit, Mac};
use node::NetworkKey;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha12Rng;
use sim::network::{Hearer, Medium, Network, Sent};
use std::net::SocketAddr;
use std::time::Duration;
use wire::unit::{self, Kind};

/// Datagrams that an attacker keeps.
const MOST_KEPT: usize = 20_000;

/// The path between a gateway and a station, with the attacker.
pub struct Path {
    /// One-way delay without an attacker.
    pub one_way: Duration,
    /// Share of honest datagrams that are dropped, and the longest delay of the others.
    pub drops: f64,
    pub most_delay: Duration,
    pub rng: ChaCha12Rng,
    /// Receiver and datagram, oldest first.
    pub captured: Vec<(usize, Vec<u8>)>,
}

impl Medium for Path {
    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        let Some(to) = sent.to else { return Duration::ZERO };
        if self.captured.len() < MOST_KEPT {
            self.captured.push((to, sent.datagram.to_vec()));
        }
        if !self.rng.random_bool(self.drops) {
            let after = self.one_way + self.most_delay.mul_f64(self.rng.random_range(0.0..=1.0));
            hearers.push(Hearer { after, ..Hearer::of(to) });
        }
        Duration::ZERO
    }
}

/// An attacker's method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weapon {
    /// Anything that was ever heard, also of old boots.
    Replays,
    /// Only initiations, in order, repeatedly.
    Initiations,
    /// The newest handshake message, before it arrives, from several addresses.
    Races,
    /// All first bytes with random contents.
    Noise,
    /// Sealed units, responses and challenges for active key ids, with another ciphertext.
    Forgeries,
    /// By a member of the network: initiations with its mark and no contents.
    Marked,
}

/// All of them.
pub const WEAPONS: [Weapon; 6] =
    [Weapon::Replays, Weapon::Initiations, Weapon::Races, Weapon::Noise, Weapon::Forgeries, Weapon::Marked];

/// An attacker with a weapon.
pub struct Attacker {
    pub weapon: Weapon,
    /// Datagrams a second.
    pub rate: u32,
    pub network_key: NetworkKey,
    pub rng: ChaCha12Rng,
    pub next: usize,
}

impl Attacker {
    /// Sends the datagrams of `time` at once, and lets the nodes answer.
    pub fn strike(&mut self, network: &mut Network<Path>, time: Duration) {
        for _ in 0..self.count(time) {
            if let Some((to, datagram)) = self.datagram(&network.medium.captured) {
                let honest = network.address(1 - to);
                let from = self.address(honest);
                network.offer_datagram(to, from, 0, &datagram);
            }
        }
        for node in 0..network.node_count() {
            network.poll(node);
        }
    }

    /// Number of its datagrams in `time`.
    pub fn count(&mut self, time: Duration) -> usize {
        let count = f64::from(self.rate) * time.as_secs_f64();
        count as usize + usize::from(self.rng.random_bool(count.fract()))
    }

    /// Its own address, a random one, or that of the impersonated node.
    pub fn address(&mut self, honest: SocketAddr) -> SocketAddr {
        match self.rng.random_range(0..3) {
            0 => honest,
            1 => ([203, 0, 113, 66], 6666).into(),
            _ => (self.rng.random::<[u8; 4]>(), self.rng.random_range(1..=u16::MAX)).into(),
        }
    }

    /// The next datagram and its receiver.
    pub fn datagram(&mut self, captured: &[(usize, Vec<u8>)]) -> Option<(usize, Vec<u8>)> {
        match self.weapon {
            Weapon::Replays => self.any(captured, |_| true),
            Weapon::Initiations => {
                let mut initiations = captured.iter().filter(|(_, it)| is_initiation(it));
                let count = initiations.clone().count();
                self.next = (self.next + 1) % count.max(1);
                initiations.nth(self.next).cloned()
            }
            Weapon::Races => captured.iter().rev().find(|(_, it)| !is_sealed(it)).cloned(),
            Weapon::Noise => {
                let mut bytes = vec![0; self.rng.random_range(1..300)];
                self.rng.fill_bytes(&mut bytes);
                self.next += 1;
                bytes[0] = self.next as u8;
                Some((self.rng.random_range(0..2), bytes))
            }
            Weapon::Forgeries => {
                let (to, mut datagram) = self.any(captured, |_| true)?;
                let front = 7.min(datagram.len());
                self.rng.fill_bytes(&mut datagram[front..]);
                let kinds = [datagram[0], 0x12, 0x16, 0x13, 0x14, 0x10, 0x20];
                datagram[0] = kinds[self.rng.random_range(0..kinds.len())];
                Some((to, datagram))
            }
            Weapon::Marked => {
                let (to, datagram) = self.any(captured, is_initiation)?;
                let mut noise = vec![0; datagram.len() - 20];
                self.rng.fill_bytes(&mut noise);
                let mut forged = Vec::new();
                unit::emit_header(Kind::Initiation, self.rng.random_range(1..1 << 24), None, &mut forged);
                let mark = mark(&self.network_key, &[&forged, &noise]);
                forged.extend_from_slice(&mark);
                forged.extend_from_slice(&noise);
                Some((to, forged))
            }
        }
    }

    fn any(&mut self, captured: &[(usize, Vec<u8>)], wanted: fn(&[u8]) -> bool) -> Option<(usize, Vec<u8>)> {
        let begin = self.rng.random_range(0..captured.len().max(1));
        captured[begin..].iter().chain(&captured[..begin]).find(|(_, it)| wanted(it)).cloned()
    }
}

fn is_initiation(datagram: &[u8]) -> bool {
    matches!(datagram[0] & 7, 1 | 5)
}

fn is_sealed(datagram: &[u8]) -> bool {
    datagram[0] & 7 == 0
}

/// The mark of the network's members (docs/wire-format.md, "Handshake").
fn mark(network_key: &NetworkKey, parts: &[&[u8]]) -> [u8; 16] {
    let mut key = <Blake2sMac<U32> as KeyInit>::new(network_key.as_bytes().into());
    key.update(b"overheard 1 handshake mark");
    let mut mac = <Blake2sMac<U16> as KeyInit>::new(&key.finalize().into_bytes());
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}
