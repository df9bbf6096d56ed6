use super::*;
use crate::node::report::tests::{peer, status};
use proptest::prelude::*;

fn history() -> History {
    History::new(AirTime::at(24e6))
}

/// A node with a report every second, which is offered 1,000 bytes each time and sends 400.
fn asked_for(seconds: u64) -> History {
    let mut history = history();
    for second in 1..=seconds {
        let mut roof = peer("roof");
        roof.counters.inner_sent_packets = 2 * second;
        roof.counters.inner_sent_bytes = 1_000 * second;
        roof.counters.outer_sent_datagrams = second;
        roof.counters.outer_sent_bytes = 400 * second;
        roof.loss = Some(if second % 10 == 3 { 0.05 } else { 0.01 });
        history.note(&status(second as f64, vec![roof]));
    }
    history
}

#[test]
fn an_hour_is_kept_and_no_more() {
    let history = asked_for(5_000);
    let fine = history.series(Step::Second, 0.0);
    let coarse = history.series(Step::TenSeconds, 0.0);
    assert_eq!((fine.end_seconds.len(), coarse.end_seconds.len()), (600, 360));
    assert_eq!(fine.end_seconds.last(), Some(&5_000.0));
    assert_eq!(coarse.end_seconds.first(), Some(&1_410.0));
    assert!(fine.whole.offered_bytes.iter().all(|bytes| *bytes == 1_000));
    assert!(coarse.peers[0].columns.sent_bytes.iter().all(|bytes| *bytes == 4_000));
    // The highest loss within a step is the step's.
    assert!(coarse.whole.loss_ppm.iter().all(|loss| *loss == 50_000), "{:?}", coarse.whole.loss_ppm);
    assert!(coarse.sent_air_seconds[0] < coarse.offered_air_seconds[0]);
}

#[test]
fn only_what_is_newer_than_what_is_known_is_told() {
    let history = asked_for(100);
    let newer = history.series(Step::Second, 97.0);
    assert_eq!(newer.end_seconds, [98.0, 99.0, 100.0]);
    assert_eq!(newer.peers[0].columns.offered_bytes, [1_000; 3]);
    assert_eq!(history.series(Step::Second, 100.0).whole.samples().len(), 0);
}

#[test]
fn a_question_that_comes_late_makes_a_long_step_and_loses_nothing() {
    let mut history = asked_for(3);
    let mut roof = peer("roof");
    roof.counters.inner_sent_bytes = 9_000;
    history.note(&status(7.5, vec![roof.clone()]));
    history.note(&status(7.5, vec![roof]));
    let series = history.series(Step::Second, 3.0);
    assert_eq!((series.seconds, series.whole.offered_bytes), (vec![4.5], vec![6_000]));
}

#[test]
fn after_a_change_of_the_peers_each_keeps_its_own_steps() {
    let of = |name: &str, bytes: u64| {
        let mut peer = peer(name);
        peer.counters.inner_sent_bytes = bytes;
        peer
    };
    let mut history = history();
    for second in 1..=20 {
        history.note(&status(second as f64, vec![of("one", 10 * second), of("two", 100 * second)]));
    }
    history.note(&status(21.0, vec![of("two", 2100), of("three", 7)]));
    let series = history.series(Step::Second, 18.0);
    let offered =
        |at: usize| (series.peers[at].name.as_str(), series.peers[at].columns.offered_bytes.clone());
    assert_eq!(series.peers.len(), 2);
    assert_eq!(offered(0), ("two", vec![100, 100, 100]));
    assert_eq!(offered(1), ("three", vec![0, 0, 7]));
    assert_eq!(series.whole.offered_bytes, [110, 110, 107]);
    let coarse = history.series(Step::TenSeconds, 0.0);
    assert_eq!(coarse.peers[0].columns.offered_bytes, [1000, 1000]);
}

#[test]
fn peers_beyond_the_bound_are_in_the_whole() {
    let mut history = history();
    let many = |bytes: u64| {
        let peers = (0..MAX_PEERS + 36).map(|number| {
            let mut peer = peer(&number.to_string());
            peer.counters.inner_sent_bytes = bytes;
            peer.queue_bytes = 10;
            peer
        });
        peers.collect::<Vec<_>>()
    };
    history.note(&status(1.0, many(0)));
    history.note(&status(2.0, many(7)));
    let series = history.series(Step::Second, 1.0);
    assert_eq!((series.peers.len(), series.whole.offered_bytes.as_slice()), (MAX_PEERS, &[700][..]));
    assert_eq!(series.whole.queue_bytes, [1_000]);
}

#[test]
fn a_series_travels_as_json_and_comes_back() {
    let series = asked_for(30).series(Step::TenSeconds, 0.0);
    let text = serde_json::to_string(&series).unwrap();
    assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), series);
    assert_eq!(series.peers[0].columns.samples().len(), 3);
}

proptest! {
    #[test]
    fn whatever_a_node_says_columns_stay_as_long_as_times(
        told in prop::collection::vec((any::<f64>(), 0..4_usize, any::<u32>()), 0..80),
    ) {
        let mut history = history();
        for (uptime, peers, count) in told {
            let peers = (0..peers).map(|number| {
                let mut peer = peer(&number.to_string());
                peer.counters.inner_sent_bytes = count.into();
                peer.counters.packed_packets = count.into();
                peer
            });
            history.note(&status(uptime, peers.collect()));
        }
        for step in [Step::Second, Step::TenSeconds] {
            let series = history.series(step, 0.0);
            prop_assert_eq!(series.whole.samples().len(), series.end_seconds.len());
            prop_assert!(series.peers.iter().all(|peer| peer.columns.samples().len() <= series.end_seconds.len()));
        }
    }
}
