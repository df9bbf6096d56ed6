//! Losses on the hop are repaired at the hop, and the sender sees only the others.

use crate::hop::{Flow, Hop, MS, acknowledgment, data, segment};
use proptest::prelude::*;
use recovery::pattern::Pattern;
use recovery::{Coding, Repair, Replacement, Settings, Snoop, Undoes, Verdict};
use std::time::Duration;

const PLAIN: Settings = Settings { buffer_packets: 100, replacement: Replacement::None, coding: Coding::Off };

fn coded(buffer_packets: usize, degree: u8, distance: u8) -> Settings {
    let coding = Coding::Fixed(Pattern { degree, distance });
    Settings { buffer_packets, coding, ..PLAIN }
}

fn flows() -> impl Iterator<Item = Flow> {
    let both = [false, true];
    both.into_iter()
        .flat_map(move |v6| both.map(|sack| Flow { v6, sack, first: u32::MAX - 20_000, ..Flow::default() }))
}

#[test]
fn a_lost_segment_is_sent_again_from_here_and_the_sender_is_told_nothing() {
    for flow in flows() {
        for settings in [PLAIN, coded(10, 2, 1), coded(10, 3, 2)] {
            let mut hop = Hop::new(&settings, flow, 16, [1000; 200]);
            assert!(hop.carry(|crossing| [20, 50, 51, 90, 130].contains(&crossing)));
            let statistics = hop.snoop.statistics;
            // In pairs of neighbours, two consecutive losses cannot be restored from each other.
            let at_most = if settings.coding == PLAIN.coding { 0 } else { 2 };
            assert!(hop.repeated <= at_most, "{flow:?} {settings:?}: {} {statistics:?}", hop.repeated);
            assert!(
                statistics.suppressed > 5 && statistics.repairs + statistics.coded_repairs >= 3,
                "{statistics:?}"
            );
            assert_eq!(hop.snoop.bytes(), 0, "everything was acknowledged");
        }
    }
}

#[test]
fn what_was_not_kept_is_left_to_the_sender() {
    let settings = Settings { buffer_packets: 1, ..PLAIN };
    let mut hop = Hop::new(&settings, Flow::default(), 16, [1000; 60]);
    assert!(hop.carry(|crossing| crossing == 5));
    assert_eq!((hop.repeated, hop.snoop.statistics.failures), (1, 1));
    assert_eq!(hop.snoop.statistics.suppressed, 0);
}

#[test]
fn a_coded_packet_whose_partner_is_lost_too_is_given_up_at_once() {
    let mut hop = Hop::new(&coded(10, 2, 1), Flow::default(), 16, [1000; 60]);
    assert!(hop.carry(|crossing| [20, 21].contains(&crossing)));
    let statistics = hop.snoop.statistics;
    assert_eq!(statistics.coded_repairs, 0, "{statistics:?}");
    assert!(statistics.failures >= 1 && hop.repeated >= 1);
    // At a larger distance they can.
    let mut hop = Hop::new(&coded(10, 2, 2), Flow::default(), 16, [1000; 60]);
    assert!(hop.carry(|crossing| [20, 21].contains(&crossing)));
    assert_eq!((hop.repeated, hop.snoop.statistics.coded_repairs), (0, 2));
}

#[test]
fn rows_repair_as_many_losses_as_there_are_rows() {
    let settings = Settings { buffer_packets: 6, coding: Coding::ReedSolomon, ..PLAIN };
    // The first ten arrive at once.
    let run = |burst: std::ops::Range<usize>, settings: &Settings| {
        let mut hop = Hop::new(settings, Flow::default(), 10, [1000; 100]);
        assert!(hop.carry(|crossing| burst.contains(&crossing)));
        (hop.repeated, hop.snoop.statistics)
    };
    for lost in 1..=3 {
        let (repeated, statistics) = run(2..2 + lost, &settings);
        assert_eq!((repeated, statistics.failures), (0, 0), "{lost} lost: {statistics:?}");
        assert!(statistics.coded_repairs as usize >= lost, "{statistics:?}");
    }
    // Pairs of neighbours in as much room do not repair two consecutive losses.
    assert!(run(2..4, &coded(6, 2, 1)).1.failures > 0);
}

#[test]
fn a_row_that_waits_is_sent_again_only_when_the_next_one_did_not_help() {
    let settings = Settings { buffer_packets: 4, coding: Coding::ReedSolomon, ..PLAIN };
    let mut snoop = Snoop::new(&settings, Undoes::Rows);
    let flow = Flow::default();
    let at = |number: u32| 1 + number * 1000;
    let leave = |snoop: &mut Snoop, numbers: std::ops::Range<u32>| {
        for number in numbers {
            let packet = data(&flow, at(number), 1000);
            snoop.handle_departure(MS, &packet, &segment(&packet));
        }
    };
    // Number of rows sent when these segments have arrived and the first has not.
    let repairs = |snoop: &mut Snoop, arrived: &[(u32, u32)]| {
        let blocks: Vec<(u32, u32)> = arrived.iter().map(|it| (at(it.0), at(it.1))).collect();
        let mut packet = acknowledgment(&flow, at(0), &blocks);
        let segment = segment(&packet);
        let _ = snoop.handle_arrival(20 * MS, &mut packet, &segment);
        std::iter::from_fn(|| snoop.poll_repair(20 * MS, &mut Vec::new())).count()
    };
    leave(&mut snoop, 0..5);
    assert_eq!(repairs(&mut snoop, &[(1, 3)]), 1, "the first is lost");
    leave(&mut snoop, 5..7);
    assert_eq!(
        repairs(&mut snoop, &[(1, 3), (4, 7)]),
        1,
        "the fourth too, and one more row is enough for both"
    );
    leave(&mut snoop, 7..9);
    assert_eq!(repairs(&mut snoop, &[(1, 3), (4, 9)]), 2, "one of the two did not arrive");
}

#[test]
fn a_lost_tail_is_sent_again_by_the_timeout_and_three_times_at_most() {
    let mut hop = Hop::new(&PLAIN, Flow::default(), 8, [1000; 40]);
    assert!(hop.carry(|crossing| crossing == 39));
    assert_eq!((hop.repeated, hop.snoop.statistics.timeouts), (0, 1));

    let flow = Flow::default();
    let mut snoop = Snoop::new(&PLAIN, Undoes::Rows);
    let packet = data(&flow, 1, 500);
    snoop.handle_departure(MS, &packet, &segment(&packet));
    let mut tries = 0;
    let mut at = MS;
    while let Some(next) = snoop.timeout() {
        assert!(next > at, "ever later");
        at = next;
        snoop.handle_timeout(at);
        let mut out = Vec::new();
        while let Some(repair) = snoop.poll_repair(at, &mut out) {
            assert_eq!((repair, &out), (Repair::Packet, &packet), "as it was");
            out.clear();
            tries += 1;
        }
        assert!(tries <= 3);
    }
    assert_eq!((tries, snoop.statistics.failures), (3, 1));
}

#[test]
fn what_the_sender_repeats_is_kept_as_it_is_however_full_the_buffer_is() {
    let flow = Flow::default();
    for undoes in [Undoes::Sums, Undoes::Rows] {
        let adaptive = Settings { buffer_packets: 2, coding: Coding::Adaptive, ..PLAIN };
        let mut snoop = Snoop::new(&adaptive, undoes);
        let leaves = |snoop: &mut Snoop, at: Duration, numbers: std::ops::Range<u32>| {
            for number in numbers {
                let packet = data(&flow, 1 + number * 1000, 1000);
                snoop.handle_departure(at, &packet, &segment(&packet));
            }
        };
        leaves(&mut snoop, MS, 0..8);
        // Only the last one arrived: more are missing than can be repaired.
        let mut packet = acknowledgment(&flow, 1, &[(7001, 8001)]);
        let told = segment(&packet);
        let _ = snoop.handle_arrival(20 * MS, &mut packet, &told);
        assert_eq!(snoop.poll_repair(20 * MS, &mut Vec::new()), None);
        leaves(&mut snoop, 30 * MS, 8..14);
        leaves(&mut snoop, 120 * MS, 0..1);
        // This one is lost, too.
        let at = snoop.timeout().expect("it is kept");
        snoop.handle_timeout(at);
        let mut out = Vec::new();
        assert_eq!(snoop.poll_repair(at, &mut out), Some(Repair::Packet));
        assert_eq!(out, data(&flow, 1, 1000), "as it was");
    }
}

#[test]
fn segments_of_all_lengths_are_coded_together() {
    let lengths = (0..300).map(|number: usize| 1 + number * 7919 % 1400);
    let mut hop = Hop::new(&coded(12, 3, 2), Flow::default(), 16, lengths);
    assert!(hop.carry(|crossing| crossing % 23 == 7));
    let statistics = hop.snoop.statistics;
    assert!(statistics.coded_repairs > 8 && hop.repeated <= 2, "{} {statistics:?}", hop.repeated);
}

#[test]
fn a_peer_that_cannot_decode_is_sent_packets_as_they_were() {
    let mut snoop = Snoop::new(&coded(8, 4, 1), Undoes::Nothing);
    let flow = Flow::default();
    for number in 0..4 {
        let packet = data(&flow, 1 + number * 1000, 1000);
        snoop.handle_departure(MS, &packet, &segment(&packet));
    }
    let mut packet = acknowledgment(&flow, 1, &[(1001, 4001)]);
    let segment = segment(&packet);
    assert_eq!(snoop.handle_arrival(20 * MS, &mut packet, &segment), Verdict::Strip, "the window is new");
    assert_eq!(snoop.poll_repair(20 * MS, &mut Vec::new()), Some(Repair::Packet));
}

/// Four segments leave, and the first one is reported lost at `now`.
fn shown_lost(snoop: &mut Snoop, now: Duration) -> Option<Repair> {
    let flow = Flow::default();
    let mut packet = acknowledgment(&flow, 1, &[(1001, 4001)]);
    let segment = segment(&packet);
    let _ = snoop.handle_arrival(now, &mut packet, &segment);
    snoop.poll_repair(now, &mut Vec::new())
}

fn with_four_segments() -> Snoop {
    let mut snoop = Snoop::new(&PLAIN, Undoes::Rows);
    for number in 0..4 {
        let packet = data(&Flow::default(), 1 + number * 1000, 1000);
        snoop.handle_departure(MS, &packet, &segment(&packet));
    }
    snoop
}

#[test]
fn another_mechanism_has_the_first_chance() {
    let mut snoop = with_four_segments();
    snoop.hold_off(50 * MS);
    assert_eq!(shown_lost(&mut snoop, 20 * MS), None);
    assert_eq!(shown_lost(&mut snoop, 50 * MS), None);
    assert_eq!(shown_lost(&mut snoop, 51 * MS), Some(Repair::Packet));
}

#[test]
fn who_stands_back_keeps_nothing_and_sends_nothing() {
    let mut snoop = with_four_segments();
    snoop.stand_back();
    assert_eq!((snoop.bytes(), snoop.flows(), snoop.timeout()), (0, 0, None));
    assert_eq!(shown_lost(&mut snoop, 20 * MS), None);
    // Later segments are kept again.
    let packet = data(&Flow::default(), 4001, 1000);
    snoop.handle_departure(30 * MS, &packet, &segment(&packet));
    assert_eq!(snoop.flows(), 1);
}

/// False acknowledgments by a station affect only its own flows.
#[test]
fn a_station_that_lies_harms_only_its_own_flows() {
    let (honest, liar) = (Flow::default(), Flow { port: 6666, ..Flow::default() });
    let run = |with_liar: bool| {
        let mut hop = Hop::new(&coded(8, 2, 1), honest, 12, [1000; 300]);
        if with_liar {
            // It acknowledges everything, nothing, and data that was never sent, and requests all kept
            // segments.
            for number in 0..400u32 {
                let packet = data(&liar, number.wrapping_mul(1000), 1000);
                hop.snoop.handle_departure(MS, &packet, &segment(&packet));
                let lie = number.wrapping_mul(0x9e37_79b9);
                let mut packet =
                    acknowledgment(&liar, lie % 500_000, &[(lie % 300_000, lie % 400_000), (lie, 0)]);
                let segment = segment(&packet);
                let _ = hop.snoop.handle_arrival(2 * MS, &mut packet, &segment);
            }
            let mut repairs = 0;
            while hop.snoop.poll_repair(2 * MS, &mut Vec::new()).is_some() {
                repairs += 1;
            }
            assert!(repairs <= 8, "no more than is kept: {repairs}");
        }
        assert!(hop.carry(|crossing| crossing % 31 == 11));
        (hop.now, hop.repeated)
    };
    let (alone, beside) = (run(false), run(true));
    assert_eq!(alone.1, beside.1, "the honest flow's sender is told nothing of it");
    assert!(beside.0 <= alone.0 + 100 * MS, "{alone:?} {beside:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any losses and settings: every byte is correct, no acknowledgment is invented, everything arrives,
    /// and no arrived packet is kept.
    #[test]
    fn everything_arrives_whatever_is_lost(
        v6: bool,
        sack: bool,
        lru: bool,
        buffer_packets in 1usize..20,
        degree in 0u8..7,
        distance in 1u8..5,
        window in 1usize..30,
        lengths in proptest::collection::vec(1usize..1400, 1..80),
        losses in proptest::collection::vec(any::<bool>(), 1..60),
        rarely in 1usize..8,
    ) {
        let coding = match degree {
            0 => Coding::Adaptive,
            1 => Coding::Off,
            6 => Coding::ReedSolomon,
            _ => Coding::Fixed(Pattern { degree, distance }),
        };
        let replacement = if lru { Replacement::Lru } else { Replacement::None };
        let settings = Settings { buffer_packets, replacement, coding };
        let flow = Flow { v6, sack, first: u32::MAX - 30_000, ..Flow::default() };
        let mut hop = Hop::new(&settings, flow, window, lengths);
        let lost = |crossing: usize| crossing.is_multiple_of(rarely) && losses[crossing / rarely % losses.len()] && crossing < 2000;
        prop_assert!(hop.carry(lost));
        prop_assert_eq!(hop.snoop.bytes(), 0);
    }

    /// For any input in any order: bounds hold, and nothing panics.
    #[test]
    fn any_packets_are_taken(steps in proptest::collection::vec((any::<bool>(), 0u16..3, any::<u32>(), any::<(u32, u32)>(), 0usize..1400), 1..200)) {
        let mut snoop = Snoop::new(&Settings { buffer_packets: 4, ..Settings::default() }, Undoes::Rows);
        let mut out = Vec::new();
        for (step, (is_data, port, number, block, bytes)) in steps.into_iter().enumerate() {
            let now = MS * step as u32 * 30;
            let flow = Flow { port, ..Flow::default() };
            // Close numbers, so that they interact.
            let near = |number: u32| number % 50_000;
            let mut packet = if is_data { data(&flow, near(number), bytes) } else { acknowledgment(&flow, near(number), &[(near(block.0), near(block.1))]) };
            let segment = segment(&packet);
            if is_data { snoop.handle_departure(now, &packet, &segment) } else { let _ = snoop.handle_arrival(now, &mut packet, &segment); }
            snoop.handle_timeout(now);
            let mut repairs = 0;
            while snoop.poll_repair(now, &mut out).is_some() { out.clear(); repairs += 1; }
            prop_assert!(repairs <= 3 * 4 * 16);
            prop_assert!(snoop.bytes() <= 3 * 4 * (1500 + 16 * 100));
        }
    }
}
