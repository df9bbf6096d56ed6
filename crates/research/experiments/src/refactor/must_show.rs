//! What must come out, held against the rows.

use super::air_time::Clock;
use super::mixes::{Goal, Metric, series};
use super::scheme::{Estimates, Scheme};
use super::{
    captures, exor, figure_3, figure_8, relay_frames, robustness, safety, table_3, table_4, table_6,
};
use crate::claim::Band;
use crate::papers;
use crate::report::Claim;
use crate::row::{Row, X, of, value};
use crate::trace::{Kind, Mix};

const PLACES: [f64; 5] = [90.0, 70.0, 50.0, 30.0, 10.0];

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let mut claims = vec![
        single_chunks_pay_from_nine_in_ten(rows),
        table_3::slots_find_what_hashes_find(rows),
        papers_air_time(rows),
        papers_goodput(rows),
        ceiling(rows),
        papers_saving_is_beyond_the_ceiling(rows),
        standard_times(rows),
    ];
    claims.extend(table_3::slots_save_more_than_hashes(rows));
    claims.extend(Goal::ALL.map(|goal| at_most(rows, goal.scheme, goal.kind, goal.bounds)));
    claims.extend([
        goodput(rows),
        as_good_as_any_knowledge(rows),
        wrong_estimates(rows),
        never_worse(rows),
        near_the_best(rows),
        greedy_loses(rows),
        greedy_gains(rows),
    ]);
    for scheme in [Scheme::PAPER, Scheme::Receipts, Scheme::WholeChunks] {
        claims.extend(Kind::ALL.map(|kind| fewer_losses(rows, kind, scheme)));
    }
    claims.extend(figure_8::claims(rows));
    claims.extend(table_6::claims(rows));
    claims.extend(exor::claims(rows));
    claims.extend(relay_frames::claims(rows));
    claims.extend(relay_frames::claims_in_process(rows));
    claims.extend([devices(rows), nothing_to_save(rows), safety::claim(rows)]);
    claims
}

fn figure(mix: Mix) -> &'static str {
    match mix {
        Mix::High => "5",
        Mix::Low => "6",
        Mix::Medium => "7",
    }
}

/// The air time of both clients relative to no RE.
fn air(rows: &[Row], mix: Mix, kind: Kind, clock: Clock, scheme: Scheme, place: f64) -> Option<f64> {
    value(rows, figure(mix), &series(Metric::AirTime, kind, clock, scheme), place)
}

fn single_chunks_pay_from_nine_in_ten(rows: &[Row]) -> Claim {
    let at = |percent| value(rows, "3", &figure_3::series(64), percent);
    let even = papers::REFACTOR.value("section-3.2/break-even").number().get();
    let [below, above] = [even - 5.0, even + 5.0];
    let found: Vec<String> = [below, even, above]
        .into_iter()
        .filter_map(|percent| Some(format!("{:.0} µs at {percent}%", at(percent)?)))
        .collect();
    let holds = at(below) < Some(0.0) && at(above) > Some(0.0);
    Claim::judged(format!("figure 3: a single chunk pays from about {even}% on, and not below"), found, holds)
}

/// The paper's system by the paper's times.
fn papers_air_time(rows: &[Row]) -> Claim {
    let [high, low] = ["section-5.3.1/airtime/overhearing-90", "section-5.3.1/airtime/overhearing-10"]
        .map(|id| papers::REFACTOR.value(id));
    bounded(
        format!(
            "{}: with 290 µs at least {high} less air time at 90% and {low} at 10%, whole",
            Scheme::PAPER
        ),
        &[(90.0, high.number().left().get()), (10.0, low.number().left().get())],
        |place| air(rows, Mix::High, Kind::Whole, Clock::Paper, Scheme::PAPER, place),
    )
}

/// The ceiling of all schemes that send a datagram for each packet.
fn ceiling(rows: &[Row]) -> Claim {
    let mut below: Vec<String> = Vec::new();
    let mut count = 0;
    for (kind, clock, place) in high_cells() {
        let at = |scheme| air(rows, Mix::High, kind, clock, scheme, place);
        let Some(ceiling) = at(Scheme::MaxMatch) else { continue };
        let others = [Scheme::PAPER, Scheme::AsPrinted(Estimates::TrueAnd(0.0)), Scheme::Receipts];
        for scheme in others.into_iter().chain([Scheme::PerfectKnowledge]) {
            count += usize::from(at(scheme).is_some());
            let is_below = at(scheme).is_some_and(|found| found < ceiling);
            below.extend(is_below.then(|| format!("{scheme} at {place}%, {kind}, {clock}")));
        }
    }
    let holds = below.is_empty();
    let found = if holds && count > 0 { vec![format!("none of {count} cells below")] } else { below };
    Claim::judged(
        "high mix: no scheme without packing takes less air than max-match of what was heard",
        found,
        holds,
    )
}

/// The paper's own saving against the ceiling under its own parameters.
fn papers_saving_is_beyond_the_ceiling(rows: &[Row]) -> Claim {
    let paper = papers::REFACTOR.value("section-5.3.1/airtime/overhearing-90");
    let ceiling = air(rows, Mix::High, Kind::Whole, Clock::Paper, Scheme::MaxMatch, 90.0);
    Claim::judged(
        format!(
            "high mix, whole, 290 µs: max-match of what was heard saves less than the paper's {paper} at 90%"
        ),
        ceiling.iter().map(|ceiling| format!("{ceiling:.3}")).collect(),
        ceiling > Some(paper.number().left().get()),
    )
}

/// Kinds, clocks and places of the high mix.
fn high_cells() -> impl Iterator<Item = (Kind, Clock, f64)> {
    let kinds = Kind::ALL.into_iter().flat_map(|kind| Clock::ALL.map(|clock| (kind, clock)));
    kinds.flat_map(|(kind, clock)| PLACES.map(|place| (kind, clock, place)))
}

fn standard_times(rows: &[Row]) -> Claim {
    let [high, low] = ["section-5.3.1/airtime/overhearing-90", "section-5.3.1/airtime/overhearing-10"]
        .map(|id| papers::REFACTOR.value(id));
    bounded(
        format!(
            "receipts: with 802.11g's times at least {high} less air time at 90% and {low} at 10%, whole"
        ),
        &[(90.0, high.number().left().get()), (10.0, low.number().left().get())],
        |place| air(rows, Mix::High, Kind::Whole, Clock::Standard, Scheme::Receipts, place),
    )
}

fn at_most(rows: &[Row], scheme: Scheme, kind: Kind, bounds: &[(f64, f64)]) -> Claim {
    let said: Vec<String> = bounds.iter().map(|(place, bound)| format!("{bound} at {place}%")).collect();
    let claim = format!("high mix, {kind}, 290 µs, {scheme}: air time at most {}", said.join(" and "));
    bounded(claim, bounds, |place| air(rows, Mix::High, kind, Clock::Paper, scheme, place))
}

/// Values with upper bounds at these places.
fn bounded(claim: impl Into<String>, bounds: &[(f64, f64)], at: impl Fn(f64) -> Option<f64>) -> Claim {
    let found: Vec<String> =
        bounds.iter().filter_map(|(place, _)| Some(format!("{:.3} at {place}%", at(*place)?))).collect();
    let holds = bounds.iter().all(|(place, bound)| at(*place).is_some_and(|found| found <= *bound));
    Claim::judged(claim, found, holds)
}

/// Ids of the paper's goodputs of C2 above no RE's, and their places.
const GOODPUTS: [(&str, f64); 3] = [
    ("section-5.3.1/goodput/overhearing-90", 90.0),
    ("section-5.3.1/goodput/overhearing-50", 50.0),
    ("section-5.3.1/goodput/overhearing-10", 10.0),
];

fn papers_goodput(rows: &[Row]) -> Claim {
    goodput_of(rows, Scheme::PAPER, &GOODPUTS)
}

fn goodput(rows: &[Row]) -> Claim {
    goodput_of(rows, Scheme::Receipts, &[GOODPUTS[0], GOODPUTS[2]])
}

fn goodput_of(rows: &[Row], scheme: Scheme, stated: &[(&'static str, f64)]) -> Claim {
    let at = |place| {
        let series = series(Metric::GoodputGain, Kind::Whole, Clock::Paper, scheme);
        value(rows, figure(Mix::High), &series, place)
    };
    let bounds = stated.iter().map(|(id, place)| (*place, papers::REFACTOR.value(id).number().grown()));
    let bounds: Vec<(f64, papers::Stated)> = bounds.collect();
    let found: Vec<String> =
        bounds.iter().filter_map(|(place, _)| Some(format!("{:.3} at {place}%", at(*place)?))).collect();
    let holds = bounds.iter().all(|(place, bound)| at(*place).is_some_and(|found| found >= bound.get()));
    let said: Vec<String> = bounds.iter().map(|(place, bound)| format!("{bound} at {place}%")).collect();
    let claim = format!("{scheme}: goodput of C2 at least {}, whole (the paper's)", said.join(", "));
    Claim::judged(claim, found, holds)
}

fn as_good_as_any_knowledge(rows: &[Row]) -> Claim {
    let quotient = |metric, kind, clock, place| {
        let of = |scheme| value(rows, figure(Mix::High), &series(metric, kind, clock, scheme), place);
        Some(of(Scheme::Receipts)? / of(Scheme::PerfectKnowledge)?)
    };
    let worst = |metric, beyond: fn(f64, f64) -> f64| {
        let cells = Kind::ALL.into_iter().flat_map(|kind| Clock::ALL.map(|clock| (kind, clock)));
        cells
            .flat_map(|(kind, clock)| PLACES.map(|place| (kind, clock, place)))
            .filter_map(|(kind, clock, place)| quotient(metric, kind, clock, place))
            .reduce(beyond)
    };
    let (air, goodput) = (worst(Metric::AirTime, f64::max), worst(Metric::GoodputGain, f64::min));
    let found = air.iter().chain(&goodput).map(|worst| format!("{worst:.4} of it at worst")).collect();
    let holds = air.is_some_and(|worst| worst <= 1.01) && goodput.is_some_and(|worst| worst >= 0.99);
    let claim = "high mix: receipts are within 1% of perfect knowledge with our codec, in air time and in C2's goodput";
    Claim::judged(claim, found, holds)
}

fn wrong_estimates(rows: &[Row]) -> Claim {
    let at = |kind| {
        let scheme = Scheme::AsPrinted(Estimates::TrueAnd(20.0));
        value(rows, robustness::FIGURE.id, &robustness::series(kind, scheme), 70.0)
    };
    let found: Vec<String> =
        Kind::ALL.into_iter().filter_map(|kind| Some(format!("{:.3} {kind}", at(kind)?))).collect();
    let holds = Kind::ALL.into_iter().all(|kind| at(kind).is_some_and(|ratio| ratio < 1.0));
    Claim::judged("as printed: an estimate of 90% where 70% is true still beats no RE", found, holds)
}

/// All cells of figures 5 to 7 that were run: air time with receipts, greedily, and what cell it is.
fn cells(rows: &[Row]) -> Vec<(f64, f64, String)> {
    let mut cells = Vec::new();
    for mix in Mix::ALL {
        for kind in Kind::ALL {
            for clock in Clock::ALL {
                for place in PLACES {
                    let at = |scheme| air(rows, mix, kind, clock, scheme, place);
                    if let (Some(receipts), Some(greedy)) = (at(Scheme::Receipts), at(Scheme::Greedy)) {
                        cells.push((receipts, greedy, format!("{mix} {kind} {clock} {place}%")));
                    }
                }
            }
        }
    }
    cells
}

fn never_worse(rows: &[Row]) -> Claim {
    let cells = cells(rows);
    let worst = cells.iter().max_by(|one, other| one.0.total_cmp(&other.0));
    let found: Vec<String> = worst
        .iter()
        .map(|(ratio, _, cell)| format!("{ratio:.3} at worst ({cell}), of {} cells", cells.len()))
        .collect();
    let holds = worst.is_some_and(|(ratio, ..)| *ratio <= 1.0);
    Claim::judged("receipts and the adaptive threshold are never below no RE", found, holds)
}

fn near_the_best(rows: &[Row]) -> Claim {
    let beyond = |(receipts, greedy, _): &(f64, f64, String)| receipts / greedy.min(1.0) - 1.0;
    let cells = cells(rows);
    let worst = cells.iter().max_by(|one, other| beyond(one).total_cmp(&beyond(other)));
    let found: Vec<String> =
        worst.iter().map(|cell| format!("{:+.1}% at worst ({})", 100.0 * beyond(cell), cell.2)).collect();
    let holds = worst.is_some_and(|cell| beyond(cell) <= 0.02);
    Claim::judged(
        "receipts are never more than 2% below the best of no RE and our codec's greedy RE",
        found,
        holds,
    )
}

fn greedy_loses(rows: &[Row]) -> Claim {
    let at = |kind, place| {
        let series = series(Metric::GoodputGain, kind, Clock::Paper, Scheme::GreedyAsPrinted);
        value(rows, figure(Mix::High), &series, place)
    };
    let found: Vec<String> = Kind::ALL
        .into_iter()
        .flat_map(|kind| [50.0, 30.0, 10.0].map(|place| (kind, place)))
        .filter_map(|(kind, place)| Some(format!("{:.3} at {place}% {kind}", at(kind, place)?)))
        .collect();
    let holds = Kind::ALL.into_iter().all(|kind| {
        [50.0, 30.0, 10.0].into_iter().all(|place| at(kind, place).is_some_and(|gain| gain < 1.0))
    });
    Claim::judged("as printed: greedy RE loses goodput of C2 at 50% and below in the high mix", found, holds)
}

fn greedy_gains(rows: &[Row]) -> Claim {
    let paper = papers::REFACTOR.value("section-5.3.1/greedy/overhearing-70").number();
    let series = series(Metric::GoodputGain, Kind::Whole, Clock::Paper, Scheme::GreedyAsPrinted);
    let gain = value(rows, figure(Mix::High), &series, 70.0);
    Claim::judged(
        format!("as printed: greedy RE gains at least {paper}% of C2's goodput at 70%, whole"),
        gain.iter().map(|gain| format!("{gain:.3}")).collect(),
        gain.is_some_and(|gain| gain >= paper.grown().get()),
    )
}

/// How far we may be from the paper's Table 4.
const WITHIN_POINTS: f64 = 3.0;

fn fewer_losses(rows: &[Row], kind: Kind, scheme: Scheme) -> Claim {
    let at = |place| value(rows, table_4::FIGURE.id, &table_4::fewer(kind, scheme), place);
    let papers =
        table_4::PAPER.map(|(place, _, fewer)| (f64::from(place), papers::REFACTOR.value(fewer).number()));
    let found: Vec<String> = papers
        .iter()
        .filter_map(|(place, paper)| Some(format!("{:.1} at {place}% ({paper})", at(*place)?)))
        .collect();
    let holds = papers
        .iter()
        .all(|(place, paper)| at(*place).is_some_and(|ours| Band::around(*paper, WITHIN_POINTS).has(ours)));
    let claim =
        format!("table 4, {kind}, {scheme}: as many percent fewer losses as the paper's, within 3 points");
    Claim::judged(claim, found, holds)
}

/// The value of a capture's row.
fn of_capture(rows: &[Row], series: &str, capture: &str) -> Option<f64> {
    let place = X::from(capture);
    of(rows, captures::FIGURE.id).find(|row| row.series == series && row.x == place)?.value
}

fn devices(rows: &[Row]) -> Claim {
    let saved = of_capture(rows, captures::SAVED_HTTP, "iot-dlink-1round-A");
    let found = saved.iter().map(|share| format!("{:.1}%", 100.0 * share)).collect();
    let claim =
        "devices that fetch one firmware: at least 45% of the HTTP bytes are saved with 90% overhearing";
    Claim::judged(claim, found, saved >= Some(0.45))
}

fn nothing_to_save(rows: &[Row]) -> Claim {
    let ratio = of_capture(rows, captures::AIR_TIME_ALL, "mixed-http-low");
    let found = ratio.iter().map(|ratio| format!("{ratio:.4}")).collect();
    let claim = "clients with nothing in common: no more air time than without RE";
    Claim::judged(claim, found, ratio.is_some_and(|ratio| ratio <= 1.001))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    fn row(series: String, x: f64, value: f64) -> Row {
        Row::new("5", series, x, "ratio").exactly(value)
    }

    fn holds(rows: &[Row], beginning: &str) -> Option<bool> {
        crate::claim::holds(&claims(rows), beginning)
    }

    #[test]
    fn nothing_is_claimed_of_what_was_not_measured() {
        assert!(claims(&[]).iter().all(|claim| claim.holds.is_none()), "{:?}", claims(&[]));
    }

    #[test]
    fn claims_pass_at_their_bounds_and_fall_short_beyond() {
        let air = |receipts: f64, greedy: f64| {
            let of = |scheme| series(Metric::AirTime, Kind::Whole, Clock::Paper, scheme);
            [row(of(Scheme::Receipts), 90.0, receipts), row(of(Scheme::Greedy), 90.0, greedy)]
        };
        assert_eq!(holds(&air(0.82, 0.81), "receipts are never more"), Some(true));
        assert_eq!(holds(&air(0.83, 0.81), "receipts are never more"), Some(false));
        assert_eq!(holds(&air(1.0, 1.2), "receipts and the adaptive"), Some(true));
        assert_eq!(holds(&air(1.001, 1.2), "receipts and the adaptive"), Some(false));
    }
}
