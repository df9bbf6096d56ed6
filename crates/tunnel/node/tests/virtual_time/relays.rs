//! Two stations that do not hear each other, and two relays between them (REfactor, Figure 1c).

use crate::mesh::{MS, Mesh as Nodes, SECOND, address, all, contents};
use crate::pair::tcp_between;
use node::{Config, Group, Mesh, NetworkKey, PeerConfig, PrivateKey, Shortening};
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;

pub const C1: usize = 0;
pub const R1: usize = 1;
pub const R2: usize = 2;
pub const C2: usize = 3;

/// Stations and relays hear each other; the two stations do not, nor the two relays.
pub fn hears(one: usize, other: usize) -> bool {
    let is_relay = |node| node == R1 || node == R2;
    is_relay(one) != is_relay(other)
}

pub fn configs(seed: u64, overhears: bool) -> Vec<Config> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let network = NetworkKey::generate(&mut rng);
    let keys: Vec<PrivateKey> = (0..4).map(|_| PrivateKey::generate(&mut rng)).collect();
    let peer = |index: usize, allowed: &[usize]| PeerConfig {
        name: format!("node {index}"),
        public_key: keys[index].public(),
        endpoint: Some(address(index)),
        allowed_ips: allowed.iter().map(|at| format!("10.0.0.{}/32", at + 1).parse().unwrap()).collect(),
        keepalive: Some(25 * SECOND),
        bits_a_second: None,
    };
    let config = |index: usize| {
        // C1 reaches C2 by R1, and C2 reaches C1 by R2
        let (peers, mesh) = match index {
            C1 => (vec![peer(R1, &[C2]), peer(R2, &[])], Mesh { relays: vec![0, 1], ..Mesh::default() }),
            C2 => (vec![peer(R1, &[]), peer(R2, &[C1])], Mesh { relays: vec![0, 1], ..Mesh::default() }),
            _ => (vec![peer(C1, &[C1]), peer(C2, &[C2])], Mesh { forwards: true, ..Mesh::default() }),
        };
        let config = Config::new(keys[index].clone(), network.clone(), peers);
        Config { group: overhears.then(Group::default), shorten: Shortening::ALL, mesh, ..config }
    };
    (0..4).map(config).collect()
}

/// One station sends these payloads to the other, one in five milliseconds; what each hop took, in bytes.
fn send(mesh: &mut Nodes, from: usize, to: usize, payloads: &[Vec<u8>]) -> (Vec<Vec<u8>>, [u64; 2]) {
    let relay = if from == C1 { R1 } else { R2 };
    let hops = [(from, relay), (relay, to)];
    let before = hops.map(|hop| mesh.medium.sent_bytes(hop));
    let mut packets = Vec::new();
    for (index, payload) in payloads.iter().enumerate() {
        packets.push(mesh.send_one(from, to, 1 + 2000 * index as u32, payload));
        mesh.run(5 * MS);
    }
    mesh.run(2 * SECOND);
    let [there, back] = hops.map(|hop| mesh.medium.sent_bytes(hop));
    (packets, [there - before[0], back - before[1]])
}

fn mesh(seed: u64, overhears: bool) -> Nodes {
    Nodes::new(seed, &configs(seed, overhears), hears)
}

#[test]
fn two_stations_and_two_relays_take_four_less_delta() {
    let mut mesh = mesh(1, true);
    let [abc, abd] = contents(1, 200, 1200, 800);
    let (sent, [c1_r1, r1_c2]) = send(&mut mesh, C1, C2, &abc);
    assert!(all(mesh.delivered(C2)) == all(&sent));
    assert_eq!(mesh.delivered(C2)[0][8], 63, "one hop was taken off");
    let (sent, [c2_r2, r2_c1]) = send(&mut mesh, C2, C1, &abd);
    assert!(all(mesh.delivered(C1)) == all(&sent));
    // of 800 bytes at a packet's front all chunks but the one in which they end are known; 64 to 256 bytes
    // each, usually 128, of which the removed ones take 18 bits of a shim each, and 12 bytes for number, MAC
    // and lengths
    let known = 800.0 - 64.0;
    let delta = (known - known / 128.0 * 18.0 / 8.0 - 12.0) / 1200.0;
    let one = c1_r1 as f64;
    let transmissions = [c1_r1, r1_c2, c2_r2, r2_c1].iter().sum::<u64>() as f64 / one;
    println!(
        "{transmissions:.3} transmissions, 4 - delta is {:.3}; {:?}",
        4.0 - delta,
        [c1_r1, r1_c2, c2_r2, r2_c1]
    );
    assert!((transmissions / (4.0 - delta) - 1.0).abs() < 0.05, "{transmissions} for {}", 4.0 - delta);
    let relay = mesh.status(R2);
    assert_eq!(relay.peers[0].counters.relayed_packets, 200, "{relay:#?}");
    assert!(relay.peers[0].counters.overheard_removed_bytes > 200 * 600, "{relay:#?}");
    assert_eq!(mesh.status(C1).peers[1].counters.chunks_missed, 0);
}

#[test]
fn without_overhearing_they_take_four() {
    let mut mesh = mesh(2, false);
    let [abc, abd] = contents(2, 100, 1200, 800);
    let (_, there) = send(&mut mesh, C1, C2, &abc);
    let (sent, back) = send(&mut mesh, C2, C1, &abd);
    assert!(all(mesh.delivered(C1)) == all(&sent));
    let transmissions = there.iter().chain(&back).sum::<u64>() as f64 / there[0] as f64;
    assert!((transmissions - 4.0).abs() < 0.05, "{transmissions}");
}

#[test]
fn losses_cost_savings_and_never_bytes() {
    for seed in 0..4 {
        let mut mesh = mesh(10 + seed, true);
        let [warm, _] = contents(20 + seed, 10, 1200, 800);
        send(&mut mesh, C1, C2, &warm);
        send(&mut mesh, C2, C1, &warm);
        mesh.discard();
        (mesh.medium.loss, mesh.medium.unheard) = (0.05, 0.3);
        let [abc, abd] = contents(30 + seed, 150, 1200, 800);
        for (from, to, payloads) in [(C1, C2, &abc), (C2, C1, &abd)] {
            let (sent, _) = send(&mut mesh, from, to, payloads);
            let (sent, delivered) = (all(&sent), all(mesh.delivered(to)));
            assert!(delivered.is_subset(&sent), "only what was sent");
            let missing = sent.difference(&delivered).count();
            assert!(missing <= 3, "{missing} of 150 are missing");
        }
    }
}

#[test]
fn who_sends_what_is_too_large_for_a_later_hop_is_told_through_the_mesh() {
    let mut configs = configs(4, true);
    (configs[R1].max_datagram_bytes, configs[R1].largest_datagram_bytes) = (1200, 1200);
    let mut mesh = Nodes::new(4, &configs, hears);
    let packet = tcp_between(1, 4, 1, &[7; 1240]);
    mesh.send(C1, &packet);
    mesh.run(SECOND);
    assert!(mesh.delivered(C2).is_empty() && mesh.delivered(R1).is_empty());
    let [told] = mesh.delivered(C1) else { panic!("one answer: {:?}", mesh.delivered(C1)) };
    assert_eq!(told[9], 1, "ICMP");
    assert_eq!(told[20..22], [3, 4], "fragmentation needed");
}

#[test]
fn what_has_no_hop_left_is_not_passed_on() {
    let mut mesh = mesh(3, true);
    let mut packet = tcp_between(1, 4, 1, b"too far");
    (packet[8], packet[10], packet[11]) = (1, 0, 0);
    mesh.send(C1, &packet);
    mesh.run(SECOND);
    assert!(mesh.delivered(C2).is_empty());
    assert_eq!(mesh.delivered(R1).len(), 1, "its kernel answers");
}
