//! A node counts what it has: what its status says of memory is what it allocated.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod two_nodes;

use allocation_counter::measure;
use etherparse::PacketBuilder;
use node::{Memory, Shortening};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use sim::network::Network;
use std::time::Duration;
use two_nodes::{Lossy, two_nodes};

/// The budget of each node: most of such stores is from the allocator, which the test counts.
const BUDGET: usize = 5 << 20;
/// Packets that wait together at the sender.
const TOGETHER: usize = 40;
const TURN: Duration = Duration::from_millis(10);
const TURNS: usize = 250;

fn network(loses_one_in: Option<u64>) -> Network<Lossy> {
    let mut network = two_nodes(|config| {
        config.memory = Some(Memory { bytes: BUDGET, nodes: 1 });
        config.reduce.store_bytes = 1 << 30;
        config.shorten = Shortening::ALL;
    });
    (network.medium.loses_one_in, network.medium.after) = (loses_one_in, Duration::from_millis(30));
    network
}

/// Packets both ways, of which some repeat.
fn load(network: &mut Network<Lossy>) {
    let rng = &mut ChaCha12Rng::seed_from_u64(9);
    let mut stock = vec![0; 200_000];
    rng.fill_bytes(&mut stock);
    for turn in 0..TURNS {
        for from in [0, 1] {
            for number in 0..TOGETHER {
                let mut payload = vec![0; 1200];
                rng.fill_bytes(&mut payload);
                let at = rng.random_range(0..stock.len() - 600);
                payload[..600].copy_from_slice(&stock[at..at + 600]);
                let mut packet = Vec::new();
                let sequence = (turn * TOGETHER + number) as u32 * 1200;
                PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
                    .tcp(80, 1000 + (number % 7) as u16, sequence, 1000)
                    .write(&mut packet, &payload)
                    .unwrap();
                network.send(from, &packet);
            }
        }
        network.run(TURN);
        network.discard();
    }
}

#[test]
fn what_a_node_says_of_its_memory_is_what_it_allocated() {
    for loses_one_in in [None, Some(50)] {
        let mut kept = None;
        let allocated = measure(|| {
            let mut network = network(loses_one_in);
            load(&mut network);
            kept = Some(network);
        });
        let network = kept.unwrap();
        let said: Vec<_> = [0, 1].map(|at| network.status(at).memory.unwrap()).to_vec();
        let sum: usize = said.iter().map(|it| it.store_bytes + it.other_bytes).sum();
        // the rest is what the network between them has under way, and small tables; large tables are mapped,
        // and not the allocator's
        let share = sum as f64 / allocated.bytes_current as f64;
        assert!((0.8..1.06).contains(&share), "{share:.3}: {} of {said:?}", allocated.bytes_current);
    }
}
