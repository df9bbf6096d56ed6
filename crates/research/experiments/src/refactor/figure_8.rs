//! Figure 8: a station that overhears two access points.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;

use super::overhearing::Overhearing;
use super::tally::Tally;
use super::trial::fresh;
use super::two_access_points::{CLIENTS, Heard, TwoAccessPoints};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::papers;
use crate::parallel;
use crate::report::Claim;
use crate::row::{Driver, Row, value};
use crate::trace::{Composer, Kind, Mix};

/// Figure 8.
pub const FIGURE: Figure = Figure {
    id: "8",
    title: "Two access points and three stations, high overlap",
    x: "overhearing, %",
    remark: "C1 and C2 are at one access point and C3 at another; C2 overhears both, as much of either. Goodput of C2 relative \
             to no RE, with the paper's 290 µs. What repeats was sent to one of the two others before, so that half of it is \
             in vain to whoever hears its own access point only. In both, access points hear each other, as the paper's do; by \
             name, they do not, and one names to the other over the wire which chunks C2 overheard: of \
             those, what stands beside a chunk is not known, so that only whole chunks are removed. With hidden terminals, what both \
             send at once is lost at C2, what is for C2 included; each sends as much as if they shared the air.",
    needs: |_| Vec::new(),
    rows,
};

/// For each chunk there are four slots and more.
const SLOT_BITS: u8 = 20;
/// Our goal: the least gain by name at 90%.
const BY_NAME: f64 = 0.05;
const PERCENT: [f64; 5] = [90.0, 70.0, 50.0, 30.0, 10.0];

impl Heard {
    const ALL: [Self; 4] = [Self::NoRe, Self::OwnAccessPoint, Self::Both, Self::BothByName];

    fn name(self) -> &'static str {
        match self {
            Self::NoRe => "no RE",
            Self::OwnAccessPoint => "own access point only",
            Self::Both => "both access points",
            Self::BothByName => "both, by name",
        }
    }
}

fn series(kind: Kind, hidden: bool, heard: Heard) -> String {
    let hidden = if hidden { ", hidden terminals" } else { "" };
    format!("goodput of C2, {kind}{hidden}: {}", heard.name())
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let fresh = fresh(&results.setting)?;
    let mut cells = Vec::new();
    for kind in Kind::ALL {
        for hidden in [false, true] {
            for overhearing in Overhearing::PAPER {
                cells.extend(Heard::ALL.map(|heard| (kind, hidden, overhearing, heard)));
            }
        }
    }
    // in a short trace few objects repeat, and which of both others had them before is chance
    let bytes: u64 = results.setting.plan.choose(16 << 20, 8 << 20, 4 << 20);
    let seeds = u64::from(results.setting.plan.seeds(4, 3, 1));
    let runs: Vec<_> = cells.iter().flat_map(|cell| (1..=seeds).map(move |seed| (*cell, seed))).collect();
    let tallies =
        parallel::map(runs, &ProgressBar::hidden(), |((kind, hidden, overhearing, heard), seed)| {
            let trace = Composer::among(CLIENTS, Arc::clone(&fresh), Mix::High, kind, bytes, seed);
            let run = TwoAccessPoints { overhearing, heard, hidden, slot_bits: SLOT_BITS, seed };
            run.of(trace)
                .with_context(|| format!("{kind} {} {}, seed {seed}", overhearing.percent, heard.name()))
        })?;
    let of_cells: Vec<&[Tally]> = tallies.chunks(seeds as usize).collect();
    let goodput = |tally: &Tally| tally.stations[1].goodput();
    let row = |(at, cell): (usize, &(Kind, bool, Overhearing, Heard))| {
        let (kind, hidden, overhearing, heard) = *cell;
        // the first of each four is no RE
        let baseline = of_cells[at - at % Heard::ALL.len()];
        let pairs: Vec<(f64, f64)> = of_cells[at]
            .iter()
            .zip(baseline)
            .map(|(ours, theirs)| (goodput(ours), goodput(theirs)))
            .collect();
        Row::new(FIGURE.id, series(kind, hidden, heard), overhearing.place(), "ratio")
            .measured(Estimate::paired_ratio(&pairs), Driver::Sim, seeds as u32)
            .note(format!("{} MiB of payload a trace, caches of 2^{SLOT_BITS} slots", bytes >> 20))
    };
    Ok(cells.iter().enumerate().map(row).collect())
}

/// By how much both are better than the own access point only, at each place.
fn gains(rows: &[Row], kind: Kind, hidden: bool, both: Heard) -> Vec<(f64, f64)> {
    let at = |place, heard| value(rows, FIGURE.id, &series(kind, hidden, heard), place);
    let gain = |place: f64| Some((place, at(place, both)? / at(place, Heard::OwnAccessPoint)? - 1.0));
    PERCENT.into_iter().filter_map(gain).collect()
}

/// C2's goodput above hearing only its own at 90% by at least what the paper has, by name by our goal;
/// shrinking with overhearing and never negative.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let found = |gains: &[(f64, f64)]| -> Vec<String> {
        gains.iter().map(|(place, gain)| format!("{:+.1}% at {place}%", 100.0 * gain)).collect()
    };
    let mut claims = Vec::new();
    let paper = papers::REFACTOR.value("section-5.5.1/benefit").number().share();
    for (both, least) in [(Heard::Both, paper.get()), (Heard::BothByName, BY_NAME)] {
        let gains = gains(rows, Kind::Whole, false, both);
        let shrinks = gains.windows(2).all(|two| two[1].1 < two[0].1);
        let holds = gains.len() == PERCENT.len() && gains[0].1 >= least && shrinks && gains[4].1 >= 0.0;
        let claim = format!(
            "figure 8, whole, {}: C2's goodput at least {:.0}% above hearing its own only at 90%, less with less, never \
             negative",
            both.name(),
            100.0 * least
        );
        claims.push(Claim::judged(claim, found(&gains), holds));
    }
    let mut worst: Vec<(f64, f64)> = Vec::new();
    for kind in Kind::ALL {
        for hidden in [false, true] {
            for both in [Heard::Both, Heard::BothByName] {
                worst.extend(gains(rows, kind, hidden, both));
            }
        }
    }
    let least = worst.into_iter().min_by(|one, other| one.1.total_cmp(&other.1));
    claims.push(Claim::judged(
        "figure 8: of either kind, hidden terminals or not, hearing both is never worse than hearing one's own only",
        found(&least.into_iter().collect::<Vec<_>>()),
        least.is_some_and(|(_, gain)| gain >= 0.0),
    ));
    claims
}
