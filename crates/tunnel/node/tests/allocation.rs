//! A node allocates nothing for packets: in steady state every buffer has been used before.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod two_nodes;

use allocation_counter::measure;
use etherparse::PacketBuilder;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use sim::network::Network;
use std::time::Duration;
use two_nodes::{Lossy, two_nodes};

/// Packets that wait together at the sender.
const TOGETHER: usize = 8;
/// The time that these take on the air.
const TURN: Duration = Duration::from_millis(10);
/// Packets of the transfer whose allocations are counted.
const COUNTED: usize = 8000;
/// In so many packets one allocation is none a packet: tables grow now and then, and boxes are turned over.
const PACKETS_AN_ALLOCATION: u64 = 100;

/// Lets both send what they have until neither has anything; how many packets are delivered.
fn settle(network: &mut Network<Lossy>) -> usize {
    network.advance(TURN);
    let now = network.now();
    let mut quiet = false;
    while !quiet {
        quiet = true;
        for from in [0, 1] {
            network.node_mut(from).handle_timeout(now);
            quiet &= network.hand_over(from) == 0;
        }
    }
    let delivered = network.delivered(0).len() + network.delivered(1).len();
    network.discard();
    delivered
}

/// Carries packets; each is answered by a short one. How many are delivered.
fn carry(network: &mut Network<Lossy>, packets: &[Vec<u8>]) -> usize {
    let mut delivered = 0;
    for together in packets.chunks(TOGETHER) {
        together.iter().for_each(|packet| network.offer_packet(0, packet));
        delivered += settle(network);
    }
    delivered
}

/// Segments of which this share is taken from a stock that is smaller than the store.
fn segments(count: usize, repeats: f64) -> Vec<Vec<u8>> {
    let rng = &mut ChaCha12Rng::seed_from_u64(3);
    let mut stock = vec![0; 1 << 20];
    rng.fill_bytes(&mut stock);
    (0..count)
        .map(|number| {
            let mut payload = vec![0; 1200];
            rng.fill_bytes(&mut payload);
            if rng.random_bool(repeats) {
                let from = rng.random_range(0..stock.len() - 800);
                payload[200..1000].copy_from_slice(&stock[from..from + 800]);
            }
            let mut packet = Vec::new();
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
                .tcp(80, 4242, number as u32 * 1200, 1000)
                .write(&mut packet, &payload)
                .unwrap();
            packet
        })
        .collect()
}

/// Allocations while [`COUNTED`] packets are carried, of which so many repeat something.
fn allocations(repeats: f64, loses_one_in: Option<u64>) -> u64 {
    let mut together = two_nodes(|_| ());
    let packets = segments(5 * COUNTED, repeats);
    let (first, counted) = packets.split_at(4 * COUNTED);
    together.medium.loses_one_in = loses_one_in;
    let before = carry(&mut together, first);
    assert!(before * 100 >= first.len() * 99, "{before} of {} came", first.len());
    let mut delivered = 0;
    let info = measure(|| delivered = carry(&mut together, counted));
    assert!(delivered * 100 >= counted.len() * 99, "the counted ones came, too");
    info.count_total
}

#[test]
fn packets_that_repeat_nothing_allocate_nothing() {
    let count = allocations(0.0, None);
    assert!(count < COUNTED as u64 / PACKETS_AN_ALLOCATION, "{count} allocations for {COUNTED} packets");
}

#[test]
fn packets_that_are_reduced_allocate_nothing() {
    let count = allocations(0.9, None);
    assert!(count < COUNTED as u64 / PACKETS_AN_ALLOCATION, "{count} allocations for {COUNTED} packets");
}

#[test]
fn what_is_lost_and_sent_again_allocates_seldom() {
    let count = allocations(0.5, Some(50));
    assert!(count < COUNTED as u64 / 10, "{count} allocations for {COUNTED} packets");
}
