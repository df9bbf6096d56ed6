//! Receipts, both ends: sent sequences without a final state ([`Outstanding`]), and received sequences
//! without a report ([`Received`]).

mod outstanding;
mod received;

pub use outstanding::{Fate, Outstanding};
pub use received::{GAP_TOLD_AFTER, Received};

use std::time::Duration;

/// How long the receiver may sit on a receipt.
pub const RECEIPT_DELAY: Duration = Duration::from_millis(25);
/// Number of the newest sequences that both ends track: the packets in flight on a path of a gigabit a second
/// and a tenth of a second, with small packets, and once more until a repair has crossed it.
pub const HISTORY: usize = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use wire::receipt::{MAX_FRONT_BYTES, MAX_RUN_BYTES, Receipt, Runs, State};

    const MS: Duration = Duration::from_millis(1);

    /// The body of the next receipt.
    fn written(received: &mut Received, now: Duration) -> Vec<u8> {
        let mut frame = Vec::new();
        let runs = received.runs_within(usize::MAX).unwrap();
        received.write(now, 0, runs, &mut frame);
        let frame = wire::frame::Frames::new(&frame).next().unwrap().unwrap();
        frame.body.to_vec()
    }

    fn a_receipt(newest: u32, runs: &[u8]) -> Receipt<'_> {
        Receipt { newest, generation: 0, received: 1, delay_64us: 0, settled: 0, runs }
    }

    fn runs(states: &[State]) -> Vec<u8> {
        let mut runs = Runs::default();
        states.iter().for_each(|&state| assert!(runs.push(state, 1, usize::MAX)));
        runs.finish().to_vec()
    }

    #[test]
    fn a_receipt_measures_the_round_trip_without_its_own_delay() {
        let (mut outstanding, mut received) = (Outstanding::default(), Received::new(false));
        let sequence = outstanding.send(10 * MS);
        received.arrive(20 * MS, sequence);
        received.hold(sequence);
        let body = written(&mut received, 20 * MS + Duration::from_micros(6400));
        outstanding.receipt(36 * MS + Duration::from_micros(400), &Receipt::parse(&body).unwrap(), |_, _| {});
        assert_eq!(outstanding.srtt(), Some(20 * MS));
    }

    /// Packets 20 ms apart, a round trip of 50 ms. The second one is lost, and restored 9 ms later or never.
    #[test]
    fn a_packet_that_did_not_arrive_tells_neither_a_longer_round_trip_nor_a_shorter_one() {
        for is_restored in [true, false] {
            let (mut outstanding, mut received) = (Outstanding::default(), Received::new(true));
            for sequence in 0..2 {
                outstanding.send(sequence * 20 * MS);
            }
            received.arrive(25 * MS, 0);
            received.hold(0);
            let mut take = |received: &mut Received, now: Duration| {
                let body = written(received, now);
                outstanding.receipt(now + 25 * MS, &Receipt::parse(&body).unwrap(), |_, _| {});
                outstanding.delay().round_trips()
            };
            let told = take(&mut received, 25 * MS);
            assert_eq!(told, Some((50 * MS, Duration::ZERO)));
            if is_restored {
                received.restore(54 * MS, 1);
                received.hold(1);
            } else {
                received.reach(54 * MS, 2);
            }
            assert_eq!(take(&mut received, 54 * MS), told, "restored: {is_restored}");
        }
    }

    #[test]
    fn a_receipt_for_what_was_never_sent_is_refused() {
        let mut outstanding = Outstanding::default();
        outstanding.send(MS);
        let (runs, nothing) = (runs(&[State::Held; 2]), |_, _| panic!("nothing may be confirmed"));
        let receipt = a_receipt(1, &runs);
        assert_eq!(outstanding.newest_of(&receipt), None);
        assert!(!outstanding.receipt(MS, &receipt, nothing));
    }

    #[test]
    fn what_left_long_before_the_newest_is_lost_though_little_followed_it() {
        let mut outstanding = Outstanding::default();
        outstanding.sample_round_trip(Duration::ZERO, 20 * MS);
        for at in [0, 1, 200] {
            outstanding.send(at * MS);
        }
        let mut fates = Vec::new();
        let told = runs(&[State::Held, State::Missing]);
        outstanding.receipt(22 * MS, &a_receipt(1, &told), |sequence, fate| fates.push((sequence, fate)));
        assert_eq!(fates, [(1, Fate::Held)], "1 ms is no more than reordering");
        fates.clear();
        let told = runs(&[State::Held, State::Held, State::Missing]);
        outstanding.receipt(222 * MS, &a_receipt(2, &told), |sequence, fate| fates.push((sequence, fate)));
        assert_eq!(fates, [(2, Fate::Held), (0, Fate::Lost)]);
    }

    #[test]
    fn gaps_far_behind_are_told_in_turn_until_they_are_filled() {
        let mut received = Received::new(true);
        let sequences = 3000u64;
        for sequence in 0..sequences {
            received.arrive(MS, sequence);
            if sequence % 2 == 0 {
                received.hold(sequence);
            }
        }
        let mut told = BTreeSet::new();
        for _ in 0..25 {
            let body = written(&mut received, MS);
            assert!(body.len() <= MAX_FRONT_BYTES + MAX_RUN_BYTES);
            let receipt = Receipt::parse(&body).unwrap();
            assert_eq!(u64::from(receipt.settled), sequences - 1, "the first is held, the second is not");
            for (run, state) in receipt.runs().filter(|(_, state)| *state != State::Untold) {
                let sequences = run.map(|back| sequences - 1 - back);
                sequences.clone().for_each(|sequence| assert_eq!(state == State::Held, sequence % 2 == 0));
                told.extend(sequences);
            }
        }
        assert_eq!(told.len() as u64, sequences - 1);
        (0..sequences).for_each(|sequence| received.hold(sequence));
        let body = written(&mut received, MS);
        let receipt = Receipt::parse(&body).unwrap();
        assert_eq!(receipt.settled, 0);
        assert_eq!(receipt.runs().collect::<Vec<_>>(), [(0..sequences, State::Held)]);
    }

    proptest! {
        /// With any losses in either direction: a sequence reported as held is held, one reported as lost was
        /// not held when the receipt was written, and the measured loss is the actual one.
        #[test]
        fn fates_are_true(lost in proptest::collection::vec(any::<bool>(), 1..600),
                          receipts_lost in proptest::collection::vec(any::<bool>(), 1..100)) {
            let (mut outstanding, mut received) = (Outstanding::default(), Received::new(false));
            let mut now = Duration::ZERO;
            let mut receipts = 0;
            for &lost_here in &lost {
                now += MS;
                let sequence = outstanding.send(now);
                if lost_here { continue; }
                received.arrive(now, sequence);
                received.hold(sequence);
                received.want_receipt(now, 300);
                if received.worth_carrying(now) {
                    let body = written(&mut received, now);
                    receipts += 1;
                    if receipts_lost[receipts % receipts_lost.len()] { continue; }
                    let receipt = Receipt::parse(&body).unwrap();
                    let mut fates = Vec::new();
                    prop_assert!(outstanding.newest_of(&receipt).is_some());
                    outstanding.receipt(now, &receipt, |sequence, fate| fates.push((sequence, fate)));
                    for (sequence, fate) in fates {
                        prop_assert_eq!(fate == Fate::Held, !lost[sequence as usize]);
                    }
                }
            }
            if let Some(loss) = outstanding.loss() {
                let upto = outstanding.newest_reported.unwrap() as usize;
                let truth = lost[..=upto].iter().filter(|&&lost| lost).count() as f64 / (upto + 1) as f64;
                prop_assert!((loss - truth).abs() < 0.03 + 2.0 / (upto + 1) as f64, "{} {}", loss, truth);
            }
        }
    }
}
