//! What must come out, held against the rows.

use std::collections::BTreeMap;

use super::figure_2::{ANALYSIS, SIMULATION};
use super::path::Repair;
use super::{figure_2, figure_3, figure_4, figure_8, gain, harm, receipts, snoop};
use crate::papers::{self, Stated};
use crate::report::Claim;
use crate::row::{Row, X, of, value};

/// The largest difference of analysis and simulation.
const AGREE_WITHIN: f64 = 0.02;
/// Buffer sizes, in packets, at which coding must gain.
const SMALL: std::ops::RangeInclusive<f64> = 2.0..=8.0;
/// The fewest seeds of a throughput that is judged: those of one seed differ by a third of their mean.
const SEEDS_THAT_JUDGE: u32 = 4;
/// Upper bound of the buffer sizes with bursts.
fn no_longer_small() -> Stated {
    papers::XBC.value("section-5.c.2/buffer").number()
}

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let mut claims = vec![
        analysis_agrees(rows),
        distances(rows),
        random_gain(rows),
        random_gain_adaptive(rows),
        random_gain_without_sack(rows),
        burst_gain(rows),
        burst_gain_adaptive(rows),
        grid_gain(rows),
        nothing_when_large(rows),
        adaptive_is_best(rows),
        adaptive_harms_nobody(rows),
        rows_win_somewhere(rows),
    ];
    claims.extend(snoop::GOALS.map(|(percent, least)| snoop_gains(rows, percent, least)));
    claims.extend([receipts_repair_best(rows), no_harm(rows), complete(rows)]);
    claims
}

fn analysis_agrees(rows: &[Row]) -> Claim {
    let mut worst: Option<f64> = None;
    for row in
        rows.iter().filter(|row| [figure_2::FIGURE.id, figure_4::FIGURE.id].contains(&row.figure.as_str()))
    {
        let other = row.series.replace(SIMULATION, ANALYSIS);
        let X::Number(x) = row.x else { continue };
        if let (true, Some(simulated), Some(analysed)) =
            (row.series != other, row.value, value(rows, &row.figure, &other, x))
        {
            worst = Some(worst.unwrap_or(0.0).max((simulated / analysed - 1.0).abs()));
        }
    }
    Claim::judged(
        format!("analysis and simulation agree within {AGREE_WITHIN}"),
        worst.iter().map(|worst| format!("at most {worst:.4} apart")).collect(),
        worst.is_some_and(|worst| worst <= AGREE_WITHIN),
    )
}

fn distances(rows: &[Row]) -> Claim {
    let models = (1..=figure_3::MODELS.len()).filter_map(|model| {
        let at = |distance| value(rows, figure_3::FIGURE.id, &figure_3::series(distance), model as f64);
        Some((at(2)?, at(4)?, at(8)?))
    });
    let models: Vec<(f64, f64, f64)> = models.collect();
    let holds = models.iter().all(|(two, four, eight)| four > two && four >= eight);
    let found = models.iter().map(|(two, four, eight)| format!("{two:.3} {four:.3} {eight:.3}"));
    Claim::judged(
        "Figure 3: a distance of 4 far above 2 and a little above 8 (2, 4, 8 by model)",
        found.collect(),
        holds,
    )
}

/// Measurements at one loss rate with one buffer, by repair.
type Point<'a> = BTreeMap<&'a str, f64>;

/// All points of a figure that have seeds enough, with their losses and buffers.
fn points<'a>(rows: &'a [Row], figure: &'a str) -> Vec<(&'a str, f64, Point<'a>)> {
    let mut points: Vec<(&str, f64, Point<'_>)> = Vec::new();
    for row in of(rows, figure).filter(|row| row.seeds >= SEEDS_THAT_JUDGE) {
        let (Some((losses, repair)), X::Number(buffer), Some(value)) =
            (row.series.split_once(": "), &row.x, row.value)
        else {
            continue;
        };
        let at =
            points.iter().position(|point| (point.0, point.1) == (losses, *buffer)).unwrap_or_else(|| {
                points.push((losses, *buffer, Point::new()));
                points.len() - 1
            });
        points[at].2.insert(repair, value);
    }
    points
}

/// The better of the two without coding, and the best with a fixed one.
fn best(point: &Point<'_>) -> Option<(f64, f64)> {
    let snoop = gain::SNOOP.map(|repair| repair.to_string());
    let others = [Repair::Adaptive, Repair::ReedSolomon].map(|repair| repair.to_string());
    let is = |names: &[String], name: &str| names.iter().any(|it| it == name);
    let of = |coded: bool| {
        let chosen = point.iter().filter(|(name, _)| is(&snoop, name) != coded && !is(&others, name));
        chosen.map(|(_, value)| *value).reduce(f64::max)
    };
    Some((of(false)?, of(true)?))
}

/// The gain of XBC's best fixed pattern over the better Snoop, in each cell, with losses.
fn gains(rows: &[Row], figure: &str, buffers: impl Fn(f64) -> bool) -> Vec<f64> {
    let points = points(rows, figure).into_iter().filter(|point| buffers(point.1));
    points.filter_map(|(.., point)| best(&point)).map(|(snoop, xbc)| xbc / snoop - 1.0).collect()
}

/// As [`gains`], of the adaptive choice.
fn gains_of_adaptive(rows: &[Row], figure: &str, buffers: impl Fn(f64) -> bool) -> Vec<f64> {
    let adaptive = Repair::Adaptive.to_string();
    let points = points(rows, figure).into_iter().filter(|point| buffers(point.1));
    points.filter_map(|(.., point)| Some(point.get(adaptive.as_str())? / best(&point)?.0 - 1.0)).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn random_gain(rows: &[Row]) -> Claim {
    let gains = gains(rows, gain::FIGURE_6.id, |buffer| SMALL.contains(&buffer));
    random_gain_of("XBC as published, the best degree", &gains)
}

fn random_gain_adaptive(rows: &[Row]) -> Claim {
    let gains = gains_of_adaptive(rows, gain::FIGURE_6.id, |buffer| SMALL.contains(&buffer));
    random_gain_of("ours, the adaptive choice", &gains)
}

fn random_gain_without_sack(rows: &[Row]) -> Claim {
    let gains = gains(rows, gain::FIGURE_6_WITHOUT_SACK.id, |buffer| SMALL.contains(&buffer));
    random_gain_of("XBC as published without SACK, the best degree", &gains)
}

fn random_gain_of(what: &str, gains: &[f64]) -> Claim {
    let (mean, most) = (mean(gains), gains.iter().copied().fold(f64::MIN, f64::max));
    let found =
        (!gains.is_empty()).then(|| format!("mean {mean:+.3}, best {most:+.3}, {} cells", gains.len()));
    let [average, best] =
        ["section-5.c.1/gain-average", "section-5.c.1/gain-max"].map(|id| papers::XBC.value(id).number());
    Claim::judged(
        format!(
            "random losses, buffers of 2 to 8 packets: {what} at least +{average}% on average and +{best}% in the best \
             cell"
        ),
        found.into_iter().collect(),
        mean >= average.share().get() && most >= best.share().get(),
    )
}

fn burst_gain(rows: &[Row]) -> Claim {
    let gains = gains(rows, gain::FIGURE_7.id, |buffer| buffer < no_longer_small().get());
    burst_gain_of("XBC as published, the best degree and distance", &gains)
}

fn burst_gain_adaptive(rows: &[Row]) -> Claim {
    let gains = gains_of_adaptive(rows, gain::FIGURE_7.id, |buffer| buffer < no_longer_small().get());
    burst_gain_of("ours, the adaptive choice", &gains)
}

fn burst_gain_of(what: &str, gains: &[f64]) -> Claim {
    let mean = mean(gains);
    let found = (!gains.is_empty()).then(|| format!("mean {mean:+.3}, {} cells", gains.len()));
    let least = papers::XBC.value("section-5.c.2/gain").low();
    let buffer = no_longer_small();
    Claim::judged(
        format!("bursts, buffers under {buffer} packets: {what} at least +{least}% on average"),
        found.into_iter().collect(),
        mean >= least.share().get(),
    )
}

fn grid_gain(rows: &[Row]) -> Claim {
    let paper = papers::XBC.value("section-5.d/gain").low();
    let gains = gains(rows, figure_8::FIGURE.id, |_| true);
    let least = gains.iter().copied().reduce(f64::min);
    Claim::judged(
        format!(
            "nine pairs on one channel: XBC as published, the best degree at least +{paper}% in every cell"
        ),
        least
            .iter()
            .map(|least| format!("at least {least:+.3}, mean {:+.3}, {} cells", mean(&gains), gains.len()))
            .collect(),
        least.is_some_and(|least| least >= paper.share().get()),
    )
}

fn nothing_when_large(rows: &[Row]) -> Claim {
    let gains: Vec<f64> = [gain::FIGURE_6.id, gain::FIGURE_7.id]
        .into_iter()
        .flat_map(|figure| gains(rows, figure, |buffer| buffer > no_longer_small().get()))
        .collect();
    let most = gains.iter().copied().reduce(f64::max);
    Claim::judged(
        format!("XBC as published: nothing gained above {} packets (at most 3%)", no_longer_small()),
        most.iter().map(|most| format!("at most {most:+.3}")).collect(),
        most.is_some_and(|most| most <= 0.03),
    )
}

/// Points at which the adaptive choice falls behind by more than `within`, and how many there are.
fn behind(rows: &[Row], within: f64, other: impl Fn(&Point<'_>) -> Option<f64>) -> (usize, Vec<String>) {
    let adaptive = Repair::Adaptive.to_string();
    let (mut count, mut behind) = (0, Vec::new());
    for figure in [gain::FIGURE_6.id, gain::FIGURE_7.id, figure_8::FIGURE.id] {
        for (losses, buffer, point) in points(rows, figure) {
            let (Some(ours), Some(theirs)) = (point.get(adaptive.as_str()), other(&point)) else { continue };
            count += 1;
            if *ours < theirs * (1.0 - within) {
                behind.push(format!("{:+.3} at {losses}, {buffer} packets", ours / theirs - 1.0));
            }
        }
    }
    (count, behind)
}

fn judged(claim: &str, (count, behind): (usize, Vec<String>)) -> Claim {
    let found = match behind.as_slice() {
        [] if count == 0 => Vec::new(),
        [] => vec![format!("all of {count} points")],
        _ => behind.iter().cloned().chain([format!("{} of {count} points", behind.len())]).collect(),
    };
    Claim::judged(claim, found, behind.is_empty())
}

fn adaptive_is_best(rows: &[Row]) -> Claim {
    let best = behind(rows, 0.03, |point| best(point).map(|(snoop, xbc)| snoop.max(xbc)));
    judged("the adaptive choice within 3% of the best fixed one at every point", best)
}

fn adaptive_harms_nobody(rows: &[Row]) -> Claim {
    let snoop = behind(rows, 0.01, |point| best(point).map(|(snoop, _)| snoop));
    judged("the adaptive choice above plain Snoop at every point, or equal within 1%", snoop)
}

/// The claim that Reed-Solomon's rows are somewhere the best fixed choice.
fn rows_win_somewhere(rows: &[Row]) -> Claim {
    let name = Repair::ReedSolomon.to_string();
    let mut best_gain: Option<(f64, String)> = None;
    for (losses, buffer, point) in points(rows, gain::FIGURE_7.id) {
        let (Some(ours), Some((snoop, xbc))) = (point.get(name.as_str()), best(&point)) else { continue };
        let gain = ours / snoop.max(xbc) - 1.0;
        if best_gain.as_ref().is_none_or(|best| gain > best.0) {
            best_gain = Some((gain, format!("{gain:+.3} at {losses}, {buffer} packets")));
        }
    }
    let holds = best_gain.as_ref().is_some_and(|best| best.0 > 0.0);
    let found = best_gain.map(|best| best.1).into_iter().collect();
    Claim::judged("bursts: Reed-Solomon's rows above every degree and distance somewhere", found, holds)
}

fn snoop_gains(rows: &[Row], percent: f64, least: f64) -> Claim {
    let found = snoop::CONTROLS
        .map(|control| (control, value(rows, snoop::FIGURE.id, &snoop::series(control, true), percent)));
    let found: Vec<(&str, f64)> =
        found.into_iter().filter_map(|(control, value)| Some((control, value?))).collect();
    let holds = found.iter().all(|(_, value)| *value >= least);
    let found = found.iter().map(|(control, value)| format!("{control} {value:.2}"));
    Claim::judged(
        format!("Snoop with 100 packets at {percent}% loss: at least {least} times TCP alone"),
        found.collect(),
        holds,
    )
}

fn receipts_repair_best(rows: &[Row]) -> Claim {
    let (mut found, mut holds) = (Vec::new(), true);
    for row in of(rows, receipts::FIGURE.id).filter(|row| row.series == receipts::HOP) {
        let (X::Number(percent), Some(hop)) = (&row.x, row.value) else { continue };
        if let Some(snoop) = value(rows, receipts::FIGURE.id, receipts::SNOOP, *percent) {
            holds &= hop >= snoop * 0.97;
            found.push(format!("{percent}%: {hop:.2} and {snoop:.2} Mbit/s"));
        }
    }
    Claim::judged(
        "where stations send receipts, the hop repairs as well as Snoop with 100 packets",
        found,
        holds,
    )
}

fn no_harm(rows: &[Row]) -> Claim {
    let cells: Vec<&Row> =
        of(rows, harm::FIGURE.id).filter(|row| row.series.starts_with(harm::QUOTIENT)).collect();
    let short: Vec<String> = cells
        .iter()
        .filter(|row| row.value.is_none_or(|value| value < 0.97))
        .map(|row| format!("{} at {}%: {:.3}", row.series, row.x, row.value.unwrap_or(f64::NAN)))
        .collect();
    judged("cubic, reno and bbr with repair: at least 0.97 of without in every cell", (cells.len(), short))
}

fn complete(rows: &[Row]) -> Claim {
    let cells: Vec<&Row> =
        of(rows, harm::FIGURE.id).filter(|row| row.series.starts_with(harm::COMPLETE)).collect();
    let short: Vec<String> = cells
        .iter()
        .filter(|row| row.value != Some(1.0))
        .map(|row| format!("{} at {}%", row.series, row.x))
        .collect();
    judged("every file is complete and equal to its original", (cells.len(), short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(buffer: f64, snoop: f64, xbc: f64) -> [Row; 2] {
        [(Repair::NonLru, snoop), (Repair::Xbc(2, 1), xbc)]
            .map(|(repair, throughput)| of_seeds(SEEDS_THAT_JUDGE, buffer, repair, throughput))
    }

    fn of_seeds(seeds: u32, buffer: f64, repair: Repair, throughput: f64) -> Row {
        let row = Row::new(gain::FIGURE_6.id, format!("1 in 64 Kb: {repair}"), buffer, "Mbit/s");
        Row { seeds, ..row.exactly(throughput) }
    }

    #[test]
    fn a_throughput_of_few_seeds_is_not_judged() {
        let row = |seeds, repair, throughput| of_seeds(seeds, 2.0, repair, throughput);
        let rows = |seeds| {
            [row(4, Repair::NonLru, 1.0), row(4, Repair::Xbc(2, 1), 1.2), row(seeds, Repair::Adaptive, 1.0)]
        };
        assert_eq!(adaptive_is_best(&rows(3)).holds, None);
        assert_eq!(adaptive_is_best(&rows(4)).holds, Some(false));
    }

    #[test]
    fn a_cell_in_which_coding_loses_lowers_the_mean() {
        let rows = [cell(2.0, 1.0, 1.5), cell(8.0, 1.0, 0.5)].concat();
        assert_eq!(gains(&rows, gain::FIGURE_6.id, |_| true), [0.5, -0.5]);
        let claim = random_gain(&rows);
        assert_eq!((claim.holds, claim.found.as_str()), (Some(false), "mean +0.000, best +0.500, 2 cells"));
    }

    #[test]
    fn the_adaptive_choice_is_none_of_the_papers() {
        let mut rows = cell(2.0, 1.0, 0.9).to_vec();
        rows.push(of_seeds(SEEDS_THAT_JUDGE, 2.0, Repair::Adaptive, 2.0));
        assert!(gains(&rows, gain::FIGURE_6.id, |_| true)[0] < 0.0);
        assert!(gains_of_adaptive(&rows, gain::FIGURE_6.id, |_| true)[0] > 0.9);
    }
}
