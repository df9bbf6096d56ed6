//! A member of a group: it has the keys, hears everything, and forges others' messages.

use rand::{Rng, RngExt};
use rand_chacha::ChaCha12Rng;
use sim::network::{Hearer, Medium, Network, Sent};
use sim::{Insider, Opened};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use wire::frame::{self, FrameType, SEQUENCE_BYTES};
use wire::group::FRONT_BYTES;
use wire::reset;
use wire::unit::{self, Kind, SEALED_HEADER_BYTES};

/// The gateways are the first two nodes, with a wire between them; the insider is the last node.
pub const GATEWAYS: usize = 2;
/// Datagrams that the insider keeps.
const MOST_KEPT: usize = 16_384;
/// Distances of forged counters: behind the replay window, at the half where keys change, at the end.
const COUNTERS_AHEAD: [u64; 7] = [1, 64, 4032, 4096, 1 << 20, (1 << 23) - 1, (1 << 24) - 1];

/// The air between gateways and stations, and the insider's knowledge.
pub struct Cell {
    pub nodes: usize,
    pub insider: SocketAddr,
    pub one_way: Duration,
    pub loss: f64,
    pub most_delay: Duration,
    /// A dead gateway: it neither receives nor sends.
    pub dead: Option<usize>,
    pub rng: ChaCha12Rng,
    pub knowledge: Insider,
    pub heard: VecDeque<Vec<u8>>,
    /// Whether the insider's own messages to its gateways are false.
    pub lies: bool,
}

impl Medium for Cell {
    fn before_seal(&mut self, from: usize, transmit: &node::Transmit, datagram: &mut Vec<u8>) {
        if transmit.to == self.insider {
            self.knowledge.learn(datagram);
        }
        let front = SEALED_HEADER_BYTES + SEQUENCE_BYTES;
        if self.lies
            && from + 1 == self.nodes
            && datagram[0] & 7 == 0
            && (front..900).contains(&datagram.len())
        {
            let lies = any_frames(&mut self.rng, &WORDS);
            datagram.splice(front..front, lies);
        }
    }

    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        let &Sent { from, to: Some(to), datagram, .. } = sent else { return Duration::ZERO };
        let is_dead = |node| self.dead == Some(node);
        if is_dead(from) || from < GATEWAYS && to < GATEWAYS {
            hearers.extend((!is_dead(from) && !is_dead(to)).then_some(Hearer::of(to)));
            return Duration::ZERO;
        }
        if self.heard.len() == MOST_KEPT {
            self.heard.pop_front();
        }
        self.heard.push_back(datagram.to_vec());
        for node in (0..self.nodes).filter(|&node| node == to || node >= GATEWAYS && node != from) {
            if !is_dead(node) && !self.rng.random_bool(self.loss) {
                let after = self.one_way + self.most_delay.mul_f64(self.rng.random_range(0.0..=1.0));
                hearers.push(Hearer { after, overhears: node != to, ..Hearer::of(node) });
            }
        }
        Duration::ZERO
    }
}

/// An insider's method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgery {
    /// Units for a member under counters far ahead.
    Counters,
    /// Replays of the gateway's units, at once and much later.
    Replays,
    /// The gateway's frames and proofs under other counters and newer keys.
    Resealed,
    /// Every frame, farewells and memberships among them.
    Frames,
    /// Overhearing data: numbers and chunks that were never sent.
    Overheard,
    /// One XOR for several members.
    Natives,
    /// Reset tokens for every active key.
    Resets,
    /// False messages to the gateways under the insider's own key.
    Words,
}

/// All of them.
pub const FORGERIES: [Forgery; 8] = [
    Forgery::Counters,
    Forgery::Replays,
    Forgery::Resealed,
    Forgery::Frames,
    Forgery::Overheard,
    Forgery::Natives,
    Forgery::Resets,
    Forgery::Words,
];

/// A station's frames to its gateway about its group.
const WORDS: [FrameType; 6] = [
    FrameType::Joined,
    FrameType::Heard,
    FrameType::ChunkRequest,
    FrameType::HeardOfOther,
    FrameType::Neighbour,
    FrameType::OtherGroup,
];

/// A forging insider.
pub struct Member {
    pub forgery: Forgery,
    /// Datagrams a second.
    pub rate: u32,
    pub rng: ChaCha12Rng,
}

impl Member {
    /// Sends the datagrams of `time` at once, and lets the nodes answer.
    pub fn strike(&mut self, network: &mut Network<Cell>, time: Duration) {
        let count = f64::from(self.rate) * time.as_secs_f64();
        let (now, stations) = (network.now(), GATEWAYS..network.node_count() - 1);
        for _ in 0..count as usize + usize::from(self.rng.random_bool(count.fract())) {
            let Some(mut datagram) = self.datagram(&mut network.medium) else { continue };
            let is_reset = self.forgery == Forgery::Resets;
            let to = self.rng.random_range(if is_reset { 0..stations.end } else { stations.clone() });
            let from = match self.rng.random_range(0..8) {
                0 => network.medium.insider,
                1 => (self.rng.random::<[u8; 4]>(), 4780).into(),
                _ => network.address(self.rng.random_range(0..network.node_count())),
            };
            if self.forgery == Forgery::Overheard || self.rng.random_bool(0.2) {
                network.node_mut(to).handle_overheard(now, from, &mut datagram);
            } else {
                network.offer_datagram(to, from, 0, &datagram);
            }
        }
        (0..network.node_count()).for_each(|node| network.poll(node));
    }

    fn datagram(&mut self, cell: &mut Cell) -> Option<Vec<u8>> {
        let rng = &mut self.rng;
        let heard = cell.heard.get(rng.random_range(0..cell.heard.len().max(1)))?;
        let key_ids: Vec<u32> = cell.knowledge.key_ids().collect();
        let key_id = *key_ids.get(rng.random_range(0..key_ids.len().max(1)))?;
        let next = cell.knowledge.next_counter(key_id);
        let counter = match rng.random_range(0..3) {
            0 => next + rng.random_range(0..64),
            1 => next + COUNTERS_AHEAD[rng.random_range(0..COUNTERS_AHEAD.len())],
            _ => rng.random_range(0..1 << 24),
        };
        let counter = counter.min((1 << 24) - 1);
        let plaintext = match self.forgery {
            Forgery::Replays => return Some(heard.clone()),
            Forgery::Words => return None,
            Forgery::Resets => {
                let key_id = unit::parse(&mut &heard[..]).ok()?.key_id;
                let mut datagram = Vec::new();
                unit::emit_header(Kind::Reset, key_id, None, &mut datagram);
                reset::emit(rng.random(), &mut datagram);
                return Some(datagram);
            }
            Forgery::Resealed => {
                let Opened { key_id: before, counter: same, plaintext } = cell.knowledge.open(heard)?;
                let mut datagram = Vec::new();
                // Under the same key the same counter is a replay; under the next key it is not.
                let counter = if key_id == before { counter } else { same };
                return cell.knowledge.seal(key_id, counter, &plaintext, &mut datagram).then_some(datagram);
            }
            Forgery::Counters => unit_for_anybody(rng, Vec::new()),
            Forgery::Natives => {
                let mut frames = Vec::new();
                frame::emit_last(FrameType::Natives, &mut frames);
                frames.extend((0..rng.random_range(0..200)).map(|_| rng.random_range(0..16u8)));
                unit_for_anybody(rng, frames)
            }
            Forgery::Overheard => {
                let frames = any_frames(rng, &[FrameType::Shared, FrameType::ChunkReply, FrameType::Head]);
                unit_for_anybody(rng, frames)
            }
            Forgery::Frames => {
                let number = rng.random_range(0..36);
                let frames = any_frames(rng, &FrameType::from_number(number).map_or(WORDS, |it| [it; 6]));
                unit_for_anybody(rng, frames)
            }
        };
        let mut datagram = Vec::new();
        cell.knowledge.seal(key_id, counter, &plaintext, &mut datagram).then_some(datagram)
    }
}

/// A member's number, an invalid proof, a link sequence, and frames.
fn unit_for_anybody(rng: &mut impl Rng, frames: Vec<u8>) -> Vec<u8> {
    let mut plaintext = vec![0; FRONT_BYTES + SEQUENCE_BYTES];
    rng.fill_bytes(&mut plaintext);
    plaintext[0] = rng.random_range(0..4);
    plaintext.extend(frames);
    plaintext
}

fn any_frames(rng: &mut impl Rng, types: &[FrameType]) -> Vec<u8> {
    let mut frames = Vec::new();
    for _ in 0..rng.random_range(1..4) {
        let mut body = vec![0; rng.random_range(0..120)];
        rng.fill_bytes(&mut body);
        // Small numbers are meaningful.
        body.iter_mut().take(8).for_each(|byte| *byte %= 8);
        frame::emit(types[rng.random_range(0..types.len())], &body, &mut frames);
    }
    frames
}
