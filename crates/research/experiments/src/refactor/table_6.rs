//! Table 6: air time saved if a relay removes content that receivers have and codes the rest, compared with
//! coding alone.

use std::sync::Arc;

use air::Bitrate;
use anyhow::{Context as _, Result};
use indicatif::ProgressBar;

use super::as_printed::Cache;
use super::relayed::{AirSeconds, Known, Reduces, Relayed};
use super::scheme::Scheme;
use super::trial::Traffic;
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::papers::{self, Stated};
use crate::parallel;
use crate::report::Claim;
use crate::row::{Driver, Row, value};
use crate::trace::{Composer, Kind, Mix};

/// Table 6.
pub const FIGURE: Figure = Figure {
    id: "table-6",
    title: "REfactor and COPE against COPE alone, high overlap",
    x: "overhearing, %",
    remark: "C1 sends to C4 and C2 to C3 through a relay; C3 overhears C1, and C4 C2. Air time saved by the relay's removing \
             what receivers have before it codes, of all and of the relay's part, with 290 µs a frame. The first series is the \
             paper's codec as printed: the relay knows perfectly what receivers have, and nothing is lost on the way to and \
             from it. The paper does not say its rate; 11 and 54 Mbit/s are shown. Nor does it say whether a receiver hears \
             the relay's frames to the other; both are shown. Ours follow. By reports the relay does not know perfectly, and \
             reports, acknowledgments and retransmissions are paid for on links that lose {refactor/section-5.3/full-loss} of \
             full packets. About 256 natives wait at the relay.",
    needs: |_| Vec::new(),
    rows,
};

/// Overhearing in percent, and the ids of the paper's savings in percent: overall, and the relay's part.
const PAPER: [(f64, &str, &str); 5] = [
    (90.0, "table-6/overall/overhearing-90", "table-6/relay/overhearing-90"),
    (70.0, "table-6/overall/overhearing-70", "table-6/relay/overhearing-70"),
    (50.0, "table-6/overall/overhearing-50", "table-6/relay/overhearing-50"),
    (30.0, "table-6/overall/overhearing-30", "table-6/relay/overhearing-30"),
    (10.0, "table-6/overall/overhearing-10", "table-6/relay/overhearing-10"),
];
const RATES: [u64; 2] = [11, 54];

/// The shown variant.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// The paper's codec and knowledge; receivers hear the relay.
    Printed,
    /// The same, and receivers do not hear what the relay sends to others.
    PrintedDeaf,
    /// Ours with the paper's knowledge, and receivers hear the relay.
    Perfect,
    /// The same, and receivers do not hear what the relay sends to others.
    PerfectDeaf,
    /// With everything that COPE needs.
    Reports,
}

impl Variant {
    const ALL: [Self; 5] =
        [Self::Printed, Self::PrintedDeaf, Self::Perfect, Self::PerfectDeaf, Self::Reports];

    fn reduces(self) -> Reduces {
        match self {
            Self::Printed | Self::PrintedDeaf => Reduces::AsPrinted,
            Self::Perfect | Self::PerfectDeaf | Self::Reports => Reduces::Ours,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Printed => "as printed",
            Self::PrintedDeaf => "as printed, others' frames of the relay unheard",
            Self::Perfect => "perfect knowledge",
            Self::PerfectDeaf => "perfect knowledge, others' frames of the relay unheard",
            Self::Reports => "by reports",
        }
    }
}

/// Which part of the air.
#[derive(Clone, Copy)]
enum Part {
    Overall,
    Relay,
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Self::Overall => "overall",
            Self::Relay => "relay",
        }
    }

    fn of(self, air: &AirSeconds) -> f64 {
        match self {
            Self::Overall => air.all(),
            Self::Relay => air.from_relay,
        }
    }
}

fn series(part: Part, kind: Kind, megabits: u64, variant: Variant) -> String {
    format!("saved {}, {kind}, {megabits} Mbit/s: {}", part.name(), variant.name())
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let traffic = Traffic::of(&results.setting)?;
    let mut cells = Vec::new();
    for kind in Kind::ALL {
        for megabits in RATES {
            for variant in Variant::ALL {
                // Coding alone is independent of repetition.
                cells.extend(PAPER.map(|printed| (kind, megabits, variant, printed)));
            }
        }
    }
    let seeds = u64::from(traffic.seeds());
    let runs = cells.iter().flat_map(|cell| {
        (1..=seeds).flat_map(move |seed| [false, true].map(|reduces| (*cell, seed, reduces)))
    });
    let runs: Vec<_> = runs.collect();
    let airs = parallel::map(
        runs,
        &ProgressBar::hidden(),
        |((kind, megabits, variant, printed), seed, reduces)| {
            let trace = Composer::new(Arc::clone(traffic.fresh()), Mix::High, kind, traffic.bytes(), seed);
            let run = Relayed {
                overheard: printed.0 / 100.0,
                reduces: reduces.then(|| variant.reduces()),
                hears_relay: ![Variant::PrintedDeaf, Variant::PerfectDeaf].contains(&variant),
                known: if variant == Variant::Reports { Known::ByReports } else { Known::Perfectly },
                rate: Bitrate::from_megabits_per_second(megabits),
                slot_bits: match variant.reduces() {
                    Reduces::AsPrinted => Cache::for_trace(traffic.bytes()).slot_bits(),
                    Reduces::Ours => traffic.slot_bits(),
                },
                seed,
            };
            run.of(trace)
                .with_context(|| format!("{kind} {megabits} {} {}%, seed {seed}", variant.name(), printed.0))
        },
    )?;
    let mut rows = Vec::new();
    for part in [Part::Overall, Part::Relay] {
        for ((kind, megabits, variant, printed), airs) in cells.iter().zip(airs.chunks(2 * seeds as usize)) {
            let pairs: Vec<(f64, f64)> =
                airs.as_chunks::<2>().0.iter().map(|[coded, both]| (part.of(both), part.of(coded))).collect();
            let saved = Estimate::paired_ratio(&pairs).map(|ratio| Estimate {
                value: 100.0 * (1.0 - ratio.value),
                interval: ratio.interval.map(|(low, high)| (100.0 * (1.0 - high), 100.0 * (1.0 - low))),
            });
            let place = printed.0;
            let is_claimed = *kind == Kind::Whole && *megabits == RATES[0] && *variant == Variant::Perfect;
            let coded: Vec<f64> = airs.iter().map(|air| air.coded_share).collect();
            let coded = 100.0 * coded.iter().sum::<f64>() / coded.len().max(1) as f64;
            rows.push(
                Row::new(FIGURE.id, series(part, *kind, *megabits, *variant), place, "%")
                    .measured(saved, Driver::Sim, traffic.seeds())
                    .paper(paper(part, place))
                    .goal(goal(part, place).filter(|_| is_claimed))
                    .note(format!("{coded:.0}% of the relay's frames are coded"))
                    .note(match variant.reduces() {
                        Reduces::AsPrinted => traffic.note_of(Scheme::PAPER),
                        Reduces::Ours => traffic.note_of(Scheme::Receipts),
                    }),
            );
        }
    }
    Ok(rows)
}

/// What the paper saves.
fn paper(part: Part, place: f64) -> Option<Stated> {
    let (_, overall, relay) = PAPER.iter().find(|printed| printed.0 == place)?;
    let id = match part {
        Part::Overall => overall,
        Part::Relay => relay,
    };
    Some(papers::REFACTOR.value(id).number())
}

/// Our goals for whole objects at 11 Mbit/s. At 90% they are below the paper's values. At 10% the paper's own
/// value is the bound.
fn goal(part: Part, place: f64) -> Option<f64> {
    match (part, place) {
        (Part::Overall, 90.0) => Some(11.0),
        (Part::Relay, 90.0) => Some(33.0),
        _ => None,
    }
}

/// At 11 Mbit/s the paper's savings as printed; ours by our goals at 90% and the paper's at 10%.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let printed = |part, place| paper(part, place).map(Stated::get);
    let ours = |part, place| goal(part, place).or_else(|| printed(part, place));
    let mut claims = vec![
        savings(rows, Variant::Printed, &printed),
        savings(rows, Variant::PrintedDeaf, &printed),
        savings(rows, Variant::Perfect, &ours),
    ];
    let all: Vec<f64> = crate::row::of(rows, FIGURE.id).filter_map(|row| row.value).collect();
    let least = all.iter().copied().reduce(f64::min);
    claims.push(Claim::judged(
        "table 6: removing before coding never costs, whatever is overheard, known and paid for",
        least.iter().map(|least| format!("{least:.1}% saved at least, of {} cells", all.len())).collect(),
        least >= Some(0.0),
    ));
    claims
}

fn savings(rows: &[Row], variant: Variant, least: &dyn Fn(Part, f64) -> Option<f64>) -> Claim {
    let places = [(Part::Overall, 90.0), (Part::Relay, 90.0), (Part::Overall, 10.0), (Part::Relay, 10.0)];
    let bounds: Vec<(Part, f64, f64)> =
        places.into_iter().filter_map(|(part, place)| Some((part, place, least(part, place)?))).collect();
    let at =
        |part: Part, place: f64| value(rows, FIGURE.id, &series(part, Kind::Whole, RATES[0], variant), place);
    let found = bounds.iter().filter_map(|(part, place, least)| {
        Some(format!("{:.1}% {} at {place}% ({least})", at(*part, *place)?, part.name()))
    });
    let holds =
        bounds.iter().all(|(part, place, least)| at(*part, *place).is_some_and(|saved| saved >= *least));
    let said: Vec<String> =
        bounds.iter().map(|(part, place, least)| format!("{least}% {} at {place}%", part.name())).collect();
    let claim = format!("table 6, whole, 11 Mbit/s, {}: at least {}", variant.name(), said.join(", "));
    Claim::judged(claim, found.collect(), holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_below_what_the_paper_saves() {
        for part in [Part::Overall, Part::Relay] {
            let papers = PAPER.map(|(place, ..)| paper(part, place).map(Stated::get));
            assert!(papers.iter().all(Option::is_some) && papers.is_sorted_by(|one, other| one > other));
            assert!(goal(part, 90.0) < papers[0] && goal(part, 10.0).is_none());
        }
        let claims = claims(&[]);
        let at_ten = "3% overall at 10%, 7% relay at 10%";
        for (claim, at_ninety) in
            claims.iter().zip(["14% overall at 90%, 38% relay", "14%", "11% overall at 90%, 33% relay"])
        {
            assert!(claim.claim.contains(at_ninety) && claim.claim.ends_with(at_ten), "{}", claim.claim);
        }
    }
}
