//! The retransmissions, their number, and their bounds.

use super::*;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn again(recover: &mut Recover) -> Vec<(u64, bool)> {
    let mut all = Vec::new();
    while let Some(next) = recover.next_again() {
        all.push((next.sequence, next.store_only));
        recover.sent_again();
    }
    all
}

#[test]
fn what_is_parked_is_not_sent_again_unless_what_it_needs_was_given_up() {
    let mut recover = Recover::default();
    recover.keep(MS, 1, (1, FrameType::Packet, b"one"), 0);
    recover.keep(MS, 2, (1, FrameType::ReducedCompact, b"two"), 0);
    recover.refers_to(1);
    recover.keep(MS, 3, (1, FrameType::ReducedCompact, b"three"), 0);
    recover.keep(MS, 4, (1, FrameType::ReducedCompact, b"four"), 0);
    recover.refers_to(3);
    for _ in 0..MAX_TRIES {
        recover.missing(1, false);
        recover.parked(2);
        recover.missing(3, true);
        recover.confirmed(3, false);
        recover.schedule();
        assert_eq!(again(&mut recover), [(1, false)]);
    }
    recover.missing(1, false);
    recover.schedule();
    assert_eq!(again(&mut recover), [], "enough");
    let mut doubted = Vec::new();
    recover.take_doubted(|sequence| doubted.push(sequence));
    assert_eq!(doubted, [2]);
    assert!(recover.next_again().is_some_and(|again| again.sequence == 2 && again.as_it_was));
    recover.confirmed(2, false);
    recover.confirmed(4, false);
    assert_eq!(recover.bytes, 0);
    assert!(recover.kept.is_empty());
}

#[test]
fn what_congestion_lost_is_sent_again_only_where_something_refers_to_it() {
    let mut recover = Recover::default();
    (1..=4).for_each(|sequence| recover.keep(MS, sequence, (1, FrameType::Packet, b"packet"), 0));
    recover.refers_to(2);
    recover.missing(1, true);
    recover.missing(2, true);
    recover.missing(3, false);
    recover.schedule();
    assert_eq!(again(&mut recover), [(2, true), (3, false)]);
    recover.take_doubted(|sequence| panic!("{sequence} depends on nothing that was given up"));
}

#[test]
fn the_tail_is_probed_ever_more_slowly_and_then_given_up() {
    let mut recover = Recover::default();
    recover.keep(MS, 7, (1, FrameType::Packet, b"tail"), 0);
    recover.rearm(Duration::ZERO, 10 * MS);
    let mut at = Duration::ZERO;
    let mut probes = 0;
    while let Some(next) = recover.timeout() {
        assert!(next > at, "time passes");
        at = next;
        recover.probe(at, 10 * MS);
        probes += again(&mut recover).len();
        assert!(probes <= 10, "bounded");
    }
    assert_eq!(probes, usize::from(MAX_TRIES));
    assert!(recover.kept.is_empty());
}

proptest! {
    /// After any reports, bounds hold, the number of retransmissions is bounded, and confirmed packets are
    /// not retransmitted.
    #[test]
    fn bounds_hold(steps in proptest::collection::vec((0u8..6, 0u64..64, 0usize..3000), 1..600)) {
        let mut recover = Recover::default();
        let mut next = 0u64;
        let mut confirmed = std::collections::BTreeSet::new();
        let mut sent = std::collections::BTreeMap::<u64, u8>::new();
        for (step, back, length) in steps {
            let some = next.saturating_sub(back);
            match step {
                0 | 1 => {
                    recover.keep(MS, next, (1, FrameType::Packet, &vec![0; length]), 0);
                    next += 1;
                }
                2 => {
                    recover.confirmed(some, false);
                    confirmed.insert(some);
                }
                3 => recover.missing(some, back % 2 == 0),
                4 => recover.schedule(),
                _ => {
                    if let Some(again) = recover.next_again() {
                        prop_assert!(!confirmed.contains(&again.sequence) || again.sequence >= next);
                        let sequence = again.sequence;
                        recover.sent_again();
                        let times = sent.entry(sequence).or_default();
                        *times += 1;
                        prop_assert!(*times <= MAX_TRIES);
                    }
                }
            }
            if step == 0 || step == 1 {
                confirmed.remove(&(next - 1));
            }
            prop_assert!(recover.kept.len() <= MAX_PACKETS);
            let bytes: usize = recover.kept.iter().filter(|kept| kept.frame_type.is_some())
                .map(|kept| kept.body.len()).sum();
            prop_assert_eq!(bytes, recover.bytes);
            prop_assert!(bytes <= MAX_BYTES.max(3000));
            prop_assert!(recover.again.len() <= MAX_PACKETS + 64);
        }
    }
}
