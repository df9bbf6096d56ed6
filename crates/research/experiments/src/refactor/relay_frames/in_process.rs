//! Two stations and a relay in one process: the product's nodes, and an air that loses nothing.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use etherparse::PacketBuilder;
use node::{Config, Group, Mesh, NetworkKey, Node, PeerConfig, PrivateKey, Shortening};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha12Rng;
use sim::network::{Hearer, Medium, Network, Sent};

use super::Counted;

const RELAY: usize = 0;
const STATIONS: [usize; 2] = [1, 2];
/// Full packets that each station sends, their payload, and the time between two of them.
const PACKETS: u32 = 400;
const PAYLOAD_BYTES: usize = 1200;
const INTERVAL: Duration = Duration::from_millis(4);
/// What the relay sends in a second: in each interval one coded frame of two full packets, and a little more.
const RELAY_BYTES_A_SECOND: f64 = 322_000.0;
/// Outer IP and UDP headers.
const OUTER_BYTES: u64 = 28;
const DELAY: Duration = Duration::from_millis(5);
/// Full packets of a burst.
const BURST: u32 = 20;
/// Until the nodes have met, and until all that waits has left.
const MEETING: Duration = Duration::from_secs(5);
const DRAINING: Duration = Duration::from_secs(3);

/// What the stations send each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traffic {
    /// A full packet each, at the same moments.
    Constant,
    /// The same, and a packet without payload for every second packet that comes.
    Acknowledged,
    /// Bursts of full packets by turns, at the same rate on average.
    Turns,
}

impl Traffic {
    pub(super) const ALL: [Self; 3] = [Self::Constant, Self::Acknowledged, Self::Turns];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Constant => "full packets, constant rate",
            Self::Acknowledged => "the same, acknowledged",
            Self::Turns => "bursts in turn",
        }
    }

    /// Full packets that a station sends in one interval.
    fn packets(self, station: usize, interval: u32) -> u32 {
        let is_its_turn = interval % (2 * BURST) == BURST * station as u32 % (2 * BURST);
        match self {
            Self::Constant | Self::Acknowledged => 1,
            Self::Turns if is_its_turn => 2 * BURST,
            Self::Turns => 0,
        }
    }
}

/// All hear the relay, and the relay hears all.
struct Air {
    /// Frames and their bytes, by sender.
    sent: [(u64, u64); 3],
}

impl Medium for Air {
    fn who_hears(&mut self, sent: &Sent<'_>, hearers: &mut Vec<Hearer>) -> Duration {
        let &Sent { from, to: Some(to), datagram, .. } = sent else { return Duration::ZERO };
        let (frames, bytes) = &mut self.sent[from];
        (*frames, *bytes) = (*frames + 1, *bytes + OUTER_BYTES + datagram.len() as u64);
        let reached = (0..self.sent.len()).filter(|&node| (node == RELAY) != (from == RELAY));
        hearers.extend(reached.map(|node| Hearer {
            after: DELAY,
            overhears: node != to,
            ..Hearer::of(node)
        }));
        match from {
            RELAY => Duration::from_secs_f64(datagram.len() as f64 / RELAY_BYTES_A_SECOND),
            _ => Duration::ZERO,
        }
    }
}

/// Runs one kind of traffic, with the contents of a seed.
///
/// # Errors
///
/// When a node cannot be made, or a station gets a packet that the other did not send.
pub(super) fn run(traffic: Traffic, codes: bool, seed: u64) -> Result<Counted> {
    let rng = &mut ChaCha12Rng::seed_from_u64(seed);
    let mut network = network(rng, codes)?;
    let before = counted(&network);
    let mut sent = 0;
    for interval in 0..PACKETS {
        for (from, to) in [(STATIONS[0], STATIONS[1]), (STATIONS[1], STATIONS[0])] {
            for _ in 0..traffic.packets(from, interval) {
                let mut payload = vec![0; PAYLOAD_BYTES];
                rng.fill_bytes(&mut payload);
                network.send(from, &packet(from, to, sent, &payload)?);
                sent += 1;
            }
            if traffic == Traffic::Acknowledged && interval % 2 == 1 {
                network.send(from, &packet(from, to, sent, &[])?);
            }
        }
        network.run(INTERVAL);
    }
    network.run(DRAINING);
    let counted = counted(&network).since(before);
    let delivered: usize = STATIONS.map(|station| network.delivered(station).len()).iter().sum();
    let (delivered, forwarded) = (delivered as f64, counted.relay.packets);
    let is_plausible = delivered <= forwarded && delivered > 0.9 * forwarded;
    ensure!(is_plausible, "{delivered} of {forwarded} forwarded packets were delivered");
    Ok(counted)
}

fn counted(network: &Network<Air>) -> Counted {
    let [relay, first, second] = network.medium.sent.map(|(frames, bytes)| (frames as f64, bytes as f64));
    let mut counted = Counted {
        relay: super::Sent { frames: relay.0, bytes: relay.1, packets: 0.0 },
        stations: super::Sent { frames: first.0 + second.0, bytes: first.1 + second.1, packets: 0.0 },
        ..Counted::default()
    };
    counted.add_relay(&network.status(RELAY));
    STATIONS.iter().for_each(|station| counted.add_station(&network.status(*station)));
    counted
}

fn packet(from: usize, to: usize, sequence: u32, payload: &[u8]) -> Result<Vec<u8>> {
    let inner = |index: usize| [10, 0, 0, index as u8 + 1];
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4(inner(from), inner(to), 64).tcp(80, 4242, sequence * 2000, 1000);
    builder.write(&mut packet, payload).context("a packet")?;
    Ok(packet)
}

/// Nodes that have met.
fn network(rng: &mut ChaCha12Rng, codes: bool) -> Result<Network<Air>> {
    let key = NetworkKey::generate(rng);
    let keys = [0; 3].map(|_| PrivateKey::generate(rng));
    let address = |index: usize| SocketAddr::from(([192, 0, 2, index as u8 + 1], 4780));
    let mut network = Network::new(Duration::ZERO, Air { sent: [(0, 0); 3] });
    for index in 0..keys.len() {
        let peer = |of: usize, behind: &[usize]| -> Result<PeerConfig> {
            let allowed = behind.iter().map(|at| format!("10.0.0.{}/32", at + 1).parse());
            Ok(PeerConfig {
                name: format!("node {of}"),
                public_key: keys[of].public(),
                endpoint: Some(address(of)),
                allowed_ips: allowed.collect::<Result<_, _>>()?,
                keepalive: Some(Duration::from_secs(25)),
                bits_a_second: None,
            })
        };
        let [first, second] = STATIONS;
        let (peers, mesh) = match index {
            RELAY => {
                let peers = vec![peer(first, &[first])?, peer(second, &[second])?];
                (peers, Mesh { forwards: true, codes, ..Mesh::default() })
            }
            _ => {
                let other = first + second - index;
                (vec![peer(RELAY, &[other])?], Mesh { relays: vec![0], codes, ..Mesh::default() })
            }
        };
        let config = Config::new(keys[index].clone(), key.clone(), peers);
        let config =
            Config { fec: false, group: Some(Group::default()), shorten: Shortening::ALL, mesh, ..config };
        let node = Node::new(config, [index as u8; 32], Duration::ZERO);
        network.join(address(index), node.context("a node's configuration")?);
    }
    (0..keys.len()).for_each(|index| network.poll(index));
    network.run(MEETING);
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_all_meet_leave_the_relay_by_two() {
        let (plain, coded) =
            (run(Traffic::Constant, false, 1).unwrap(), run(Traffic::Constant, true, 1).unwrap());
        assert_eq!((plain.coded, plain.coded_frames), (0.0, 0.0));
        assert!((plain.transmissions() - 4.0).abs() < 0.2, "{plain:?}");
        assert!((coded.transmissions() - 3.0).abs() < 0.15 && coded.coded > 700.0, "{coded:?}");
    }

    #[test]
    fn packets_meet_less_where_bursts_come_by_turns() {
        let [constant, turns] = [Traffic::Constant, Traffic::Turns].map(|it| run(it, true, 1).unwrap());
        assert!(turns.without_partner > 5.0 * constant.without_partner, "{turns:?}");
    }
}
