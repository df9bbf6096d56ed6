//! The retransmissions, their number, and their bounds.

use super::*;
use proptest::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn again(sender: &mut Sender) -> Vec<(u64, bool)> {
    let mut all = Vec::new();
    while let Some(next) = sender.next_retransmission(MS) {
        all.push((next.sequence, next.store_only));
        sender.mark_retransmitted();
    }
    all
}

#[test]
fn what_is_parked_is_not_sent_again_unless_what_it_needs_was_given_up() {
    let mut sender = Sender::default();
    sender.keep(MS, 1, Copy::Frame(1, FrameType::Packet, b"one"), (0, Duration::MAX / 4));
    sender.keep(MS, 2, Copy::Frame(1, FrameType::ReducedCompact, b"two"), (0, Duration::MAX / 4));
    sender.refers_to(1);
    sender.keep(MS, 3, Copy::Frame(1, FrameType::ReducedCompact, b"three"), (0, Duration::MAX / 4));
    sender.keep(MS, 4, Copy::Frame(1, FrameType::ReducedCompact, b"four"), (0, Duration::MAX / 4));
    sender.refers_to(3);
    for _ in 0..MAX_TRIES {
        sender.missing(1, false);
        sender.parked(2);
        sender.missing(3, true);
        sender.confirmed(3, false);
        sender.schedule();
        assert_eq!(again(&mut sender), [(1, false)]);
    }
    sender.missing(1, false);
    sender.schedule();
    assert_eq!(again(&mut sender), [], "enough");
    let mut doubted = Vec::new();
    sender.take_doubted(|sequence| doubted.push(sequence));
    assert_eq!(doubted, [2]);
    assert!(sender.next_retransmission(MS).is_some_and(|again| again.sequence == 2 && again.as_it_was));
    sender.confirmed(2, false);
    sender.confirmed(4, false);
    assert_eq!(sender.bytes, 0);
    assert!(sender.kept.is_empty());
}

#[test]
fn what_congestion_lost_is_sent_again_only_where_something_refers_to_it() {
    let mut sender = Sender::default();
    (1..=4).for_each(|sequence| {
        sender.keep(MS, sequence, Copy::Frame(1, FrameType::Packet, b"packet"), (0, Duration::MAX / 4))
    });
    sender.refers_to(2);
    sender.missing(1, true);
    sender.missing(2, true);
    sender.missing(3, false);
    sender.schedule();
    assert_eq!(again(&mut sender), [(2, true), (3, false)]);
    sender.take_doubted(|sequence| panic!("{sequence} depends on nothing that was given up"));
}

#[test]
fn the_tail_is_probed_ever_more_slowly_and_then_given_up() {
    let mut sender = Sender::default();
    sender.keep(MS, 7, Copy::Frame(1, FrameType::Packet, b"tail"), (0, Duration::MAX / 4));
    sender.rearm(Duration::ZERO, 10 * MS);
    let mut at = Duration::ZERO;
    let mut probes = 0;
    while let Some(next) = sender.timeout() {
        assert!(next > at, "time passes");
        at = next;
        sender.probe(at, 10 * MS);
        probes += again(&mut sender).len();
        assert!(probes <= 10, "bounded");
    }
    assert_eq!(probes, usize::from(MAX_TRIES));
    assert!(sender.kept.is_empty());
}

proptest! {
    /// After any reports, bounds hold, the number of retransmissions is bounded, and confirmed packets are
    /// not retransmitted.
    #[test]
    fn bounds_hold(steps in proptest::collection::vec((0u8..6, 0u64..64, 0usize..3000), 1..600)) {
        let mut sender = Sender::default();
        let mut next = 0u64;
        let mut confirmed = std::collections::BTreeSet::new();
        let mut sent = std::collections::BTreeMap::<u64, u8>::new();
        for (step, back, length) in steps {
            let some = next.saturating_sub(back);
            match step {
                0 | 1 => {
                    sender.keep(MS, next, Copy::Frame(1, FrameType::Packet, &vec![0; length]), (0, Duration::MAX / 4));
                    next += 1;
                }
                2 => {
                    sender.confirmed(some, false);
                    confirmed.insert(some);
                }
                3 => sender.missing(some, back % 2 == 0),
                4 => sender.schedule(),
                _ => {
                    if let Some(again) = sender.next_retransmission(MS) {
                        prop_assert!(!confirmed.contains(&again.sequence) || again.sequence >= next);
                        let sequence = again.sequence;
                        sender.mark_retransmitted();
                        let times = sent.entry(sequence).or_default();
                        *times += 1;
                        prop_assert!(*times <= MAX_TRIES);
                    }
                }
            }
            if step == 0 || step == 1 {
                confirmed.remove(&(next - 1));
            }
            prop_assert!(sender.kept.len() <= MAX_PACKETS);
            let bytes: usize = sender.kept.iter().filter(|kept| kept.frame_type.is_some())
                .map(|kept| kept.body.len()).sum();
            prop_assert_eq!(bytes, sender.bytes);
            prop_assert!(bytes <= MAX_BYTES.max(3000));
            prop_assert!(sender.waiting.len() <= MAX_PACKETS + 64);
        }
    }
}

#[test]
fn a_packet_that_is_kept_elsewhere_counts_and_has_no_body() {
    let mut sender = Sender::default();
    sender.keep(MS, 1, Copy::Elsewhere(1400), (0, Duration::MAX / 4));
    assert_eq!(sender.bytes, 1400);
    sender.missing(1, false);
    sender.schedule();
    let again = sender.next_retransmission(MS).expect("it is lost");
    assert_eq!((again.frame_type, again.body), (FrameType::Packet, None));
    sender.confirmed(1, false);
    assert_eq!(sender.bytes, 0);
}

#[test]
fn what_is_too_old_is_given_up_and_sent_for_the_store_alone_if_others_refer_to_it() {
    let mut sender = Sender::default();
    for sequence in [1, 2] {
        sender.keep(MS, sequence, Copy::Frame(1, FrameType::Packet, b"call"), (0, 1000 * MS));
    }
    sender.keep(MS, 3, Copy::Frame(1, FrameType::ReducedCompact, b"three"), (0, 1000 * MS));
    sender.refers_to(2);
    [1, 2].into_iter().for_each(|sequence| sender.missing(sequence, false));
    sender.schedule();
    assert!(sender.next_retransmission(1000 * MS).is_some_and(|again| !again.store_only));
    let again = sender.next_retransmission(1002 * MS).map(|again| (again.sequence, again.store_only));
    assert_eq!(again, Some((2, true)));
    assert_eq!(sender.take_dropped_old(), 2);
}
