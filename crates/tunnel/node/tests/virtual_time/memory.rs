//! One budget of memory: stores change their sizes within a session, and idle peers give memory back.

use crate::pair::{GATEWAY, Pair, Road, STATION, tcp};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::Parameters;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);
const MIB: usize = 1 << 20;

/// Two nodes with these budgets, in MiB.
fn pair(road: Road, budgets_mib: [usize; 2]) -> Pair {
    let parameters = Parameters { store_bytes: 1 << 30, ..Parameters::default() };
    let mut pair = Pair::new(41, road, &parameters);
    for node in [GATEWAY, STATION] {
        pair.configs[node].memory_bytes = Some(budgets_mib[node] * MIB);
        pair.reboot(node);
    }
    pair.run(5 * SECOND);
    pair
}

/// Sends so many packets of random content to the station.
fn send(pair: &mut Pair, seed: u64, packets: usize) {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    for number in 0..packets {
        let payload: Vec<u8> = (0..1200).map(|_| rng.random()).collect();
        pair.send(GATEWAY, &tcp(STATION, number as u32 * 1200, &payload));
        pair.run(4 * MS);
        let _ = pair.delivered(STATION);
    }
}

/// Sizes of the store of packets to the station: at the sender, and at the receiver.
fn sizes(pair: &Pair) -> (usize, usize) {
    let [sender, receiver] = [GATEWAY, STATION].map(|node| pair.status(node).peers[0].clone());
    (sender.store_bytes.unwrap(), receiver.received_store_bytes.unwrap())
}

#[test]
fn a_store_grows_within_the_session_to_what_both_budgets_have_room_for() {
    let road = Road { loss: 0.05, ..Road::default() };
    let mut pair = pair(road, [64, 12]);
    let (before, _) = sizes(&pair);
    for pass in 0..2 {
        let sent_bytes = pair.status(GATEWAY).peers[0].counters.outer_sent_bytes;
        send(&mut pair, 1, 3500);
        let sent_bytes = pair.status(GATEWAY).peers[0].counters.outer_sent_bytes - sent_bytes;
        if pass == 1 {
            assert!(sent_bytes < 3500 * 600, "{sent_bytes} bytes for what the peer has");
        }
        for (node, budget_mib) in [(GATEWAY, 64), (STATION, 12)] {
            let memory = pair.status(node).memory.unwrap();
            assert!(memory.used_bytes <= budget_mib * MIB, "{memory:?}");
        }
        let (used, kept) = sizes(&pair);
        assert!(used <= kept && used > before, "{used} of {kept}, {before} before");
    }
    let status = pair.status(STATION);
    assert_eq!(status.peers[0].counters.sessions, 1);
    assert!(status.memory.unwrap().used_bytes > 3500 * 1200);
}

#[test]
fn an_idle_peer_gives_its_memory_back_and_begins_again_without_a_miss() {
    let mut pair = pair(Road::default(), [32, 32]);
    let used = |pair: &Pair| [GATEWAY, STATION].map(|node| pair.status(node).memory.unwrap().used_bytes);
    assert!(used(&pair).iter().all(|bytes| *bytes < 64 << 10), "{:?}", used(&pair));
    send(&mut pair, 1, 3000);
    assert!(used(&pair).iter().all(|bytes| *bytes > 3 * MIB), "{:?}", used(&pair));
    pair.run(1000 * SECOND);
    assert!(used(&pair).iter().all(|bytes| *bytes < MIB), "{:?}", used(&pair));
    send(&mut pair, 2, 2000);
    send(&mut pair, 2, 2000);
    let (used, kept) = sizes(&pair);
    assert!(used <= kept && used > 4 * MIB, "{used} of {kept}");
    let counters = pair.status(STATION).peers[0].counters;
    assert_eq!(counters.missed, 0);
    assert!(counters.reduced_received_packets > 1900, "{counters:?}");
}

#[test]
fn a_node_that_keeps_all_packets_together_has_stores_of_a_fixed_size() {
    let mut pair = pair(Road::default(), [64, 8]);
    pair.configs[STATION].reduce.keeping = re::Keeping::Together;
    pair.reboot(STATION);
    pair.run(5 * SECOND);
    let before = sizes(&pair);
    send(&mut pair, 1, 2500);
    send(&mut pair, 1, 2500);
    assert_eq!(sizes(&pair), before);
    assert_eq!(before.0, before.1);
    let counters = pair.status(STATION).peers[0].counters;
    assert_eq!(counters.missed, 0);
}
