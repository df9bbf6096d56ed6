//! Table 4: packets that C2 loses, which are fewer because they are shorter.

use anyhow::Result;

use super::air_time::Clock;
use super::overhearing::Overhearing;
use super::scheme::{Estimates, Scheme};
use super::trial::{Traffic, Trial};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::papers;
use crate::row::{Driver, Row};
use crate::trace::{Kind, Mix};

/// Table 4.
pub const FIGURE: Figure = Figure {
    id: "table-4",
    title: "Loss with REfactor, high overlap",
    x: "overhearing, %",
    remark: "The share of transmissions to C2 that it loses, and by how much it is lower than without RE. The bit error \
             rate is such that {refactor/section-5.3/full-loss} of packets of {refactor/section-5.3/full-packet} are lost (the \
             paper's printed rate gives 9.4%). Traces hold shorter packets too, so that no RE loses less than that. Packing is \
             off. By Table 1 the model expects too little at 36 Mbit/s and below to remove what was overheard, so that the \
             paper's values there cannot be of Table 1. With true estimates they can be nearer. No knowledge of what C2 \
             overheard surpasses the ceiling.",
    needs: |_| Vec::new(),
    rows,
};

/// Overhearing in percent, and the ids of what the paper prints there: percent lost, and percent fewer than
/// without RE.
pub(super) const PAPER: [(u32, &str, &str); 5] = [
    (90, "table-4/loss/overhearing-90", "table-4/better/overhearing-90"),
    (70, "table-4/loss/overhearing-70", "table-4/better/overhearing-70"),
    (50, "table-4/loss/overhearing-50", "table-4/better/overhearing-50"),
    (30, "table-4/loss/overhearing-30", "table-4/better/overhearing-30"),
    (10, "table-4/loss/overhearing-10", "table-4/better/overhearing-10"),
];
/// Those of its rates without RE and with perfect RE.
const PAPER_BOUNDS: [(Scheme, &str); 2] =
    [(Scheme::Nothing, "table-4/no-re"), (Scheme::Perfect, "table-4/perfect-re")];

const SCHEMES: [Scheme; 8] = [
    Scheme::PAPER,
    Scheme::Perfect,
    Scheme::Nothing,
    Scheme::AsPrinted(Estimates::TrueAnd(0.0)),
    Scheme::Receipts,
    Scheme::WholeChunks,
    Scheme::PerfectKnowledge,
    Scheme::MaxMatch,
];

/// What the series of how many fewer are lost is called.
#[must_use]
pub fn fewer(kind: Kind, scheme: Scheme) -> String {
    format!("fewer lost, {kind}: {scheme}")
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let traffic = Traffic::of(&results.setting)?;
    let trials: Vec<Trial> = Kind::ALL
        .into_iter()
        .flat_map(|kind| Overhearing::PAPER.map(|overhearing| (kind, overhearing)))
        .flat_map(|(kind, overhearing)| {
            let trial =
                move |scheme| Trial { mix: Mix::High, kind, overhearing, scheme, clock: Clock::Paper };
            SCHEMES.map(trial)
        })
        .collect();
    let tallies = traffic.run_all(trials.iter().copied())?;
    let mut rows = Vec::new();
    for trial in &trials {
        let stated = |id| papers::REFACTOR.value(id).number();
        let printed = PAPER.iter().find(|(percent, ..)| *percent == trial.overhearing.percent);
        let printed = printed.filter(|_| trial.scheme == Scheme::PAPER);
        let bound =
            PAPER_BOUNDS.iter().find(|(scheme, _)| *scheme == trial.scheme).map(|(_, loss)| stated(loss));
        let losses: Vec<f64> =
            tallies.of(trial).iter().map(|tally| 100.0 * tally.stations[1].loss_rate()).collect();
        let row = |series: String| Row::new(FIGURE.id, series, trial.overhearing.place(), "%");
        rows.push(
            row(format!("lost, {}: {}", trial.kind, trial.scheme))
                .measured(Estimate::mean(&losses), Driver::Sim, traffic.seeds())
                .paper(printed.map(|(_, loss, _)| stated(loss)).or(bound))
                .note(traffic.note_of(trial.scheme)),
        );
        if trial.scheme == Scheme::Nothing {
            continue;
        }
        let pairs =
            tallies.pairs(trial, &trial.under(Scheme::Nothing), |tally| tally.stations[1].loss_rate());
        let fewer_lost = Estimate::paired_ratio(&pairs).map(|ratio| Estimate {
            value: 100.0 * (1.0 - ratio.value),
            interval: ratio.interval.map(|(low, high)| (100.0 * (1.0 - high), 100.0 * (1.0 - low))),
        });
        rows.push(
            row(fewer(trial.kind, trial.scheme))
                .measured(fewer_lost, Driver::Sim, traffic.seeds())
                .paper(printed.map(|(.., fewer)| stated(fewer))),
        );
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_is_overheard_the_more_is_lost_in_the_paper() {
        let stated = |id| papers::REFACTOR.value(id).number().get();
        assert!(PAPER.is_sorted_by(|one, other| stated(one.1) < stated(other.1) && stated(one.2) > stated(other.2)));
        let [nothing, perfect] = PAPER_BOUNDS.map(|(_, id)| stated(id));
        assert!(PAPER.iter().all(|(_, lost, _)| (perfect..nothing).contains(&stated(lost))));
    }
}
