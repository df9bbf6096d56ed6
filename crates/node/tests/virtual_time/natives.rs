//! Stations that do not hear each other, and a relay that sends natives for several as one (COPE; REfactor, Figure 1d).

use crate::mesh::{MS, Mesh as Nodes, SECOND, address, all, contents};
use node::{Config, Group, Mesh, NetworkKey, PeerConfig, PrivateKey, Shortening};
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

const RELAY: usize = 0;
const ALICE: usize = 1;
const BOB: usize = 2;

/// All hear the relay, and it hears all.
fn hears(one: usize, other: usize) -> bool {
    (one == RELAY) != (other == RELAY)
}

/// A relay and so many stations, of which each has, beside the relay, those for a peer that it hears.
fn configs(seed: u64, stations: usize, codes: bool, hears: fn(usize, usize) -> bool) -> Vec<Config> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let network = NetworkKey::generate(&mut rng);
    let keys: Vec<PrivateKey> = (0..=stations).map(|_| PrivateKey::generate(&mut rng)).collect();
    let peer = |index: usize, allowed: &[usize]| PeerConfig {
        name: format!("node {index}"),
        public_key: keys[index].public(),
        endpoint: Some(address(index)),
        allowed_ips: allowed.iter().map(|at| format!("10.0.0.{}/32", at + 1).parse().unwrap()).collect(),
        keepalive: Some(25 * SECOND),
    };
    let config = |index: usize| {
        let others: Vec<usize> = (1..=stations).filter(|at| *at != index).collect();
        let peers = match index {
            RELAY => others.iter().map(|&at| peer(at, &[at])).collect(),
            _ => {
                let heard = others.iter().filter(|at| hears(index, **at) || hears(**at, index));
                [peer(RELAY, &others)].into_iter().chain(heard.map(|&at| peer(at, &[]))).collect()
            }
        };
        let mesh = match index {
            RELAY => Mesh { forwards: true, relays: vec![], codes },
            _ => Mesh { forwards: false, relays: vec![0], codes },
        };
        let config = Config::new(keys[index].clone(), network.clone(), peers);
        Config { group: Some(Group::default()), shorten: Shortening::ALL, mesh, ..config }
    };
    (0..=stations).map(config).collect()
}

/// A relay that sends as fast as two stations together, which begin to send at once.
fn mesh(seed: u64, codes: bool) -> Nodes {
    Nodes::new(seed, &configs(seed, 2, codes, hears), hears)
}

/// Stations send these payloads, each one in four milliseconds; what they sent.
fn send(mesh: &mut Nodes, flows: &[(usize, usize, &[Vec<u8>])]) -> Vec<Vec<Vec<u8>>> {
    let mut sent = vec![Vec::new(); flows.len()];
    for index in 0..flows[0].2.len() {
        for (flow, &(from, to, payloads)) in flows.iter().enumerate() {
            sent[flow].push(mesh.send_one(from, to, 1 + 2000 * index as u32, &payloads[index]));
        }
        mesh.run(4 * MS);
    }
    mesh.run(3 * SECOND);
    sent
}

fn natives(mesh: &Nodes) -> [u64; 5] {
    let mut sums = [0; 5];
    for node in &mesh.nodes {
        for peer in node.status(mesh.now).peers {
            let it = peer.counters;
            let of = [
                it.natives_sent,
                it.natives_datagrams,
                it.natives_saved_bytes,
                it.natives_decoded,
                it.natives_undecodable,
            ];
            sums.iter_mut().zip(of).for_each(|(sum, of)| *sum += of);
        }
    }
    sums
}

#[test]
fn two_stations_and_a_relay_take_three_instead_of_four() {
    for (codes, expected) in [(false, 4.0), (true, 3.0)] {
        let mut mesh = mesh(1, codes);
        // a packet takes the relay nearly four milliseconds, and one of each station comes in four: it is always behind, unless it codes
        mesh.rates[RELAY] = codes.then_some(400_000);
        let [there, back] = [contents(1, 300, 1200, 0), contents(2, 300, 1200, 0)].map(|[one, _]| one);
        let before = mesh.sent.clone();
        let sent = send(&mut mesh, &[(ALICE, BOB, &there), (BOB, ALICE, &back)]);
        assert!(all(&mesh.delivered[BOB]) == all(&sent[0]));
        assert!(all(&mesh.delivered[ALICE]) == all(&sent[1]));
        let bytes =
            |hop: (usize, usize)| mesh.sent_bytes(hop) - before.get(&hop).map_or(0, |(_, bytes)| *bytes);
        let hops = [(ALICE, RELAY), (BOB, RELAY), (RELAY, ALICE), (RELAY, BOB)].map(bytes);
        let transmissions = hops.iter().sum::<u64>() as f64 * 2.0 / (hops[0] + hops[1]) as f64;
        println!("{transmissions:.3} transmissions, {expected} expected: {hops:?}, {:?}", natives(&mesh));
        assert!((transmissions / expected - 1.0).abs() < 0.05, "{transmissions} for {expected}");
    }
}
