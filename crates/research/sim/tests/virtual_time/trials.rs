//! The experiments' trials: the effect of loss on each method.

use crate::scenes::{MS, repeating};
use sim::trial::{Condition, Measured, Stream, Trial, over_conditions, over_distances, over_losses};
use std::collections::BTreeMap;

fn content() -> Vec<u8> {
    let mut bytes = vec![0; 400_000];
    repeating().take(&mut bytes);
    bytes
}

fn run(cases: &[sim::trial::Case]) -> BTreeMap<(String, u64), Measured> {
    let measured = cases.iter().map(|case| case.run(1).unwrap());
    let all: BTreeMap<_, _> =
        measured.map(|one| ((one.series.clone(), (one.x * 1000.0).round() as u64), one)).collect();
    assert_eq!(all.len(), cases.len());
    all.values().for_each(|one| assert_eq!(one.outcome.wrong_packets, 0, "{one:?}"));
    all
}

/// Under `acked` no packet is undecodable and the application's loss is the link's, as for `off` and `bare`.
/// Every policy of the papers loses more.
#[test]
fn perceived_loss_is_actual_loss_under_acked_and_more_under_others() {
    let mut base = Trial::of(content(), Stream::Datagrams, 3000);
    if let Some(tunnel) = &mut base.tunnel {
        tunnel.reduce.form = published::form::PAPER;
    }
    let measured = run(&over_losses(&base, &[0.0, 0.05, 0.2]));
    for ((series, loss), Measured { outcome, .. }) in &measured {
        assert_eq!(outcome.queue_dropped_packets, 0, "{series} {loss}");
        assert_eq!(outcome.offered_packets, 3000);
        if ["acked", "off", "bare", "tcp-seq"].contains(&series.as_str()) {
            // UDP has no TCP sequence, so tcp-seq ignores it.
            assert_eq!(outcome.undecodable_packets, 0, "{series} {loss}");
            let difference = (outcome.perceived_loss - outcome.actual_loss).abs();
            assert!(difference < 0.003, "{series} {loss}: {outcome:?}");
        }
        if *loss == 0 {
            assert_eq!((outcome.perceived_loss, outcome.undecodable_packets), (0.0, 0), "{series}");
        }
        if *loss > 0 && ["naive", "k-distance", "informed-marking"].contains(&series.as_str()) {
            assert!(outcome.perceived_loss > outcome.actual_loss * 1.2, "{series} {loss}: {outcome:?}");
        }
    }
    let bytes = |series: &str, loss| measured[&(series.to_owned(), loss)].outcome.bytes_down;
    assert!(bytes("acked", 50) < bytes("bare", 50) * 7 / 10);
    assert!(bytes("naive", 0) < bytes("bare", 0) * 6 / 10);
    assert!(bytes("off", 0) > bytes("bare", 0));
}

#[test]
fn segments_sent_again_complete_under_every_policy_but_naive() {
    let stream = Stream::Segments { retransmit_after: Some(40 * MS) };
    let base = Trial::of(content(), stream, 290);
    for (_, Measured { series, outcome, .. }) in run(&over_losses(&base, &[0.05])) {
        if series == "informed-marking" {
            // A loss is known a receipt later, and this source, unlike TCP, does not slow down meanwhile.
            continue;
        }
        assert_eq!(outcome.completion_seconds.is_some(), series != "naive", "{series} {outcome:?}");
        assert!(series != "acked" || outcome.undecodable_packets == 0);
        if series == "naive" {
            assert!(outcome.in_order_share.unwrap() < 0.9, "{outcome:?}");
        }
    }
}

#[test]
fn a_larger_k_sends_fewer_bytes_and_loses_more() {
    let base = Trial::of(content(), Stream::Datagrams, 3000);
    let measured = run(&over_distances(&base, &[1, 4, 16, 64], &[0.05]));
    let of = |k: u64| measured[&("k-distance at 0.05 loss".to_owned(), k * 1000)].outcome;
    for (small, large) in [(1, 4), (4, 16), (16, 64)] {
        assert!(of(small).bytes_down > of(large).bytes_down, "{small} {large}");
        assert!(of(small).perceived_loss < of(large).perceived_loss, "{small} {large}");
    }
    assert_eq!(of(1).undecodable_packets, 0);
}

#[test]
fn no_condition_of_the_air_makes_the_default_policy_lose_more_than_the_air_does() {
    let base = Trial::of(content(), Stream::Datagrams, 3000);
    for (_, Measured { series, outcome, .. }) in run(&over_conditions(&base, &Condition::ALL, &[0.05])) {
        let expects_loss = !(series.contains("reordering") || series.contains("duplication"));
        if expects_loss {
            // Bursts are rare among so few packets.
            assert!((0.01..0.09).contains(&outcome.actual_loss), "{series} {outcome:?}");
        }
        if series.starts_with("acked") || series.starts_with("off") || series.starts_with("bare") {
            assert_eq!(outcome.undecodable_packets, 0, "{series}");
            assert!((outcome.perceived_loss - outcome.actual_loss).abs() < 0.003, "{series} {outcome:?}");
        }
    }
    assert_eq!(base.with_policy(published::policy::NAIVE).method(), "naive");
}
