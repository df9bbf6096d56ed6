//! What must come out, held against the rows.

use super::fairness::{self, BARE, CONTROLS, TUNNEL};
use super::grid::{self, FILES};
use super::{fast, hop, udp};
use crate::cell::File;
use crate::report::Claim;
use crate::row::{Row, X, of, value};

/// How much slower than with redundancy elimination off a download may be, with 95% confidence.
const OFF_AT_MOST: f64 = 1.02;
/// How much slower than without a tunnel, where nothing is lost and nothing repeats.
const BARE_AT_MOST: f64 = 1.01;
/// How far Jain's indices may be apart.
const JAIN_WITHIN: f64 = 0.02;
/// How much later than on the bare path a datagram may be beyond what it waits behind a repair, in
/// milliseconds.
const LATER_AT_MOST: f64 = 5.0;

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let mut claims = vec![bytes(
        rows,
        "adaptive without literals",
        &[(0.0, 0.58), (5.0, 0.55), (10.0, 0.62), (20.0, 0.80)],
    )];
    claims.push(bytes(rows, "adaptive", &[(5.0, 0.45)]));
    claims.extend([
        time_without_loss(rows),
        short_hop(rows),
        no_harm_to_off(rows),
        no_harm_to_bare(rows),
        fast_link(rows),
        udp_loses_no_more(rows),
        udp_is_not_late(rows),
        fair(rows),
    ]);
    claims
}

fn bytes(rows: &[Row], scheme: &str, marks: &[(f64, f64)]) -> Claim {
    let series = format!("bytes: {scheme}");
    let found: Vec<(f64, f64, f64)> = marks
        .iter()
        .filter_map(|&(loss, most)| Some((loss, most, value(rows, "adaptive", &series, loss)?)))
        .collect();
    let holds = found.iter().all(|(_, most, value)| value <= most);
    let claim = format!(
        "bytes sent by {scheme} at most {} of none",
        marks.iter().map(|(loss, most)| format!("{most} at {loss}%")).collect::<Vec<_>>().join(", ")
    );
    Claim::judged(
        claim,
        found.iter().map(|(loss, _, value)| format!("{value:.3} at {loss}%")).collect(),
        holds,
    )
}

fn time_without_loss(rows: &[Row]) -> Claim {
    let found: Vec<(u32, f64, f64)> = [(20, 0.65), (100, 0.85)]
        .into_iter()
        .filter_map(|(round_trip, most)| {
            let series = grid::series("to off", File::One, round_trip);
            Some((round_trip, most, value(rows, grid::FIGURE.id, &series, 0.0)?))
        })
        .collect();
    let holds = found.iter().all(|(_, most, value)| value <= most);
    let found = found.iter().map(|(round_trip, _, value)| format!("{value:.3} at {round_trip} ms")).collect();
    Claim::judged("time without loss at most 0.65 of off at 20 ms and 0.85 at 100 ms", found, holds)
}

fn short_hop(rows: &[Row]) -> Claim {
    let found = value(rows, hop::FIGURE.id, &hop::series("to off", File::One), 5.0);
    Claim::judged(
        "time at 5% loss on a hop of 10 ms in a path of 100 ms at most 0.70 of off",
        found.iter().map(|value| format!("{value:.3}")).collect(),
        found.is_some_and(|value| value <= 0.70),
    )
}

/// Cells whose bound is beyond `most`, among those that `chosen` chooses.
fn beyond<'a>(
    rows: &'a [Row],
    prefix: &str,
    most: f64,
    chosen: impl Fn(&Row) -> bool,
) -> (usize, Vec<&'a Row>) {
    let cells: Vec<&Row> = of(rows, grid::FIGURE.id)
        .filter(|row| row.series.starts_with(prefix) && chosen(row) && row.value.is_some())
        .collect();
    let bound = |row: &&&Row| row.high.or(row.value).is_none_or(|bound| bound > most);
    (cells.len(), cells.iter().filter(bound).copied().collect())
}

fn grid_claim(claim: String, (cells, beyond): (usize, Vec<&Row>)) -> Claim {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    let found = match beyond.as_slice() {
        [] if cells == 0 => Vec::new(),
        [] => vec![format!("all of {cells} cells")],
        beyond => beyond
            .iter()
            .map(|row| {
                format!("{} at {}%: {} up to {}", row.series, row.x, number(row.value), number(row.high))
            })
            .collect(),
    };
    Claim::judged(claim, found, beyond.is_empty())
}

fn no_harm_to_off(rows: &[Row]) -> Claim {
    let claim =
        format!("no harm: against off, the median time's upper bound is at most {OFF_AT_MOST} in every cell");
    grid_claim(claim, beyond(rows, "to off: ", OFF_AT_MOST, |_| true))
}

/// Where the hop is short enough for ARQ, or something repeats, the tunnel must win.
fn no_harm_to_bare(rows: &[Row]) -> Claim {
    let applies = |row: &Row| {
        let lossy = row.x != X::Number(0.0);
        let repeats = row.series.contains(&File::One.to_string());
        repeats || lossy && !row.series.ends_with(", 300 ms")
    };
    let (plain, mut short) = beyond(rows, "to bare: ", BARE_AT_MOST, |row| row.x == X::Number(0.0));
    let (winning, lost) = beyond(rows, "to bare: ", 1.0, applies);
    short.extend(lost);
    let claim = format!(
        "no harm: against bare, at most {BARE_AT_MOST} without loss, and below 1 wherever ARQ or redundancy elimination \
         applies"
    );
    grid_claim(claim, (plain + winning, short))
}

fn fast_link(rows: &[Row]) -> Claim {
    let cells: Vec<&Row> = of(rows, fast::FIGURE.id)
        .filter(|row| row.series.starts_with("to ") && row.value.is_some())
        .collect();
    let bound = |row: &Row| row.high.or(row.value).unwrap_or(f64::INFINITY);
    let worst = cells.iter().copied().max_by(|one, other| bound(one).total_cmp(&bound(other)));
    Claim::judged(
        "no harm on a fast link with a deep queue: the median time's upper bound below 1 of off and of bare",
        worst.iter().map(|row| format!("at most {:.3}, {} at {}%", bound(row), row.series, row.x)).collect(),
        worst.is_some_and(|row| bound(row) < 1.0),
    )
}

fn udp_loses_no_more(rows: &[Row]) -> Claim {
    let points: Vec<f64> = of(rows, udp::FIGURE.id)
        .filter(|row| row.series.starts_with(udp::LOST))
        .filter_map(|row| row.value)
        .collect();
    let most = points.iter().copied().reduce(f64::max);
    Claim::judged(
        "UDP: the application never loses more than the link",
        most.map(|most| format!("at most {most:.3} points more in {} cells", points.len()))
            .into_iter()
            .collect(),
        most.is_some_and(|most| most <= 0.0),
    )
}

/// How often a packet is sent again until at most one in a hundred still lacks.
fn repairs(loss_percent: f64) -> u32 {
    if loss_percent == 0.0 { 0 } else { (0.01f64.ln() / (loss_percent / 100.0).ln()).ceil() as u32 }
}

/// What one repair takes at most: the receipt waits up to 25 ms, goes back, and the packet comes again, which
/// is a round trip more than it would have taken; half as much again until it counts as lost.
fn repair_milliseconds(round_trip_milliseconds: u32) -> f64 {
    f64::from(round_trip_milliseconds) * 1.5 + 25.0
}

fn udp_is_not_late(rows: &[Row]) -> Claim {
    let mut holds = true;
    let mut worst: Option<(f64, String)> = None;
    for file in FILES {
        for round_trip in [0, 20, 100, 300] {
            let series = udp::series(udp::LATER, file, round_trip);
            for row in of(rows, udp::FIGURE.id).filter(|row| row.series == series) {
                let Some(value) = row.value else { continue };
                let X::Number(loss_percent) = row.x else { continue };
                let bound = f64::from(repairs(loss_percent)) * repair_milliseconds(round_trip);
                holds &= value <= bound + LATER_AT_MOST;
                if worst.as_ref().is_none_or(|(most, _)| value - bound > *most) {
                    worst = Some((
                        value - bound,
                        format!("{value:.1} ms later at {round_trip} ms and {}%", row.x),
                    ));
                }
            }
        }
    }
    let found = worst.into_iter().map(|(_, text)| format!("nearest to its bound: {text}")).collect();
    let claim = format!(
        "UDP: the 99th percentile of delay within {LATER_AT_MOST} ms of bare, and ARQ's bound under loss"
    );
    Claim::judged(claim, found, holds)
}

fn fair(rows: &[Row]) -> Claim {
    let index = |side: &str, control: &str| {
        let series = format!("Jain's index: {side}");
        of(rows, fairness::FIGURE.id).find(|row| row.series == series && row.x == X::from(control))?.value
    };
    let pairs: Vec<(&str, f64, f64)> = CONTROLS
        .into_iter()
        .filter_map(|control| Some((control, index(TUNNEL, control)?, index(BARE, control)?)))
        .collect();
    let holds = pairs.iter().all(|(_, tunnel, bare)| (tunnel - bare).abs() <= JAIN_WITHIN);
    let found = pairs.iter().map(|(control, tunnel, bare)| format!("{control} {tunnel:.3} (bare {bare:.3})"));
    Claim::judged(
        format!("two flows: Jain's index within {JAIN_WITHIN} of the bare pair's"),
        found.collect(),
        holds,
    )
}
