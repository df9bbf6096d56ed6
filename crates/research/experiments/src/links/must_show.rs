//! What must come out, held against the rows. All of it is ours: goals have one side.

use std::fmt;

use super::after_a_call;
use super::cellular;
use super::downloads::{self, BBR_BY_BARE, BYTES, BYTES_BY_OFF, SECONDS};
use super::fairness;
use super::half_repeating;
use super::harder;
use super::place::Place;
use super::presets::{self, BYTES_BY_BARE, TIME_BY_BARE};
use super::recorded;
use super::requests;
use super::streams;
use super::told;
use super::voice::{self, LATE};
use super::way::Way;
use crate::claim::{Claim, Judging};
use crate::figure::Figure;
use crate::row::{Row, X};

/// The program that the default is never slower than.
const RIVAL: &str = "tinyfecVPN";
/// The largest time of bbr through the tunnel by that of bbr without, with 95% confidence.
const BBR_AT_MOST: f64 = 1.02;
/// The most additional bytes without loss, as a share.
const EXTRA_WITHOUT_LOSS: f64 = 0.003;
/// The most additional bytes with losses: this many times the loss, and a share beyond.
const EXTRA_TIMES_LOSS: f64 = 2.0;
const EXTRA_BEYOND: f64 = 0.02;

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    vec![
        reaches_the_goals(rows, 100),
        reaches_the_goals(rows, 20),
        not_slower_than_the_rival(rows),
        bbr_not_slower_than_bare(rows),
        few_extra_bytes(rows),
        no_extra_bytes_without_loss(rows),
        a_call_before_does_not_hurt(rows),
        no_kind_of_loss_makes_it_slower(rows),
        a_told_rate_does_not_hurt(rows),
        streams_are_as_fast_as_hysteria(rows),
        requests_are_answered_in_time(rows),
        repetition_is_removed_from_streams(rows),
        new_content_comes_sooner(rows),
        new_content_over_the_satellite_takes_fewer_bytes(rows),
        a_call_is_on_time(rows),
        a_call_outlasts_bursts(rows),
        cellular_links_have_short_queues(rows),
        cellular_links_are_used(rows),
        a_bare_download_keeps_its_share(rows, &fairness::FIGURE, "one through the tunnel"),
        a_bare_download_keeps_its_share(rows, &fairness::OF_STREAMS, "streams"),
    ]
}

fn reaches_the_goals(rows: &[Row], round_trip_milliseconds: u32) -> Claim {
    let goals =
        downloads::GOALS.into_iter().filter(|(_, round_trip, _)| *round_trip == round_trip_milliseconds);
    let goals: Vec<(u32, f64)> = goals.map(|(loss, _, seconds)| (loss, seconds)).collect();
    let said: Vec<String> = goals.iter().map(|(loss, seconds)| format!("{seconds} s at {loss}%")).collect();
    let claim = format!("a download at {round_trip_milliseconds} ms: at most {}", said.join(", "));
    let mut judging = Judging::new(rows, claim);
    for (loss_percent, most) in goals {
        let place = Place { loss_percent, round_trip_milliseconds };
        let series = place.series(SECONDS, Way::DEFAULT);
        if let Some(value) = judging.value(downloads::FIGURE.id, &series, loss_percent) {
            judging.found(value <= most, format!("{value:.2} s at {loss_percent}%"));
        }
    }
    judging.done()
}

fn not_slower_than_the_rival(rows: &[Row]) -> Claim {
    let mut judging =
        Judging::new(rows, format!("a download never takes longer than the recorded value of {RIVAL}"));
    for (row, value) in judging.all(downloads::FIGURE.id, SECONDS, of(Way::DEFAULT)) {
        let Some((round_trip, loss)) = place_of(row) else { continue };
        let theirs = recorded::value(RIVAL, (downloads::FIGURE.id, SECONDS), round_trip, loss);
        let holds = theirs.is_some_and(|theirs| value <= theirs);
        let theirs = theirs.map_or("none".to_owned(), |theirs| theirs.to_string());
        judging.cell(holds, || format!("{value:.2} s against {theirs} at {loss}% and {round_trip} ms"));
    }
    judging.done()
}

fn bbr_not_slower_than_bare(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(
        rows,
        format!(
            "bbr through the tunnel by bare bbr: the median time's upper bound is at most {BBR_AT_MOST} everywhere"
        ),
    );
    for (row, value) in judging.all(downloads::FIGURE.id, BBR_BY_BARE, |_| true) {
        // A cell without an interval, for lack of seeds, proves nothing.
        let holds = row.high.is_some_and(|bound| bound <= BBR_AT_MOST);
        let bound = row.high.map_or("without an interval".to_owned(), |bound| format!("up to {bound:.3}"));
        judging.cell(holds, || format!("{} at {}%: {value:.3} {bound}", row.series, row.x));
    }
    judging.done()
}

fn few_extra_bytes(rows: &[Row]) -> Claim {
    let claim =
        "a download's bytes by the content's, less the same without loss: at most twice the loss and 2%";
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(downloads::FIGURE.id, BYTES, of(Way::DEFAULT)) {
        let Some((round_trip_milliseconds, loss_percent)) = place_of(row) else { continue };
        if loss_percent == 0 {
            continue;
        }
        let clean = Place { loss_percent: 0, round_trip_milliseconds }.series(BYTES, Way::DEFAULT);
        let Some(without) = judging.value(downloads::FIGURE.id, &clean, 0u32) else { continue };
        let most = EXTRA_TIMES_LOSS * f64::from(loss_percent) / 100.0 + EXTRA_BEYOND;
        let extra = value - without;
        judging.cell(extra <= most, || format!("{:.0}% in {} at {loss_percent}%", extra * 100.0, row.series));
    }
    judging.done()
}

fn no_extra_bytes_without_loss(rows: &[Row]) -> Claim {
    let claim = "without loss a download takes at most .3% more bytes than with policy off";
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(downloads::FIGURE.id, BYTES_BY_OFF, |row| row.x == X::from(0u32)) {
        let share = (value - 1.0) * 100.0;
        judging.cell(value <= 1.0 + EXTRA_WITHOUT_LOSS, || format!("{share:.1}% more in {}", row.series));
    }
    judging.done()
}

fn a_call_before_does_not_hurt(rows: &[Row]) -> Claim {
    let most = after_a_call::BY_NEW_AT_MOST;
    let claim =
        format!("a download after a call takes at most {most} of its time over a new hop in every cell");
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(after_a_call::FIGURE.id, after_a_call::BY_NEW, |_| true) {
        judging.cell(value <= most, || format!("{value:.2} in {} at {}%", row.series, row.x));
    }
    judging.done()
}

fn no_kind_of_loss_makes_it_slower(rows: &[Row]) -> Claim {
    let claim = format!(
        "the kind of loss: the median time of the default by policy off's is at most {} in every cell",
        harder::BY_OFF_AT_MOST
    );
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(harder::FIGURE.id, harder::BY_OFF, |_| true) {
        judging.cell(value <= harder::BY_OFF_AT_MOST, || format!("{value:.2} with {}", row.x));
    }
    judging.done()
}

fn a_told_rate_does_not_hurt(rows: &[Row]) -> Claim {
    let claim = format!(
        "a told rate, wrong by half or double: the median time by that of an untold one is at most {} in every cell",
        told::BY_UNTOLD_AT_MOST
    );
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(told::FIGURE.id, told::BY_UNTOLD, |_| true) {
        judging.cell(value <= told::BY_UNTOLD_AT_MOST, || {
            format!("{value:.2} with {} in {}", row.x, row.series)
        });
    }
    judging.done()
}

fn streams_are_as_fast_as_hysteria(rows: &[Row]) -> Claim {
    let most = streams::BY_HYSTERIA_AT_MOST;
    let claim = format!("streams: at most {most} of the recorded time of Hysteria in every cell");
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(streams::FIGURE.id, streams::BY_HYSTERIA, |_| true) {
        judging.cell(value <= most, || format!("{value:.2} with {}% lost in {}", row.x, row.series));
    }
    judging.done()
}

fn requests_are_answered_in_time(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "streams: requests are answered within the goal in every cell");
    for (row, value) in judging.all(requests::FIGURE.id, SECONDS, |_| true) {
        let Some(goal) = row.goal else { continue };
        let series = &row.series;
        judging.cell(value <= goal, || format!("{value:.2} s ({goal:.2}) with {}% lost in {series}", row.x));
    }
    judging.done()
}

fn repetition_is_removed_from_streams(rows: &[Row]) -> Claim {
    let most = half_repeating::BY_HYSTERIA_AT_MOST;
    let claim = format!(
        "streams, half of them sent before: at most {most} of the recorded time of Hysteria in every cell"
    );
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(half_repeating::FIGURE.id, half_repeating::BY_HYSTERIA, |_| true) {
        judging.cell(value <= most, || format!("{value:.2} with {}% lost in {}", row.x, row.series));
    }
    judging.done()
}

fn new_content_comes_sooner(rows: &[Row]) -> Claim {
    let claim = "content never seen over the lossy links of the demo: sooner than over the bare link";
    new_content(rows, TIME_BY_BARE, claim.to_owned())
}

fn new_content_over_the_satellite_takes_fewer_bytes(rows: &[Row]) -> Claim {
    let (link, most) = (presets::SATELLITE, presets::BYTES_GOAL);
    let claim = format!("content never seen over the {link}: at most {most} of the bare link's bytes");
    new_content(rows, BYTES_BY_BARE, claim)
}

/// Holds the default's ratios to the bare link against their goals, where they have one.
fn new_content(rows: &[Row], what: &str, claim: String) -> Claim {
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(presets::FIGURE.id, what, of(Way::DEFAULT)) {
        let Some(goal) = row.goal else { continue };
        judging.cell(value <= goal, || format!("{value:.2} over {}", row.x));
    }
    judging.done()
}

fn a_call_is_on_time(rows: &[Row]) -> Claim {
    let said: Vec<String> =
        voice::GOALS.iter().map(|(loss, percent)| format!("{percent}% at {loss}%")).collect();
    let [(what, _), _] = LATE;
    let mut judging = Judging::new(rows, format!("a call: packets {what} at most {}", said.join(", ")));
    let is_default = of(Way::DEFAULT.scheme);
    let chosen = |row: &Row| is_default(row) && !row.series.contains(voice::BURSTS);
    for (row, value) in judging.all(voice::FIGURE.id, what, chosen) {
        let Some(goal) = row.goal else { continue };
        judging.cell(value <= goal, || format!("{value:.2}% in {} at {}%", row.series, row.x));
    }
    judging.done()
}

fn a_call_outlasts_bursts(rows: &[Row]) -> Claim {
    let goals = voice::BURST_GOALS;
    let said: Vec<String> = goals.iter().map(|(what, percent)| format!("{percent}% {what}")).collect();
    let claim = format!(
        "a call over {} with {}% lost: at most {}",
        voice::BURSTS,
        voice::BURST_LOSS_PERCENT,
        said.join(", ")
    );
    let mut judging = Judging::new(rows, claim);
    for (what, most) in goals {
        let series = voice::burst_series(what, Way::DEFAULT);
        if let Some(value) = judging.value(voice::FIGURE.id, &series, voice::BURST_LOSS_PERCENT) {
            judging.found(value <= most, format!("{value:.2}% {what}"));
        }
    }
    judging.done()
}

fn cellular_links_have_short_queues(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(
        rows,
        "small packets beside a download over recorded LTE come at most 100 ms later than alone, over EVDO 250 ms (95th percentile)",
    );
    for (row, value) in judging.all(cellular::FIGURE.id, cellular::DELAY, of(Way::DEFAULT)) {
        let Some(goal) = row.goal else { continue };
        judging.cell(value <= goal, || format!("{value:.0} ms over {}", row.x));
    }
    judging.done()
}

fn cellular_links_are_used(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(
        rows,
        "a download over recorded LTE and EVDO has at least .7 of bare cubic's throughput",
    );
    for (row, value) in judging.all(cellular::FIGURE.id, cellular::BY_BARE, of(Way::DEFAULT)) {
        let Some(goal) = row.goal else { continue };
        judging.cell(value >= goal, || format!("{value:.2} over {}", row.x));
    }
    judging.done()
}

/// Whether a row is of this curve.
fn of(curve: impl fmt::Display) -> impl Fn(&Row) -> bool {
    move |row| row.series.ends_with(&format!(": {curve}"))
}

fn a_bare_download_keeps_its_share(rows: &[Row], figure: &Figure, other: &str) -> Claim {
    let claim = format!(
        "a bare download beside {other} has at least {} of what it has beside a bare one",
        fairness::GOAL
    );
    let mut judging = Judging::new(rows, claim);
    for (row, value) in judging.all(figure.id, "bare", |_| true) {
        judging.cell(value >= fairness::GOAL, || format!("{value:.2} with {}, {}", row.series, row.x));
    }
    judging.done()
}

/// The round trip in milliseconds and the percent lost of a row.
fn place_of(row: &Row) -> Option<(u32, u32)> {
    let (panel, _) = row.series.split_once(": ")?;
    let round_trip = panel.rsplit_once(", ")?.1.strip_suffix(" ms")?.parse().ok()?;
    let X::Number(loss_percent) = row.x else { return None };
    Some((round_trip, loss_percent as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(rows: &[Row], beginning: &str) -> Option<bool> {
        crate::claim::holds(&claims(rows), beginning)
    }

    fn row(what: &str, way: Way, loss_percent: u32, value: f64) -> Row {
        let place = Place { loss_percent, round_trip_milliseconds: 100 };
        Row::new(downloads::FIGURE.id, place.series(what, way), loss_percent, "").exactly(value)
    }

    #[test]
    fn a_download_is_held_against_the_goal_and_against_the_rival_of_its_own_cell() {
        let judged = |seconds| {
            let rows = [row(SECONDS, Way::DEFAULT, 10, seconds), row(SECONDS, Way::BARE, 10, 90.0)];
            ["a download at 100 ms", "a download never"].map(|beginning| holds(&rows, beginning))
        };
        assert_eq!(judged(2.8), [Some(true), Some(true)]);
        assert_eq!(judged(2.81), [Some(false), Some(true)]);
        assert_eq!(judged(2.83), [Some(false), Some(false)]);
    }

    #[test]
    fn bbr_needs_an_interval_below_the_bound() {
        let plain = row(BBR_BY_BARE, Way::DEFAULT_BBR, 5, 0.9);
        let judged = |high| holds(&[Row { high, ..plain.clone() }], "bbr through");
        assert_eq!([None, Some(1.02), Some(1.03)].map(judged), [Some(false), Some(true), Some(false)]);
    }

    #[test]
    fn a_call_is_held_against_the_goal_of_its_loss() {
        let place = Place { loss_percent: 10, round_trip_milliseconds: 600 };
        let row = |value| {
            let series = place.series(LATE[0].0, Way::DEFAULT.scheme);
            Row::new(voice::FIGURE.id, series, 10u32, "%").exactly(value).goal(1.0)
        };
        let judged = [row(1.0), row(1.1)].map(|row| holds(&[row], "a call: "));
        assert_eq!(judged, [Some(true), Some(false)]);
    }

    #[test]
    fn bursts_have_bounds_of_their_own() {
        let row = |at: usize, value: f64| {
            let series = voice::burst_series(voice::BURST_GOALS[at].0, Way::DEFAULT);
            Row::new(voice::FIGURE.id, series, voice::BURST_LOSS_PERCENT, "%").exactly(value).goal(2.0)
        };
        let rows = [row(0, 2.9), row(1, 2.1)];
        assert_eq!(holds(&rows, "a call over"), Some(false));
        assert_eq!(holds(&rows[..1], "a call over"), Some(true));
        assert_eq!(holds(&rows, "a call: "), None);
    }

    #[test]
    fn no_kind_of_loss_may_make_the_default_slower_than_off() {
        let row = |value: f64| {
            let series = format!("{}: {}", harder::BY_OFF, Way::DEFAULT);
            Row::new(harder::FIGURE.id, series, "bursts", "ratio").exactly(value)
        };
        let judged = [row(1.02), row(1.03)].map(|row| holds(&[row], "the kind of loss"));
        assert_eq!(judged, [Some(true), Some(false)]);
    }

    #[test]
    fn bytes_are_bounded_by_the_loss_and_tightly_without() {
        let judged = |value| {
            let rows = [row(BYTES, Way::DEFAULT, 0, 1.06), row(BYTES, Way::DEFAULT, 10, value)];
            holds(&rows, "a download's bytes")
        };
        assert_eq!([1.27, 1.29].map(judged), [Some(true), Some(false)]);
        assert_eq!(
            holds(&[row(BYTES, Way::DEFAULT, 10, 1.27)], "a download's bytes"),
            None,
            "no row without loss"
        );
        let judged = |value| holds(&[row(BYTES_BY_OFF, Way::DEFAULT, 0, value)], "without loss");
        assert_eq!([1.003, 1.004].map(judged), [Some(true), Some(false)]);
    }
}
