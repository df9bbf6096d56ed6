//! Stations that do not hear each other, and a relay that sends natives for several as one (COPE; REfactor,
//! Figure 1d).

use crate::mesh::{MS, Mesh as Nodes, SECOND, address, all, contents};
use node::{Config, Group, Mesh, NetworkKey, PeerConfig, PrivateKey, Shortening};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

const RELAY: usize = 0;
const ALICE: usize = 1;
const BOB: usize = 2;
/// At so many bytes a second the relay sends 1,300 in four milliseconds.
const BARELY: u64 = 322_000;

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
        bits_a_second: None,
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
            RELAY => Mesh { forwards: true, codes, ..Mesh::default() },
            _ => Mesh { relays: vec![0], codes, ..Mesh::default() },
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
    for node in 0..mesh.node_count() {
        for peer in mesh.status(node).peers {
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
        // two packets as one take the relay four milliseconds, and in as many one of each station comes
        mesh.medium.rates[RELAY] = codes.then_some(BARELY);
        let [there, back] = [contents(1, 300, 1200, 0), contents(2, 300, 1200, 0)].map(|[one, _]| one);
        let before = mesh.medium.sent.clone();
        let sent = send(&mut mesh, &[(ALICE, BOB, &there), (BOB, ALICE, &back)]);
        assert!(all(mesh.delivered(BOB)) == all(&sent[0]));
        assert!(all(mesh.delivered(ALICE)) == all(&sent[1]));
        let bytes = |hop: (usize, usize)| {
            mesh.medium.sent_bytes(hop) - before.get(&hop).map_or(0, |(_, bytes)| *bytes)
        };
        let hops = [(ALICE, RELAY), (BOB, RELAY), (RELAY, ALICE), (RELAY, BOB)].map(bytes);
        let transmissions = hops.iter().sum::<u64>() as f64 * 2.0 / (hops[0] + hops[1]) as f64;
        println!("{transmissions:.3} transmissions, {expected} expected: {hops:?}, {:?}", natives(&mesh));
        assert!((transmissions / expected - 1.0).abs() < 0.05, "{transmissions} for {expected}");
    }
}

/// Number of sent packets that did not arrive, beyond the drops of the relay's queue. Every packet that
/// arrived was sent.
fn missing(mesh: &Nodes, sent: &[Vec<u8>], to: usize) -> usize {
    let (sent, delivered) = (all(sent), all(mesh.delivered(to)));
    assert!(delivered.is_subset(&sent), "only what was sent");
    let relay = mesh.status(RELAY);
    let dropped = relay.peers[to - 1].counters.queue_dropped_by_codel as usize;
    sent.difference(&delivered).count().saturating_sub(dropped)
}

#[test]
fn what_is_removed_is_not_in_the_xor() {
    // each knows the other for a peer, though it never hears it: so what it sends it shares
    let mut mesh = Nodes::new(2, &configs(2, 2, true, |_, _| true), hears);
    let ([one, other], [third, fourth]) = (contents(3, 200, 1200, 800), contents(4, 200, 1200, 800));
    let sent = send(&mut mesh, &[(ALICE, BOB, &one), (BOB, ALICE, &third)]);
    assert_eq!([missing(&mesh, &sent[0], BOB), missing(&mesh, &sent[1], ALICE)], [0, 0]);
    mesh.discard();
    mesh.medium.rates[RELAY] = Some(BARELY * 4 / 10);
    let sent_bytes = |mesh: &Nodes| {
        [ALICE, BOB].map(|of| [(of, RELAY), (RELAY, of)].map(|hop| mesh.medium.sent_bytes(hop)))
    };
    let before = sent_bytes(&mesh);
    // of what each sends now the first 800 bytes are of what the other one sent before
    let sent = send(&mut mesh, &[(ALICE, BOB, &fourth), (BOB, ALICE, &other)]);
    assert_eq!([missing(&mesh, &sent[0], BOB), missing(&mesh, &sent[1], ALICE)], [0, 0]);
    let after = sent_bytes(&mesh);
    let took =
        |direction: usize| -> u64 { (0..2).map(|at| after[at][direction] - before[at][direction]).sum() };
    // of 800 bytes all chunks but the one in which they end, 128 bytes each, of which 18 bits each are in the
    // shim and 12 bytes beside
    let known = 800.0 - 64.0;
    let delta = (known - known / 128.0 * 18.0 / 8.0 - 12.0) / 1200.0;
    // there is one relay, which has what it passed on before: stations do not send it again either, and three
    // become 3 (1 - delta)
    let (whole, expected) = (before[0][0] as f64 / 200.0, 3.0 * (1.0 - delta));
    let transmissions = (took(0) + took(1)) as f64 / whole / 200.0;
    println!("{transmissions:.3} transmissions, {expected:.3} expected; {:?}", natives(&mesh));
    assert!((transmissions / expected - 1.0).abs() < 0.05, "{transmissions} for {expected}");
}

#[test]
fn what_is_lost_and_late_costs_savings_and_never_bytes() {
    for seed in 0..4 {
        let mut mesh = mesh(10 + seed, true);
        mesh.medium.rates[RELAY] = Some(BARELY);
        (mesh.medium.loss, mesh.medium.unheard, mesh.medium.late) = (0.02, 0.1, 6 * MS);
        let [there, back] =
            [contents(20 + seed, 200, 1100, 500), contents(30 + seed, 200, 1100, 500)].map(|[one, _]| one);
        let sent = send(&mut mesh, &[(ALICE, BOB, &there), (BOB, ALICE, &back)]);
        let missing = [missing(&mesh, &sent[0], BOB), missing(&mesh, &sent[1], ALICE)];
        let counted = natives(&mesh);
        println!("{counted:?}, {missing:?} missing");
        // what is lost while the relay's queue is long its sender is to hear of
        assert!(missing.iter().all(|missing| *missing <= 20), "{missing:?} of 200 are missing");
        assert!(counted[3] > 100, "{counted:?}");
    }
}

const CHLOE: usize = 3;
const DAVE: usize = 4;

/// Dave hears what Alice sends, and Bob what Chloe sends, beside the relay.
fn hears_across(one: usize, other: usize) -> bool {
    hears(one, other) || [(ALICE, DAVE), (CHLOE, BOB)].contains(&(one, other))
}

#[test]
fn what_crosses_at_the_relay_is_overheard_and_shares_frames() {
    let configs = configs(5, 4, true, hears_across);
    // one can answer only whom it hears: the pairs' sessions are made over a channel on which all hear all
    let mut mesh = Nodes::new(5, &configs, |_, _| true);
    mesh.medium.set_hears(hears_across);
    mesh.medium.rates[RELAY] = Some(BARELY);
    let [there, across] = [contents(6, 200, 1200, 0), contents(7, 200, 1200, 0)].map(|[one, _]| one);
    let sent = send(&mut mesh, &[(ALICE, BOB, &there), (CHLOE, DAVE, &across)]);
    let counted = natives(&mesh);
    println!("{counted:?}");
    assert_eq!([missing(&mesh, &sent[0], BOB), missing(&mesh, &sent[1], DAVE)], [0, 0]);
    assert!(counted[3] > 100, "{counted:?}");
}

#[test]
fn who_does_not_know_of_natives_is_sent_none() {
    let mut configs = configs(8, 2, true, hears);
    configs[BOB].mesh.codes = false;
    let mut mesh = Nodes::new(8, &configs, hears);
    let [there, back] = [contents(8, 50, 1200, 0), contents(9, 50, 1200, 0)].map(|[one, _]| one);
    let sent = send(&mut mesh, &[(ALICE, BOB, &there), (BOB, ALICE, &back)]);
    assert!(all(mesh.delivered(BOB)) == all(&sent[0]) && all(mesh.delivered(ALICE)) == all(&sent[1]));
    assert_eq!(natives(&mesh), [0; 5]);
}

/// A member whose ear is deaf says it can take natives apart, and never does: soon it is sent none.
#[test]
fn who_takes_nothing_out_is_left_alone() {
    let mut mesh = mesh(9, true);
    mesh.medium.rates[RELAY] = Some(BARELY);
    mesh.medium.unheard = 1.0;
    let [there, back] = [contents(10, 300, 800, 0), contents(11, 300, 800, 0)].map(|[one, _]| one);
    let sent = send(&mut mesh, &[(ALICE, BOB, &there), (BOB, ALICE, &back)]);
    let missing = [missing(&mesh, &sent[0], BOB), missing(&mesh, &sent[1], ALICE)];
    println!("{missing:?} missing, {:?}", natives(&mesh));
    assert!(missing.iter().all(|missing| *missing <= 3), "{missing:?} are missing");
    assert!(natives(&mesh)[1] < 100, "{:?}", natives(&mesh));
}

/// Who has the group's key can open the relay's unit, change it and seal it again: then it is lost, and never
/// taken for something else.
#[test]
fn what_a_member_changes_in_natives_is_believed_by_nobody() {
    /// Of a unit's plaintext: the first component's member, MAC and link sequence; then the frame's type.
    const BEFORE_FRAME: usize = 1 + 8 + 3;
    const GROUP: u8 = 4;
    /// ... which goes on to the unit's end.
    const NATIVES: u8 = 34 | 0x80;
    for seed in 0..4 {
        let mut mesh = mesh(40 + seed, true);
        mesh.medium.rates[RELAY] = Some(BARELY);
        let changed = std::rc::Rc::new(std::cell::Cell::new(0));
        let counter = changed.clone();
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        mesh.medium.forges = Some(Box::new(move |index, datagram| {
            let (header, plaintext) = datagram.split_at_mut(wire::unit::SEALED_HEADER_BYTES);
            let natives = header[0] == 1 << 4 | GROUP && plaintext.get(BEFORE_FRAME) == Some(&NATIVES);
            if index == RELAY && natives && rng.random_bool(0.2) {
                // as often in what is said of the components as in what they are
                let bound = if rng.random_bool(0.5) { plaintext.len().min(80) } else { plaintext.len() };
                plaintext[rng.random_range(0..bound)] ^= rng.random_range(1..=255u8);
                counter.set(counter.get() + 1);
            }
        }));
        let [there, back] =
            [contents(50 + seed, 200, 1100, 0), contents(60 + seed, 200, 1100, 0)].map(|[one, _]| one);
        let sent = send(&mut mesh, &[(ALICE, BOB, &there), (BOB, ALICE, &back)]);
        let missing = [missing(&mesh, &sent[0], BOB), missing(&mesh, &sent[1], ALICE)];
        println!("{} changed, {missing:?} missing, {:?}", changed.get(), natives(&mesh));
        assert!(changed.get() > 10, "{} were changed", changed.get());
        assert!(missing.iter().all(|missing| *missing <= 20), "{missing:?} of 200 are missing");
    }
}
