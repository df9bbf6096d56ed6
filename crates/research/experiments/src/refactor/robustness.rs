//! Section 5.3.1, item 4: estimates of who overhears that are true, the paper's, learnt, or wrong.

use anyhow::Result;

use super::air_time::Clock;
use super::overhearing::Overhearing;
use super::scheme::{Estimates, Scheme};
use super::trial::{Traffic, Trial};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::row::{Driver, Row};
use crate::trace::{Kind, Mix};

/// Section 5.3.1, item 4.
pub const FIGURE: Figure = Figure {
    id: "robustness",
    title: "Estimates of overhearing, right and wrong; high overlap",
    x: "overhearing, %",
    remark: "Air time of both clients relative to no RE, with the paper's 290 µs. The paper's system as printed expects C2 to \
             overhear by Table 1, as 512 earlier packets taught, as often as it does, or up to 20 points more or less. The \
             threshold is 0 s. The paper concludes from greedy RE at 70% that an estimate of 90% still gains there; this \
             figure measures it. Ours, with receipts, stands beside.",
    needs: |_| Vec::new(),
    rows,
};

/// Points by which estimates are wrong.
pub const POINTS: [f64; 5] = [0.0, 10.0, 20.0, -10.0, -20.0];

/// What a series is called.
#[must_use]
pub fn series(kind: Kind, scheme: Scheme) -> String {
    format!("air time, {kind}: {scheme}")
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let (traffic, plan) = (Traffic::of(&results.setting)?, &results.setting.plan);
    let mut schemes: Vec<Scheme> = [Estimates::TableOne, Estimates::Learnt].map(Scheme::AsPrinted).into();
    schemes.extend(POINTS.map(|points| Scheme::AsPrinted(Estimates::TrueAnd(points))));
    schemes.extend([Scheme::Nothing, Scheme::Receipts]);
    let mut trials = Vec::new();
    for kind in Kind::ALL {
        for overhearing in Overhearing::PAPER.into_iter().take(plan.choose(5, 3, 3)) {
            for scheme in &schemes {
                trials.push(Trial {
                    mix: Mix::High,
                    kind,
                    overhearing,
                    scheme: *scheme,
                    clock: Clock::Paper,
                });
            }
        }
    }
    let tallies = traffic.run_all(trials.iter().copied())?;
    let row = |trial: &Trial| {
        let pairs = tallies.pairs(trial, &trial.under(Scheme::Nothing), super::tally::Tally::air_seconds);
        Row::new(FIGURE.id, series(trial.kind, trial.scheme), trial.overhearing.place(), "ratio")
            .measured(Estimate::paired_ratio(&pairs), Driver::Sim, traffic.seeds())
            .note(traffic.note_of(trial.scheme))
    };
    Ok(trials.iter().map(row).collect())
}
