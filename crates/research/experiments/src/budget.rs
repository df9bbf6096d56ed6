//! The experiments of the papers that fit into some core-hours.
//!
//! The cost of a piece is what it took when it was measured ([`Costs`]). Without that, the cost of each of
//! its runs is the mean of the kept rows of its figure ([`crate::kept_rows`]).

mod costs;
mod speed;

pub use costs::{Cost, Costs, Measured};
pub use speed::Speed;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::contents::Contents;
use crate::experiment::Experiment;
use crate::figure::{Figure, Setting};
use crate::kept_rows::KeptRun;
use crate::plan::{Extent, Plan, Traced};
use crate::row::Driver;
use crate::testbed::Testbed;
use crate::wanted::Wanted;
use crate::{byte_caching, mesh_cache, reboost, refactor, xbc};

/// The papers, each with the drivers that reproduce it.
pub const PAPERS: [(&Experiment, Driver); 6] = [
    (&byte_caching::EXPERIMENT, Driver::Virtual),
    (&refactor::EXPERIMENT, Driver::Sim),
    (&refactor::WITH_TCP, Driver::Virtual),
    (&xbc::EXPERIMENT, Driver::Virtual),
    (&mesh_cache::EXPERIMENT, Driver::Virtual),
    (&reboost::EXPERIMENT, Driver::Lab),
];

/// Allowance for a piece without a measured cost, in core-seconds: it is reckoned in one process.
const ALLOWANCE_CORE_SECONDS: f64 = 60.0;

/// A run of a whole figure takes so many times as long as one of its quick form, where only that is known:
/// some whole figures have longer traces and larger networks. Of nine that were measured, six took about as
/// long, and three took 1.3 to 12 times.
const WHOLE_BY_QUICK: f64 = 4.0;

/// The heads of the kept rows.
const KEPT: [(&str, Driver, &str); 6] = [
    ("byte-caching", Driver::Virtual, include_str!("../../../../docs/rows/byte-caching-virtual.jsonl")),
    ("refactor", Driver::Sim, include_str!("../../../../docs/rows/refactor-sim.jsonl")),
    ("refactor-tcp", Driver::Virtual, include_str!("../../../../docs/rows/refactor-tcp-virtual.jsonl")),
    ("xbc", Driver::Virtual, include_str!("../../../../docs/rows/xbc-virtual.jsonl")),
    ("meshcache", Driver::Virtual, include_str!("../../../../docs/rows/meshcache-virtual.jsonl")),
    ("reboost", Driver::Lab, include_str!("../../../../docs/rows/reboost-lab.jsonl")),
];

/// A figure in some extent, and its cost beyond those of the pieces before it: figures share runs.
#[derive(Clone, Serialize)]
pub struct Piece {
    /// Its name: experiment, driver, figure and extent.
    pub name: String,
    /// The number of its runs that no piece before has; 0 for a figure that is reckoned in one process.
    pub runs: u32,
    /// Their cost.
    pub core_seconds: f64,
    /// Whether the cost was measured; it is an allowance otherwise.
    pub is_measured: bool,
    /// Its experiment.
    #[serde(skip)]
    pub experiment: &'static Experiment,
    /// What runs it.
    #[serde(skip)]
    pub driver: Driver,
    /// The figure.
    #[serde(skip)]
    pub figure: Figure,
    /// Its extent: quick or whole.
    #[serde(skip)]
    pub extent: Extent,
    /// All its runs by name, with their seeds.
    #[serde(skip)]
    wanted: Vec<(String, u32)>,
    /// Core-seconds of one run; of the whole piece if it has no runs of its own; `None` if nobody knows.
    #[serde(skip)]
    each: Option<f64>,
}

/// Known costs of a paper.
struct Known<'a> {
    measured: &'a Costs,
    /// By figures: core-seconds of one run, and whether they are of the whole figure.
    kept: BTreeMap<String, (f64, bool)>,
}

/// A figure in both extents.
struct Both {
    quick: Piece,
    whole: Piece,
}

/// Runs of an experiment by their names, and the seeds that chosen pieces have.
#[derive(Default)]
struct Taken(BTreeMap<(&'static str, String), u32>);

/// The pieces that fit: first something of each paper, then more of each, then whole figures in place of
/// quick ones, the cheapest first. `can_run` says what this machine can run.
///
/// # Errors
///
/// When the contents cannot be read.
pub fn choose(
    core_hours: f64,
    contents: &Contents,
    measured: &Costs,
    speed: &Speed,
    can_run: impl Fn(&Experiment, Driver) -> bool,
) -> Result<Vec<Piece>> {
    let testbed = Testbed::new(contents)?;
    let mut papers = Vec::new();
    for (experiment, driver) in PAPERS.into_iter().filter(|(experiment, driver)| can_run(experiment, *driver))
    {
        let known = Known { measured, kept: kept(experiment.id, driver)? };
        let piece = |figure: &Figure, extent| {
            let plan = Plan { extent, seeds: None, trace: Traced::default() };
            let setting = Setting { plan, testbed: &testbed, contents, driver };
            let names = Wanted::by(std::slice::from_ref(figure), &setting, &[])?.names();
            let wanted = names.into_iter().map(|named| (named.name, named.seeds)).collect();
            let piece = Piece::new((experiment, driver), figure, extent, wanted, &known);
            Ok::<_, anyhow::Error>(piece.at(speed))
        };
        let both = |figure: &Figure| {
            Ok(Both { quick: piece(figure, Extent::Quick)?, whole: piece(figure, Extent::Whole)? })
        };
        let mut figures = experiment.figures.iter().map(both).collect::<Result<Vec<_>>>()?;
        figures.sort_by(|one, other| one.quick.core_seconds.total_cmp(&other.quick.core_seconds));
        papers.push(figures);
    }
    Ok(within(core_hours, fill(papers, core_hours * 3600.0)))
}

/// The first of these pieces that fit, in this order. In another order, other pieces pay for shared runs.
#[must_use]
pub fn within(core_hours: f64, pieces: Vec<Piece>) -> Vec<Piece> {
    let mut pieces = in_order(pieces);
    while core_seconds(&pieces) > core_hours * 3600.0 {
        pieces.pop();
    }
    pieces
}

/// The sum of the pieces' costs.
#[must_use]
pub fn core_seconds(pieces: &[Piece]) -> f64 {
    pieces.iter().map(|piece| piece.core_seconds).sum()
}

/// The pieces with their costs beyond those before them, in this order.
#[must_use]
pub fn in_order(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut taken = Taken::default();
    let priced = |piece: &Piece| {
        let piece = taken.beyond(piece);
        taken.take(&piece);
        piece
    };
    pieces.iter().map(priced).collect()
}

/// Fills the budget.
fn fill(papers: Vec<Vec<Both>>, mut left_core_seconds: f64) -> Vec<Piece> {
    let mut taken = Taken::default();
    let mut figures = Vec::new();
    let most = papers.iter().map(Vec::len).max().unwrap_or_default();
    let mut papers: Vec<_> = papers.into_iter().map(Vec::into_iter).collect();
    for _ in 0..most {
        for both in papers.iter_mut().filter_map(Iterator::next) {
            let quick = taken.beyond(&both.quick);
            if quick.core_seconds <= left_core_seconds {
                left_core_seconds -= quick.core_seconds;
                taken.take(&quick);
                figures.push(Both { quick, ..both });
            }
        }
    }
    let more = |both: &Both| both.whole.core_seconds - both.quick.core_seconds;
    figures.sort_by(|one, other| more(one).total_cmp(&more(other)));
    let mut pieces = Vec::new();
    for Both { quick, whole } in figures {
        let whole = taken.beyond(&whole);
        if whole.is_measured && whole.core_seconds <= left_core_seconds {
            left_core_seconds -= whole.core_seconds;
            taken.take(&whole);
            pieces.push(whole);
        } else {
            pieces.push(quick);
        }
    }
    pieces
}

impl Taken {
    fn key(piece: &Piece, name: &str) -> (&'static str, String) {
        (piece.experiment.id, name.to_owned())
    }

    /// The piece with the cost of its runs that are not taken.
    fn beyond(&self, piece: &Piece) -> Piece {
        let had = |name: &str| self.0.get(&Self::key(piece, name)).copied().unwrap_or_default();
        let runs = piece.wanted.iter().map(|(name, seeds)| seeds.saturating_sub(had(name))).sum();
        Piece { runs, ..piece.clone() }.priced()
    }

    fn take(&mut self, piece: &Piece) {
        for (name, seeds) in &piece.wanted {
            let had = self.0.entry(Self::key(piece, name)).or_default();
            *had = (*had).max(*seeds);
        }
    }
}

impl Piece {
    fn new(
        (experiment, driver): (&'static Experiment, Driver),
        figure: &Figure,
        extent: Extent,
        wanted: Vec<(String, u32)>,
        known: &Known<'_>,
    ) -> Self {
        let named = |extent| {
            let extent = if extent == Extent::Quick { "quick" } else { "whole" };
            format!("{} {driver} {} {extent}", experiment.id, figure.id)
        };
        let each = if wanted.is_empty() {
            known.measured.pieces.get(&named(extent)).map(|it| it.cost.core_seconds)
        } else {
            known.each(figure, extent, named)
        };
        let piece = Self {
            name: named(extent),
            runs: wanted.iter().map(|(_, seeds)| seeds).sum(),
            core_seconds: 0.0,
            is_measured: each.is_some(),
            experiment,
            driver,
            figure: *figure,
            extent,
            wanted,
            each,
        };
        piece.priced()
    }

    /// The piece on a machine of this speed.
    #[must_use]
    pub fn at(self, speed: &Speed) -> Self {
        let each = self.each.map(|each| each * speed.times(self.driver));
        Self { each, ..self }.priced()
    }

    fn priced(self) -> Self {
        let times = if self.wanted.is_empty() { 1.0 } else { f64::from(self.runs) };
        let core_seconds = self.each.map_or(ALLOWANCE_CORE_SECONDS, |each| each * times);
        Self { core_seconds, ..self }
    }

    /// Whether this cost has all of its runs: an interrupted piece has only those after the interruption.
    #[must_use]
    pub fn is_all(&self, cost: &Cost) -> bool {
        cost.runs >= self.runs
    }
}

impl Known<'_> {
    /// Core-seconds of one run of a figure: the piece's own, then those of kept rows in this extent, then
    /// those that follow from the other extent, then the paper's mean.
    fn each(&self, figure: &Figure, extent: Extent, named: impl Fn(Extent) -> String) -> Option<f64> {
        let other = if extent == Extent::Quick { Extent::Whole } else { Extent::Quick };
        let measured = |extent| {
            let cost = self.measured.pieces.get(&named(extent))?.cost;
            (cost.runs > 0).then(|| cost.core_seconds / f64::from(cost.runs))
        };
        let kept = |extent| {
            let (each, is_whole) = self.kept.get(figure.id)?;
            (*is_whole == (extent == Extent::Whole)).then_some(*each)
        };
        let all = self.kept.values().map(|(each, _)| each);
        let mean = || (!self.kept.is_empty()).then(|| all.sum::<f64>() / self.kept.len() as f64);
        let by_other = if extent == Extent::Whole { WHOLE_BY_QUICK } else { 1.0 };
        let own = measured(extent).or_else(|| kept(extent));
        own.or_else(|| measured(other).or_else(|| kept(other)).map(|each| each * by_other)).or_else(mean)
    }
}

/// Core-seconds of one run of each figure by the kept rows, and whether they are of the whole figure.
fn kept(experiment: &str, driver: Driver) -> Result<BTreeMap<String, (f64, bool)>> {
    #[derive(serde::Deserialize)]
    struct Head {
        run: KeptRun,
    }
    let kept = KEPT.iter().find(|(id, by, _)| *id == experiment && *by == driver);
    let lines = kept.map_or("", |(_, _, lines)| *lines).lines();
    let heads = lines.filter(|line| line.starts_with("{\"run\":"));
    let mut costs = BTreeMap::new();
    for head in heads {
        let Head { run } = serde_json::from_str(head).context("a kept run of another form")?;
        costs.extend(run.core_seconds_each.map(|each| (run.figure, (each, !run.quick))));
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen_by(core_hours: f64, measured: &Costs) -> Vec<Piece> {
        let can_run = |_: &Experiment, driver| driver != Driver::Lab;
        choose(core_hours, &Contents::substitutes(), measured, &Speed::default(), can_run).unwrap()
    }

    fn chosen(core_hours: f64) -> Vec<Piece> {
        chosen_by(core_hours, &Costs::built_in().unwrap())
    }

    #[test]
    fn more_hours_give_more_and_never_more_than_they_are() {
        for measured in [Costs::default(), Costs::built_in().unwrap()] {
            let mut before = (0, 0);
            for core_hours in [0.1, 1.0, 8.0, 64.0] {
                let pieces = chosen_by(core_hours, &measured);
                let sum = core_seconds(&pieces);
                assert!(sum <= core_hours * 3600.0, "{sum} in {core_hours} h");
                let whole = pieces.iter().filter(|piece| piece.extent == Extent::Whole).count();
                assert!((pieces.len(), whole) >= before, "{core_hours} h");
                before = (pieces.len(), whole);
            }
            assert!(before.1 > 0);
        }
    }

    #[test]
    fn each_run_is_paid_once_and_by_the_first_piece_that_has_it() {
        let pieces = chosen(64.0);
        let mut seeds = Taken::default();
        for piece in &pieces {
            assert_eq!(seeds.beyond(piece).runs, piece.runs, "{}", piece.name);
            seeds.take(piece);
        }
        let paid: u32 = pieces.iter().map(|piece| piece.runs).sum();
        assert_eq!(paid, seeds.0.values().sum::<u32>());
        let last = pieces.iter().rev().find(|piece| !piece.wanted.is_empty()).unwrap();
        let alone = in_order(vec![last.clone()]);
        assert_eq!(alone[0].runs, last.wanted.iter().map(|(_, seeds)| seeds).sum::<u32>());
    }

    #[test]
    fn a_measured_cost_is_the_stated_one() {
        let mut measured = Costs::default();
        let cost = |runs, core_seconds| Cost { runs, core_seconds };
        let without_runs = ("refactor sim 3 quick".to_owned(), cost(0, 7.0));
        let with_runs = ("byte-caching virtual section-7 quick".to_owned(), cost(12, 24.0));
        measured.add("abc", [without_runs.clone(), with_runs.clone()]);
        let pieces = chosen_by(1.0, &measured);
        let stated = |name: &str| pieces.iter().find(|piece| piece.name == name).unwrap();
        assert!((stated(&without_runs.0).core_seconds - 7.0).abs() < 1e-9);
        let section_7 = in_order(vec![stated(&with_runs.0).clone()]).remove(0);
        assert!((section_7.core_seconds - 2.0 * f64::from(section_7.runs)).abs() < 1e-9);
        assert!(section_7.is_all(&cost(section_7.runs, 1.0)) && !section_7.is_all(&cost(1, 1.0)));
    }

    #[test]
    fn costs_are_of_pieces_that_there_are() {
        let all: Vec<String> = PAPERS
            .iter()
            .flat_map(|(experiment, driver)| {
                let figures = experiment.figures.iter();
                figures.flat_map(move |figure| {
                    ["quick", "whole"]
                        .map(|extent| format!("{} {driver} {} {extent}", experiment.id, figure.id))
                })
            })
            .collect();
        let measured = Costs::built_in().unwrap();
        let gone: Vec<_> = measured.pieces.keys().filter(|name| !all.contains(name)).collect();
        assert!(gone.is_empty(), "{gone:?}");
    }

    #[test]
    fn an_hour_has_something_of_every_paper() {
        let pieces = chosen(1.0);
        for (experiment, driver) in PAPERS.into_iter().filter(|(_, driver)| *driver != Driver::Lab) {
            let has =
                pieces.iter().any(|piece| piece.experiment.id == experiment.id && piece.driver == driver);
            assert!(has, "{} by {driver}", experiment.id);
        }
    }

    #[test]
    fn every_paper_by_the_virtual_kernel_has_kept_costs() {
        for (experiment, driver) in PAPERS.into_iter().filter(|(_, driver)| *driver == Driver::Virtual) {
            assert!(!kept(experiment.id, driver).unwrap().is_empty(), "{}", experiment.id);
        }
    }
}
