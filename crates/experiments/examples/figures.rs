//! Runs figures of REfactor, quickly: `cargo run --example figures 8 table-6`.
use experiments::contents::Contents;
use experiments::plan::{Extent, Plan, Traced};
use experiments::refactor::EXPERIMENT;
fn main() {
    let mut ids: Vec<String> = std::env::args().skip(1).collect();
    let whole = ids.iter().position(|id| id == "--whole").map(|at| ids.remove(at)).is_some();
    let plan = Plan {
        extent: if whole { Extent::Whole } else { Extent::Quick },
        seeds: None,
        trace: Traced::default(),
    };
    let figures = EXPERIMENT.chosen(&ids).unwrap();
    let contents = Contents::find();
    let runner = experiments::run::Runner {
        driver: experiments::row::Driver::Sim,
        exe: "overheard".into(),
        guest: vec![],
        lanes: 1,
        kept: None,
    };
    let rows =
        experiments::experiment::run(&figures, plan, &contents, &runner, &indicatif::ProgressBar::hidden())
            .unwrap();
    for row in &rows {
        println!(
            "{:8} {:70} {:6} {:?} {:?}..{:?} paper {:?} {}",
            row.figure,
            row.series,
            row.x,
            row.value.map(|v| (v * 1e4).round() / 1e4),
            row.low.map(|v| (v * 1e3).round() / 1e3),
            row.high.map(|v| (v * 1e3).round() / 1e3),
            row.paper,
            row.note
        );
    }
    for claim in (EXPERIMENT.claims)(&rows).iter().filter(|claim| claim.holds.is_some()) {
        println!("{:?} {} -- {}", claim.holds, claim.claim, claim.found);
    }
}
