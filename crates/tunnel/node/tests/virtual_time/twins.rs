//! One end loses what the two share, while the other does not: two machines have a key in turn, or an image
//! is restored. Both agree soon.

use crate::pair::{GATEWAY, Pair, Road, STATION, repetitive, tcp};
use node::Event;
use proptest::prelude::*;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

fn pair(seed: u64) -> Pair {
    Pair::new(seed, Road::default(), &re::Parameters::default())
}

/// Carries packets both ways for a while.
fn carry(pair: &mut Pair, count: usize) {
    for payload in repetitive(9, count) {
        pair.send(GATEWAY, &tcp(STATION, count as u32, &payload));
        pair.send(STATION, &tcp(GATEWAY, count as u32, &payload[..100]));
        pair.run(5 * MS);
    }
}

/// Whether a packet arrives in each direction, and whether receipts say so.
fn is_in_agreement(pair: &mut Pair) -> bool {
    pair.run(SECOND);
    (0..2).for_each(|node| drop(pair.take_delivered(node)));
    let before = [GATEWAY, STATION].map(|node| pair.status(node).peers[0].counters);
    for number in 0..40 {
        pair.send(GATEWAY, &tcp(STATION, number, b"down"));
        pair.send(STATION, &tcp(GATEWAY, number, b"up"));
        pair.run(10 * MS);
    }
    pair.run(SECOND);
    [GATEWAY, STATION].into_iter().zip(before).all(|(node, before)| {
        let now = pair.status(node).peers[0].counters;
        pair.delivered(node).len() == 40
            && now.bad_frames == before.bad_frames
            && now.receipts_received > before.receipts_received
    })
}

fn warnings(pair: &Pair) -> usize {
    pair.events().iter().filter(|(_, _, event)| matches!(event, Event::SameKey { .. })).count()
}

#[test]
fn a_machine_that_comes_back_after_its_twin_is_understood_and_warned_of() {
    let mut pair = pair(1);
    carry(&mut pair, 300);
    let (home, away) = (pair.address(STATION), "203.0.113.77:40001".parse().unwrap());
    let twin = pair.twin(STATION);
    pair.move_to(STATION, away);
    let first = pair.replace(STATION, twin);
    carry(&mut pair, 30);
    assert!(is_in_agreement(&mut pair), "the twin");
    assert_eq!(warnings(&pair), 0, "a station may start anew elsewhere");
    pair.move_to(STATION, home);
    let twin = pair.replace(STATION, first);
    carry(&mut pair, 100);
    assert!(is_in_agreement(&mut pair), "the first machine again");
    assert_eq!(warnings(&pair), 1);
    pair.move_to(STATION, away);
    pair.replace(STATION, twin);
    carry(&mut pair, 100);
    assert!(is_in_agreement(&mut pair), "the twin again");
}

#[test]
fn an_image_that_is_restored_begins_a_link_of_its_own() {
    for (node, earlier, later) in [(STATION, 60, 300), (GATEWAY, 60, 300), (STATION, 2, 1500)] {
        // equal seeds give equal runs: an earlier moment of one pair is an image of the other
        let [mut image, mut pair] = [pair(2), pair(2)];
        carry(&mut image, earlier);
        carry(&mut pair, later);
        let twin = image.twin(node);
        pair.replace(node, image.replace(node, twin));
        carry(&mut pair, 40);
        pair.run(15 * SECOND);
        carry(&mut pair, 40);
        assert!(is_in_agreement(&mut pair), "{node} after {earlier} of {later}");
    }
}

/// The first machine comes back while both ends have noticed that they do not agree: handshakes of both
/// cross.
#[test]
fn handshakes_of_both_ends_that_cross_begin_one_link() {
    let mut pair = pair(113);
    carry(&mut pair, 50);
    let mut idle = pair.twin(STATION);
    for (round, gateway_speaks) in [false, true, false].into_iter().enumerate() {
        let next = std::mem::replace(&mut idle, pair.twin(GATEWAY));
        idle = pair.replace(STATION, next);
        if gateway_speaks {
            pair.send(GATEWAY, &tcp(STATION, 1, b"first"));
            pair.run(SECOND);
        }
        carry(&mut pair, 20);
        pair.run(12 * SECOND);
        assert!(is_in_agreement(&mut pair), "round {round}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever machines have the key in turn, and whoever speaks first.
    #[test]
    fn machines_in_any_turn_are_understood(
        seed in 0u64..1000,
        turns in prop::collection::vec((0usize..3, 0u64..12, any::<bool>()), 1..6),
    ) {
        let mut pair = pair(seed);
        carry(&mut pair, 50);
        let mut idle = [pair.twin(STATION), pair.twin(STATION)];
        for (which, seconds, gateway_speaks) in turns {
            if let Some(place) = idle.get_mut(which) {
                let next = std::mem::replace(place, pair.twin(GATEWAY));
                *place = pair.replace(STATION, next);
            }
            if gateway_speaks {
                pair.send(GATEWAY, &tcp(STATION, 1, b"first"));
            }
            pair.run(Duration::from_secs(seconds));
            carry(&mut pair, 20);
            pair.run(12 * SECOND);
            prop_assert!(is_in_agreement(&mut pair));
        }
    }
}
