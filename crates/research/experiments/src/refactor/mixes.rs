//! Figures 5, 6 and 7: air time of both clients and goodput of C2, for traffic of high, low and medium
//! overlap.

use anyhow::Result;

use super::air_time::Clock;
use super::overhearing::Overhearing;
use super::scheme::Scheme;
use super::tally::Tally;
use super::trial::{Traffic, Trial};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::papers::{self, Stated};
use crate::plan::Plan;
use crate::row::{Driver, Row};
use crate::trace::{Kind, Mix};

const X: &str = "overhearing, %";
const REMARK: &str = "Air time of both clients relative to no RE. Goodput of C2 relative to perfect RE, as in the paper, and \
    to no RE. Each with the paper's 290 µs a packet and with 802.11g's own times. Repeated are whole objects of 4 to 60 KB, \
    or pieces of 80 to 780 bytes. The first series is the paper's REfactor as printed: MAXP, whole chunks, marked slots, \
    three-phase flushes, Table 1's estimates, no MAC, and the paper's 512 MB scaled to the trace. Its comparators are \
    printed ones, too. The text leaves two choices. The traffic behind these figures decides how \
    full the cache is: the same with a roomy cache follows. The estimates may be true ones: these follow, too. The paper prints its bars \
    without numbers, so that only values of its text stand beside. \
    \
    Ours follow. Receipts pay for their bytes, and may be lost. Ours have caches with room for the whole trace; the figure \
    of additions shows what each of them brings by itself. The ceiling is the longest match of at least 32 bytes against \
    all that the station heard, at 20 bits each, with knowledge at no cost. Only packing can be below it.";

/// Figure 5.
pub const FIGURE_5: Figure = Figure {
    id: "5",
    title: "High overlap: 49% across clients, 1% within one",
    x: X,
    remark: REMARK,
    needs: |_| Vec::new(),
    rows: |results| rows(results, Mix::High),
};

/// Figure 6.
pub const FIGURE_6: Figure = Figure {
    id: "6",
    title: "Low overlap: 4% across clients, 46% within one",
    x: X,
    remark: REMARK,
    needs: |_| Vec::new(),
    rows: |results| rows(results, Mix::Low),
};

/// Figure 7.
pub const FIGURE_7: Figure = Figure {
    id: "7",
    title: "Medium overlap: 23% across clients, 24% within one",
    x: X,
    remark: REMARK,
    needs: |_| Vec::new(),
    rows: |results| rows(results, Mix::Medium),
};

/// The setting beyond the paper's.
pub const AGGREGATED: Figure = Figure {
    id: "a-mpdu",
    title: "Aggregates of 32 packets at 150 Mbit/s",
    x: "mix",
    remark: "The fixed cost of a frame is shared by 32 packets, so that bytes are most of the air time: removing them \
             gains more than in the figures before, and packing less. Both stations are near the access point; C2 \
             overhears 90% of full packets.",
    needs: |_| Vec::new(),
    rows: aggregated,
};

/// The metric of a trial.
#[derive(Clone, Copy, PartialEq)]
pub enum Metric {
    /// Of both clients, relative to no RE.
    AirTime,
    /// C2's, relative to perfect RE.
    Goodput,
    /// C2's, relative to no RE.
    GoodputGain,
}

impl Metric {
    const ALL: [Self; 3] = [Self::AirTime, Self::Goodput, Self::GoodputGain];

    fn name(self) -> &'static str {
        match self {
            Self::AirTime => "air time",
            Self::Goodput => "goodput of C2",
            Self::GoodputGain => "goodput of C2 by no RE's",
        }
    }

    fn of(self, tally: &Tally) -> f64 {
        match self {
            Self::AirTime => tally.air_seconds(),
            Self::Goodput | Self::GoodputGain => tally.stations[1].goodput(),
        }
    }

    fn baseline(self) -> Scheme {
        match self {
            Self::AirTime | Self::GoodputGain => Scheme::Nothing,
            Self::Goodput => Scheme::Perfect,
        }
    }
}

/// What a series is called.
#[must_use]
pub fn series(metric: Metric, kind: Kind, clock: Clock, scheme: Scheme) -> String {
    format!("{}, {kind}, {clock}: {scheme}", metric.name())
}

/// A goal of ours for the air time of the high mix by the paper's clock.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// The way to remove redundancy.
    pub scheme: Scheme,
    /// In what repeats.
    pub kind: Kind,
    /// Places, and at most how much there.
    pub bounds: &'static [(f64, f64)],
}

impl Goal {
    const fn new(scheme: Scheme, kind: Kind, bounds: &'static [(f64, f64)]) -> Self {
        Goal { scheme, kind, bounds }
    }

    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::new(Scheme::PAPER, Kind::Whole, &[(90.0, 0.85), (10.0, 0.97)]),
        Self::new(Scheme::PAPER, Kind::Fine, &[(90.0, 0.93), (10.0, 0.98)]),
        Self::new(Scheme::Receipts, Kind::Whole, &[(90.0, 0.82), (10.0, 0.93)]),
        Self::new(Scheme::Receipts, Kind::Fine, &[(90.0, 0.87), (10.0, 0.93)]),
        Self::new(Scheme::Packed, Kind::Whole, &[(90.0, 0.62), (10.0, 0.93)]),
        Self::new(Scheme::Packed, Kind::Fine, &[(90.0, 0.82), (10.0, 0.94)]),
        Self::new(Scheme::Receipts, Kind::Whole, &[(70.0, 0.83)]),
    ];
}

fn goal(metric: Metric, trial: &Trial) -> Option<f64> {
    if (metric, trial.mix, trial.clock) != (Metric::AirTime, Mix::High, Clock::Paper) {
        return None;
    }
    let place = f64::from(trial.overhearing.percent);
    let of_trial = Goal::ALL.iter().filter(|goal| (goal.scheme, goal.kind) == (trial.scheme, trial.kind));
    of_trial.flat_map(|goal| goal.bounds).find(|bound| bound.0 == place).map(|bound| bound.1)
}

/// Values of the paper's figures in its text.
fn paper(metric: Metric, trial: &Trial) -> Option<Stated> {
    let scheme = match trial.scheme {
        Scheme::PAPER => "REfactor",
        Scheme::GreedyAsPrinted => "greedy",
        Scheme::PerfectOverhearing => "collisions",
        _ => return None,
    };
    let less = |id| Some(papers::REFACTOR.value(id).number().left());
    let more = |id| Some(papers::REFACTOR.value(id).number().grown());
    match (metric, trial.mix, scheme, trial.overhearing.percent) {
        (Metric::AirTime, Mix::High, "REfactor", 90) => less("section-5.3.1/airtime/overhearing-90"),
        (Metric::AirTime, Mix::High, "REfactor", 30) => {
            less("section-5.3.2/airtime-high-inter/overhearing-30")
        }
        (Metric::AirTime, Mix::High, "REfactor", 10) => less("section-5.3.1/airtime/overhearing-10"),
        (Metric::AirTime, Mix::Low, "REfactor", 30) => less("section-5.3.2/airtime/overhearing-30"),
        (Metric::GoodputGain, Mix::High, "REfactor", 90) => more("section-5.3.1/goodput/overhearing-90"),
        (Metric::GoodputGain, Mix::High, "REfactor", 50) => more("section-5.3.1/goodput/overhearing-50"),
        (Metric::GoodputGain, Mix::High, "REfactor", 10) => more("section-5.3.1/goodput/overhearing-10"),
        (Metric::GoodputGain, Mix::High, "greedy", 70) => more("section-5.3.1/greedy/overhearing-70"),
        (Metric::GoodputGain, Mix::High, "greedy", 50) => less("section-5.3.1/greedy/overhearing-50"),
        (Metric::GoodputGain, Mix::High, "collisions", 10) => {
            more("section-5.3.1/goodput-10-perfect-overhearing")
        }
        _ => None,
    }
}

fn trials(mix: Mix, settings: &[Overhearing], clocks: &[Clock]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for kind in Kind::ALL {
        for clock in clocks.iter().copied() {
            for overhearing in settings.iter().copied() {
                trials.extend(Scheme::OF_FIGURES.map(|scheme| Trial {
                    mix,
                    kind,
                    overhearing,
                    scheme,
                    clock,
                }));
            }
        }
    }
    trials
}

/// Both clocks; a quick run covers only the mix with the most values.
fn clocks(plan: &Plan, mix: Mix) -> &'static [Clock] {
    let both: &[Clock] = &Clock::ALL;
    if mix == Mix::High { both } else { plan.choose(both, &[Clock::Paper], &[Clock::Paper]) }
}

/// All, but for a quick look.
fn settings(plan: &Plan, mix: Mix) -> &'static [Overhearing] {
    let all: &[Overhearing] = &Overhearing::PAPER;
    if mix == Mix::High { all } else { plan.choose(all, &Overhearing::ENDS, &Overhearing::ENDS) }
}

fn rows(results: &Results<'_>, mix: Mix) -> Result<Vec<Row>> {
    let id = match mix {
        Mix::High => FIGURE_5.id,
        Mix::Low => FIGURE_6.id,
        Mix::Medium => FIGURE_7.id,
    };
    let (traffic, plan) = (Traffic::of(&results.setting)?, &results.setting.plan);
    let trials = trials(mix, settings(plan, mix), clocks(plan, mix));
    let tallies = traffic.run_all(trials.iter().copied())?;
    let mut rows = Vec::new();
    for metric in Metric::ALL {
        for trial in &trials {
            let pairs = tallies.pairs(trial, &trial.under(metric.baseline()), |tally| metric.of(tally));
            let name = series(metric, trial.kind, trial.clock, trial.scheme);
            rows.push(
                Row::new(id, name, trial.overhearing.place(), "ratio")
                    .measured(Estimate::paired_ratio(&pairs), Driver::Sim, traffic.seeds())
                    .paper(paper(metric, trial))
                    .goal(goal(metric, trial))
                    .note(traffic.note_of(trial.scheme)),
            );
        }
    }
    Ok(rows)
}

fn aggregated(results: &Results<'_>) -> Result<Vec<Row>> {
    let traffic = Traffic::of(&results.setting)?;
    let mut rows = Vec::new();
    for mix in Mix::ALL {
        let trials = trials(mix, &[Overhearing::AGGREGATED], &[Clock::Standard]);
        let tallies = traffic.run_all(trials.iter().copied())?;
        for trial in &trials {
            let metric = Metric::AirTime;
            let pairs = tallies.pairs(trial, &trial.under(metric.baseline()), |tally| metric.of(tally));
            rows.push(
                Row::new(
                    AGGREGATED.id,
                    series(metric, trial.kind, trial.clock, trial.scheme),
                    mix.name(),
                    "ratio",
                )
                .measured(Estimate::paired_ratio(&pairs), Driver::Sim, traffic.seeds())
                .note(traffic.note_of(trial.scheme)),
            );
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_ten_values_and_there_are_thirteen_goals() {
        let trials = |mix| trials(mix, &Overhearing::PAPER, &[Clock::Paper]);
        let trials: Vec<Trial> = Mix::ALL.into_iter().flat_map(trials).collect();
        let all =
            || Metric::ALL.into_iter().flat_map(|metric| trials.iter().map(move |trial| (metric, trial)));
        // whole and fine alike
        assert_eq!(all().filter_map(|(metric, trial)| paper(metric, trial)).count(), 2 * 10);
        assert_eq!(all().filter_map(|(metric, trial)| goal(metric, trial)).count(), 13);
    }
}
