//! What must come out, held against the rows. All of it is ours: goals have one side, likeness two.

use super::fairness::{self, BARE, CONTROLS, TUNNEL};
use super::grid::{self, FILES, TO_BARE, TO_OFF, TO_ZSTD_ARQ};
use super::{adaptive, fast, hop, udp};
use crate::cell::File;
use crate::claim::{Claim, Judging};
use crate::row::{Row, X};

/// The largest slowdown of a download, compared with a smaller tunnel, with 95% confidence.
const OFF_AT_MOST: f64 = 1.02;
/// The largest slowdown compared with no tunnel, without loss and repetition.
const BARE_AT_MOST: f64 = 1.01;
/// The largest difference of Jain's indices, in both directions.
const JAIN_WITHIN: f64 = 0.02;
/// The smallest share that a bare flow keeps beside a flow in the tunnel.
const BESIDE_AT_LEAST: f64 = 0.95;
/// The largest additional delay of a datagram, compared with the bare path and beyond its wait behind a
/// repair, in milliseconds.
const LATER_AT_MOST: f64 = 5.0;

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    vec![
        bytes(rows, "adaptive without literals", &[(0.0, 0.58), (5.0, 0.55), (10.0, 0.62), (20.0, 0.80)]),
        bytes(rows, "adaptive", &[(5.0, 0.45)]),
        time_without_loss(rows),
        short_hop(rows),
        no_harm_to(rows, TO_OFF, "off"),
        no_harm_to(rows, TO_ZSTD_ARQ, "off with zstd and ARQ"),
        no_harm_to_bare(rows),
        fast_link(rows),
        fast_link_to_zstd_arq(rows),
        medians(rows, grid::FIGURE.id, TO_OFF, "off"),
        medians(rows, grid::FIGURE.id, TO_ZSTD_ARQ, "off with zstd and ARQ"),
        medians(rows, fast::FIGURE.id, TO_OFF, "off"),
        medians(rows, fast::FIGURE.id, TO_ZSTD_ARQ, "off with zstd and ARQ"),
        bare_beside(rows),
        udp_loses_no_more(rows),
        udp_is_not_late(rows),
        fair(rows),
    ]
}

fn bytes(rows: &[Row], scheme: &str, marks: &[(f64, f64)]) -> Claim {
    let said: Vec<String> = marks.iter().map(|(loss, most)| format!("{most} at {loss}%")).collect();
    let mut judging =
        Judging::new(rows, format!("bytes sent by {scheme} at most {} of none", said.join(", ")));
    for (loss, most) in marks {
        if let Some(value) = judging.value(adaptive::FIGURE.id, &format!("bytes: {scheme}"), *loss) {
            judging.found(value <= *most, format!("{value:.3} at {loss}%"));
        }
    }
    judging.done()
}

fn time_without_loss(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "time without loss at most 0.65 of off at 20 ms and 0.85 at 100 ms");
    for (round_trip, most) in [(20, 0.65), (100, 0.85)] {
        let series = grid::series(TO_OFF, File::One, round_trip);
        if let Some(value) = judging.value(grid::FIGURE.id, &series, 0.0) {
            judging.found(value <= most, format!("{value:.3} at {round_trip} ms"));
        }
    }
    judging.done()
}

fn short_hop(rows: &[Row]) -> Claim {
    let claim = "time at 5% loss on a hop of 10 ms in a path of 100 ms at most 0.70 of off";
    let mut judging = Judging::new(rows, claim);
    if let Some(value) = judging.value(hop::FIGURE.id, &hop::series(TO_OFF, File::One), 5.0) {
        judging.found(value <= 0.70, format!("{value:.3}"));
    }
    judging.done()
}

/// The upper bound of every chosen cell. A cell without an interval, for lack of seeds, proves nothing.
fn bounded<'a>(
    judging: &mut Judging<'a>,
    figure: &'a str,
    baseline: &str,
    chosen: impl Fn(&Row) -> bool,
    allowed: impl Fn(f64) -> bool,
) {
    for (row, value) in judging.all(figure, &format!("{baseline}: "), chosen) {
        let bound = row.high.map_or("without an interval".to_owned(), |bound| format!("up to {bound:.3}"));
        let holds = row.high.is_some_and(&allowed);
        judging.cell(holds, || format!("{} at {}%: {value:.3} {bound}", row.series, row.x));
    }
}

fn no_harm_to(rows: &[Row], baseline: &str, name: &str) -> Claim {
    let claim = format!(
        "no harm: against {name}, the median time's upper bound is at most {OFF_AT_MOST} in every cell"
    );
    let mut judging = Judging::new(rows, claim);
    bounded(&mut judging, grid::FIGURE.id, baseline, |_| true, |bound| bound <= OFF_AT_MOST);
    judging.done()
}

/// A weaker claim, which few seeds can judge.
fn medians(rows: &[Row], figure: &'static str, baseline: &str, name: &str) -> Claim {
    let claim = format!(
        "medians alone, figure {figure}: against {name}, the time is at most {OFF_AT_MOST} in every cell"
    );
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(figure, &format!("{baseline}: "), |_| true) {
        judging.cell(value <= OFF_AT_MOST, || format!("{} at {}%: {value:.3}", row.series, row.x));
    }
    judging.done()
}

/// The tunnel must win where the hop is short enough for ARQ, or where content repeats.
fn no_harm_to_bare(rows: &[Row]) -> Claim {
    let wins = |row: &Row| {
        let lossy = row.x != X::Number(0.0);
        let repeats = row.series.contains(&File::One.to_string());
        repeats || lossy && !row.series.ends_with(", 300 ms")
    };
    let claim = format!(
        "no harm: against bare, at most {BARE_AT_MOST} without loss, and below 1 wherever ARQ or redundancy elimination \
         applies"
    );
    let mut judging = Judging::new(rows, claim);
    let is_clean = |row: &Row| row.x == X::Number(0.0);
    bounded(&mut judging, grid::FIGURE.id, TO_BARE, is_clean, |bound| bound <= BARE_AT_MOST);
    bounded(&mut judging, grid::FIGURE.id, TO_BARE, wins, |bound| bound < 1.0);
    judging.done()
}

fn fast_link(rows: &[Row]) -> Claim {
    let claim =
        "no harm on a fast link with a deep queue: the median time's upper bound below 1 of off and of bare";
    let mut judging = Judging::new(rows, claim);
    for baseline in [TO_OFF, TO_BARE] {
        bounded(&mut judging, fast::FIGURE.id, baseline, |_| true, |bound| bound < 1.0);
    }
    judging.done()
}

fn fast_link_to_zstd_arq(rows: &[Row]) -> Claim {
    let claim = format!(
        "no harm on a fast link with a deep queue: the median time's upper bound at most {OFF_AT_MOST} of off with zstd \
         and ARQ"
    );
    let mut judging = Judging::new(rows, claim);
    bounded(&mut judging, fast::FIGURE.id, TO_ZSTD_ARQ, |_| true, |bound| bound <= OFF_AT_MOST);
    judging.done()
}

fn udp_loses_no_more(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "UDP: the application never loses more than the link");
    for (row, points) in judging.all(udp::FIGURE.id, udp::LOST, |_| true) {
        judging.cell(points <= 0.0, || format!("{points:.3} points more in {} at {}%", row.series, row.x));
    }
    judging.done()
}

/// Number of transmissions of a packet until at most one in a hundred is still missing.
fn repairs(loss_percent: f64) -> u32 {
    if loss_percent == 0.0 { 0 } else { (0.01f64.ln() / (loss_percent / 100.0).ln()).ceil() as u32 }
}

/// What one repair takes at most: the receipt waits up to 25 ms, goes back, and the packet comes again, which
/// is a round trip more than it would have taken; half as much again until it counts as lost.
fn repair_milliseconds(round_trip_milliseconds: u32) -> f64 {
    f64::from(round_trip_milliseconds) * 1.5 + 25.0
}

fn udp_is_not_late(rows: &[Row]) -> Claim {
    let claim = format!(
        "UDP: the 99th percentile of delay within {LATER_AT_MOST} ms of bare, and ARQ's bound under loss"
    );
    let mut judging = Judging::new(rows, claim);
    for file in FILES {
        for round_trip in [0, 20, 100, 300] {
            let series = udp::series(udp::LATER, file, round_trip);
            for (row, value) in judging.all(udp::FIGURE.id, &series, |row| row.series == series) {
                let X::Number(loss_percent) = row.x else { continue };
                let bound = f64::from(repairs(loss_percent)) * repair_milliseconds(round_trip);
                let name = || format!("{value:.1} ms later at {round_trip} ms and {}%", row.x);
                judging.cell(value <= bound + LATER_AT_MOST, name);
            }
        }
    }
    judging.done()
}

fn fair(rows: &[Row]) -> Claim {
    let claim = format!("two flows: Jain's index within {JAIN_WITHIN} of the bare pair's");
    let mut judging = Judging::new(rows, claim);
    for control in CONTROLS {
        let [tunnel, bare] = [TUNNEL, BARE]
            .map(|side| judging.value(fairness::FIGURE.id, &format!("Jain's index: {side}"), control));
        if let (Some(tunnel), Some(bare)) = (tunnel, bare) {
            let holds = (tunnel - bare).abs() <= JAIN_WITHIN;
            judging.found(holds, format!("{control} {tunnel:.3} (bare {bare:.3})"));
        }
    }
    judging.done()
}

/// A flow without the tunnel, on a link that loses packets, beside one in the tunnel and beside one like it.
fn bare_beside(rows: &[Row]) -> Claim {
    let claim = format!(
        "two flows at 5% loss: the bare one gets at least {BESIDE_AT_LEAST} beside the tunnel of what it gets beside a bare one"
    );
    let mut judging = Judging::new(rows, claim);
    for control in CONTROLS {
        let [tunnel, bare] = [TUNNEL, BARE].map(|side| {
            let series = format!("the second: {}", fairness::side_at(side, 5.0));
            judging.value(fairness::FIGURE.id, &series, control)
        });
        if let (Some(tunnel), Some(bare)) = (tunnel, bare) {
            let share = tunnel / bare;
            judging.found(share >= BESIDE_AT_LEAST, format!("{control} {share:.3}"));
        }
    }
    judging.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(rows: &[Row], beginning: &str) -> Option<bool> {
        crate::claim::holds(&claims(rows), beginning)
    }

    #[test]
    fn each_baseline_is_held_against_its_own_rows() {
        let row =
            |baseline| Row::new("grid", grid::series(baseline, File::One, 20), 5.0, "ratio").exactly(1.03);
        assert_eq!(holds(&[row(TO_ZSTD_ARQ)], "no harm: against off, "), None);
        assert_eq!(holds(&[row(TO_ZSTD_ARQ)], "no harm: against off with zstd"), Some(false));
        assert_eq!(holds(&[row(TO_OFF)], "no harm: against off, "), Some(false));
        let quicker = Row::new("grid", grid::series(TO_OFF, File::One, 20), 5.0, "ratio").exactly(0.5);
        assert_eq!(
            holds(std::slice::from_ref(&quicker), "no harm: against off, "),
            Some(false),
            "no interval"
        );
        assert_eq!(holds(&[quicker], "medians alone, figure grid: against off, "), Some(true));
    }

    #[test]
    fn an_index_is_like_the_bare_pairs_from_both_sides() {
        let rows = |tunnel| {
            [(TUNNEL, tunnel), (BARE, 0.95)].map(|(side, value)| {
                Row::new(fairness::FIGURE.id, format!("Jain's index: {side}"), CONTROLS[0], "").exactly(value)
            })
        };
        let found = [0.92, 0.94, 0.96, 0.98].map(|tunnel| holds(&rows(tunnel), "two flows: Jain"));
        assert_eq!(found, [Some(false), Some(true), Some(true), Some(false)]);
    }
}
