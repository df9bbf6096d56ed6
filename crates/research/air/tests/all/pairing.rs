//! Two runs with one seed meet the same air for any content.

use crate::driver::{lost_numbers, ms, number, numbered, run};
use air::{Bitrate, LinkConfig, LossConfig, RadioConfig, ReorderConfig, timing};
use proptest::prelude::*;

fn with_loss(loss: LossConfig) -> LinkConfig {
    LinkConfig { rate: Some(Bitrate::from_megabits_per_second(8)), loss, ..LinkConfig::default() }
}

fn length_independent() -> impl Strategy<Value = LossConfig> {
    let probability = 0.0..0.5f64;
    prop_oneof![
        probability.clone().prop_map(|probability| LossConfig::Bernoulli { probability }),
        (probability, 0.1..1.0f64)
            .prop_map(|(good_to_bad, bad_to_good)| LossConfig::SimpleGilbert { good_to_bad, bad_to_good }),
        "[01]{1,40}".prop_map(|bits| LossConfig::Trace { receptions: bits.parse().unwrap() }),
    ]
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(8usize..3000, 200)
}

proptest! {
    #[test]
    fn the_lost_indexes_do_not_depend_on_sizes(
        loss in length_independent(), seed: u64, one in sizes(), other in sizes(), retry_limit in 0u8..4,
    ) {
        let config = with_loss(loss);
        prop_assert_eq!(
            lost_numbers(&config, seed, one.iter().copied()),
            lost_numbers(&config, seed, other.iter().copied())
        );
        // Nor where each frame is tried several times.
        let radio = RadioConfig {
            standard: timing::Standard::G,
            rate: Bitrate::from_megabits_per_second(24),
            retry_limit,
        };
        let config = LinkConfig { rate: None, radio: Some(radio), ..config };
        prop_assert_eq!(
            lost_numbers(&config, seed, one.into_iter()),
            lost_numbers(&config, seed, other.into_iter())
        );
    }

    #[test]
    fn a_longer_frame_is_lost_wherever_the_shorter_one_is(
        rate in 1e-6..1e-4f64, seed: u64, shorter in sizes(), more in 0usize..1500,
    ) {
        let config = with_loss(LossConfig::BitErrors { rate });
        let of_shorter = lost_numbers(&config, seed, shorter.iter().copied());
        let of_longer = lost_numbers(&config, seed, shorter.iter().map(|bytes| bytes + more));
        prop_assert!(of_shorter.iter().all(|index| of_longer.binary_search(index).is_ok()));
    }

    #[test]
    fn what_little_loss_takes_more_loss_takes_too(seed: u64, low in 0.0..0.2f64, more in 0.0..0.5f64) {
        let lost = |probability| {
            lost_numbers(&with_loss(LossConfig::Bernoulli { probability }), seed, std::iter::repeat_n(100, 300))
        };
        let of_more = lost(low + more);
        prop_assert!(lost(low).iter().all(|index| of_more.binary_search(index).is_ok()));
    }

    #[test]
    fn other_troubles_do_not_change_which_frames_are_lost(loss in length_independent(), seed: u64, one in sizes()) {
        let config = with_loss(loss);
        let troubled = LinkConfig {
            reorder: Some(ReorderConfig { probability: 0.3, extra_delay: ms(5) }),
            duplicate: 0.2,
            delay: ms(50),
            ..config.clone()
        };
        prop_assert_eq!(
            lost_numbers(&config, seed, one.iter().copied()),
            lost_numbers(&troubled, seed, one.iter().copied())
        );
    }
}

/// The index counts transmitted frames: queue drops use none.
#[test]
fn frames_that_the_queue_drops_do_not_shift_the_losses() {
    let loss = LossConfig::Bernoulli { probability: 0.3 };
    let unhurried = lost_numbers(&with_loss(loss.clone()), 5, std::iter::repeat_n(1000, 400));

    let short = LinkConfig { queue_bytes: 2500, ..with_loss(loss) };
    let mut link = air::Link::new(&short, 5).unwrap();
    // Bursts of five into a queue for two: the third and fourth after the one on the air are dropped.
    let log = run(&mut link, (0..500).map(|count| (ms(count / 5 * 10), numbered(count, 1000))));
    assert_eq!(link.counters().queue_dropped.frames, 200);
    let transmitted: Vec<u64> = (0..500).filter(|count| count % 5 < 3).collect();
    let arrived: Vec<u64> = log.iter().map(|(_, frame)| number(frame)).collect();
    let lost: Vec<u64> = (0..300).filter(|&index| !arrived.contains(&transmitted[index as usize])).collect();
    let expected: Vec<u64> = unhurried.into_iter().filter(|&index| index < 300).collect();
    assert_eq!(lost, expected);
}

#[test]
fn different_seeds_lose_different_frames() {
    let config = with_loss(LossConfig::Bernoulli { probability: 0.2 });
    let lost = |seed| lost_numbers(&config, seed, std::iter::repeat_n(100, 500));
    assert_ne!(lost(1), lost(2));
}
