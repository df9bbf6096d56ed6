//! What each addition to the paper's system brings by itself, and what ours loses without it.

use anyhow::Result;

use super::air_time::Clock;
use super::overhearing::Overhearing;
use super::scheme::{Additions, Scheme};
use super::tally::Tally;
use super::trial::{Traffic, Trial};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::row::{Driver, Row};
use crate::trace::{Kind, Mix};

/// Additions, one by one.
pub const FIGURE: Figure = Figure {
    id: "additions",
    title: "Additions to the paper's system, one by one; high overlap",
    x: "overhearing, %",
    remark: "Air time of both clients relative to no RE, with the paper's 290 µs, for whole objects. First the paper's system \
             as printed, then with each addition alone, then ours, then ours without each. Replacement comes with the MAC that \
             it needs. A roomy cache has at least four slots for each chunk of the trace; without it the cache is the paper's, \
             scaled.",
    needs: |_| Vec::new(),
    rows,
};

/// As printed, with each addition, ours, and without each.
fn schemes() -> Vec<Scheme> {
    let switched = |from: Additions| {
        let each = (0..Additions::COUNT).map(move |number| from.switched(number));
        std::iter::once(from).chain(each)
    };
    switched(Additions::NONE).chain(switched(Additions::ALL)).map(Scheme::With).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let (traffic, plan) = (Traffic::of(&results.setting)?, &results.setting.plan);
    let settings: &[Overhearing] = plan.choose(&Overhearing::PAPER, &Overhearing::ENDS, &Overhearing::ENDS);
    let trial = |overhearing: Overhearing, scheme| Trial {
        mix: Mix::High,
        kind: Kind::Whole,
        overhearing,
        scheme,
        clock: Clock::Paper,
    };
    let schemes = schemes();
    let of_scheme = |scheme: &Scheme| settings.iter().map(|setting| trial(*setting, *scheme)).collect();
    let trials: Vec<Trial> = schemes.iter().flat_map(|scheme| -> Vec<Trial> { of_scheme(scheme) }).collect();
    let all = trials.iter().copied().chain(settings.iter().map(|setting| trial(*setting, Scheme::Nothing)));
    let tallies = traffic.run_all(all)?;
    let row = |trial: &Trial| {
        let pairs = tallies.pairs(trial, &trial.under(Scheme::Nothing), Tally::air_seconds);
        Row::new(FIGURE.id, format!("air time: {}", trial.scheme), trial.overhearing.place(), "ratio")
            .measured(Estimate::paired_ratio(&pairs), Driver::Sim, traffic.seeds())
            .note(traffic.note_of(trial.scheme))
    };
    Ok(trials.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_stands_there_once() {
        let mut names: Vec<String> = schemes().iter().map(Scheme::to_string).collect();
        assert_eq!(names.len(), 2 * (Additions::COUNT + 1));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * (Additions::COUNT + 1));
    }
}
