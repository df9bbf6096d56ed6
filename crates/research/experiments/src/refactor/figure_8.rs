//! Figure 8: a station that overhears two access points.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;

use super::as_printed::Cache;
use super::overhearing::Overhearing;
use super::scheme::Scheme;
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
             to no RE, with the paper's 290 µs. What repeats was sent to one of the two others before, so that the own access \
             point alone makes half of it removable. As printed, the access points hear each other, and the other one's bit \
             vector names each slot that C2 likely overheard: by Table 1, with a probability above .5. Ours know by receipts. \
             By name, the access points do not hear each other, and one names to the other over the wire the chunks that C2 \
             overheard; only whole chunks are then removed. With hidden terminals, frames that overlap are lost at C2, and each \
             access point sends as much as if they shared the air.",
    needs: |_| Vec::new(),
    rows,
};

/// For each chunk there are four slots and more.
const SLOT_BITS: u8 = 20;
/// Our goal: the least gain by name at 90%.
const BY_NAME: f64 = 0.05;
const PERCENT: [f64; 5] = [90.0, 70.0, 50.0, 30.0, 10.0];

/// A curve: the codec, and what of the other access point bears on it. The paper's stand first.
type Curve = (Scheme, Heard);
const NO_RE: Curve = (Scheme::Nothing, Heard::NoRe);
const CURVES: [Curve; 6] = [
    (Scheme::PAPER, Heard::OwnAccessPoint),
    (Scheme::PAPER, Heard::Both),
    NO_RE,
    (Scheme::Receipts, Heard::OwnAccessPoint),
    (Scheme::Receipts, Heard::Both),
    (Scheme::Receipts, Heard::BothByName),
];

impl Heard {
    fn name(self) -> &'static str {
        match self {
            Self::NoRe => "no RE",
            Self::OwnAccessPoint => "own access point only",
            Self::Both => "both access points",
            Self::BothByName => "both, by name",
        }
    }
}

fn series(kind: Kind, hidden: bool, (scheme, heard): Curve) -> String {
    let hidden = if hidden { ", hidden terminals" } else { "" };
    let printed = if scheme == Scheme::PAPER { "as printed, " } else { "" };
    format!("goodput of C2, {kind}{hidden}: {printed}{}", heard.name())
}

fn slot_bits(scheme: Scheme, bytes: u64) -> u8 {
    if scheme.has_scaled_cache() { Cache::for_trace(bytes).slot_bits() } else { SLOT_BITS }
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let fresh = fresh(&results.setting)?;
    let mut cells = Vec::new();
    for kind in Kind::ALL {
        for hidden in [false, true] {
            for overhearing in Overhearing::PAPER {
                cells.extend(CURVES.map(|curve| (kind, hidden, overhearing, curve)));
            }
        }
    }
    // in a short trace few objects repeat, and which of both others had them before is chance
    let bytes: u64 = results.setting.plan.choose(16 << 20, 8 << 20, 4 << 20);
    let seeds = u64::from(results.setting.plan.seeds(4, 3, 1));
    let runs: Vec<_> = cells.iter().flat_map(|cell| (1..=seeds).map(move |seed| (*cell, seed))).collect();
    let tallies = parallel::map(
        runs,
        &ProgressBar::hidden(),
        |((kind, hidden, overhearing, (scheme, heard)), seed)| {
            let trace = Composer::among(CLIENTS, Arc::clone(&fresh), Mix::High, kind, bytes, seed);
            let slot_bits = slot_bits(scheme, bytes);
            // without RE any codec does, since it has nothing to do
            let scheme = if heard == Heard::NoRe { Scheme::PAPER } else { scheme };
            let run = TwoAccessPoints { overhearing, heard, scheme, hidden, slot_bits, seed };
            run.of(trace)
                .with_context(|| format!("{kind} {} {}, seed {seed}", overhearing.percent, heard.name()))
        },
    )?;
    let of_cells: Vec<&[Tally]> = tallies.chunks(seeds as usize).collect();
    let goodput = |tally: &Tally| tally.stations[1].goodput();
    let row = |(at, cell): (usize, &(Kind, bool, Overhearing, Curve))| {
        let (kind, hidden, overhearing, curve) = *cell;
        let no_re = CURVES.iter().position(|curve| *curve == NO_RE).unwrap_or(0);
        let baseline = of_cells[at - at % CURVES.len() + no_re];
        let pairs: Vec<(f64, f64)> = of_cells[at]
            .iter()
            .zip(baseline)
            .map(|(ours, theirs)| (goodput(ours), goodput(theirs)))
            .collect();
        Row::new(FIGURE.id, series(kind, hidden, curve), overhearing.place(), "ratio")
            .measured(Estimate::paired_ratio(&pairs), Driver::Sim, seeds as u32)
            .note(format!(
                "{} MiB of payload a trace, caches of 2^{} slots",
                bytes >> 20,
                slot_bits(curve.0, bytes)
            ))
    };
    Ok(cells.iter().enumerate().map(row).collect())
}

/// By how much a curve is above the same codec's that hears its own access point only, at each place.
fn gains(rows: &[Row], kind: Kind, hidden: bool, curve: Curve) -> Vec<(f64, f64)> {
    let at = |place, curve| value(rows, FIGURE.id, &series(kind, hidden, curve), place);
    let own = (curve.0, Heard::OwnAccessPoint);
    let gain = |place: f64| Some((place, at(place, curve)? / at(place, own)? - 1.0));
    PERCENT.into_iter().filter_map(gain).collect()
}

/// C2's goodput above hearing only its own at 90%: as printed and ours by at least what the paper has, by
/// name by our goal. It shrinks with overhearing and is never negative.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let found = |gains: &[(f64, f64)]| -> Vec<String> {
        gains.iter().map(|(place, gain)| format!("{:+.1}% at {place}%", 100.0 * gain)).collect()
    };
    let mut claims = Vec::new();
    let paper = papers::REFACTOR.value("section-5.5.1/benefit").number().share();
    for (scheme, both, least) in [
        (Scheme::PAPER, Heard::Both, paper.get()),
        (Scheme::Receipts, Heard::Both, paper.get()),
        (Scheme::Receipts, Heard::BothByName, BY_NAME),
    ] {
        let gains = gains(rows, Kind::Whole, false, (scheme, both));
        let shrinks = gains.windows(2).all(|two| two[1].1 < two[0].1);
        let holds = gains.len() == PERCENT.len() && gains[0].1 >= least && shrinks && gains[4].1 >= 0.0;
        let codec = if scheme == Scheme::PAPER { "as printed" } else { "ours" };
        let claim = format!(
            "figure 8, whole, {codec}, {}: C2's goodput at least {:.0}% above hearing its own only at 90%, less with less, \
             never negative",
            both.name(),
            100.0 * least
        );
        claims.push(Claim::judged(claim, found(&gains), holds));
    }
    let mut worst: Vec<(f64, f64)> = Vec::new();
    for kind in Kind::ALL {
        for hidden in [false, true] {
            for both in [Heard::Both, Heard::BothByName] {
                worst.extend(gains(rows, kind, hidden, (Scheme::Receipts, both)));
            }
        }
    }
    let least = worst.into_iter().min_by(|one, other| one.1.total_cmp(&other.1));
    claims.push(Claim::judged(
        "figure 8, ours: of either kind, hidden terminals or not, hearing both is never worse than hearing one's own only",
        found(&least.into_iter().collect::<Vec<_>>()),
        least.is_some_and(|(_, gain)| gain >= 0.0),
    ));
    claims
}
