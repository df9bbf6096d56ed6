//! Real TCP: whole files by three congestion controls, with repair and without.

use anyhow::Result;

use super::bursts::Losses;
use super::figure_5::seeds;
use super::path::{Extent, Repair, Trial, quotient};
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Real TCP.
pub const FIGURE: Figure = Figure {
    id: "tcp",
    title: "Whole files with the default repair, by none",
    x: "packets lost, %",
    remark: "Quotients of throughput with the same seeds, and the share of downloads that were complete and equal to the \
             original. A file of random bytes, the default settings (8 packets, adaptive), windows as the systems choose. bbr does not \
             slow down for losses, so that there is nothing to be gained for it by hiding them: at 10% loss it has several times more \
             on its way than 8 packets of buffer hold, is shown most losses, and repairs them itself beside the gateway, which \
             takes 4 to 7% of what is on the air.",
    needs,
    rows,
};

const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];
const BUFFER: u32 = 8;

/// The name of a series.
pub(super) fn series(what: &str, control: &str, wire_milliseconds: u32) -> String {
    format!("{what}: {control}, {wire_milliseconds} ms")
}

/// What series are called.
pub(super) const QUOTIENT: &str = "by none";
/// What series are called.
pub(super) const COMPLETE: &str = "complete";

type Cell = (&'static str, u32, f64);

fn cells(plan: &Plan) -> Vec<Cell> {
    let controls: &[&str] = plan.choose(&CONTROLS, &["cubic", "bbr"], &["cubic"]);
    let wires: &[u32] = plan.choose(&[5, 50, 150], &[5], &[5]);
    let losses: &[f64] = plan.choose(&[0.0, 1.0, 5.0, 10.0], &[0.0, 5.0], &[0.0, 1.0, 5.0]);
    let mut cells = Vec::new();
    for &control in controls {
        for &wire in wires {
            cells.extend(losses.iter().map(|&percent| (control, wire, percent)));
        }
    }
    cells
}

fn pair((control, wire_milliseconds, percent): Cell) -> [Trial; 2] {
    [Repair::Adaptive, Repair::Off].map(|repair| Trial {
        control,
        wire_milliseconds,
        window_packets: None,
        extent: Extent::File(File::Random),
        ..Trial::new(repair, BUFFER, Losses::Share(percent / 100.0), 0)
    })
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let trials = cells(&setting.plan).into_iter().flat_map(pair);
    trials
        .map(|trial| Need::Scenario(Box::new(trial.scenario(setting, trial_seeds(&setting.plan)))))
        .collect()
}

/// Files are short, and one loss in an unlucky place makes much of one: more of them than of long downloads.
fn trial_seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 2, seeds(plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let mut rows = Vec::new();
    for cell @ (control, wire, percent) in cells(plan) {
        let [with, without] = pair(cell);
        let outcomes = results.outcomes(&with.name())?;
        let came_whole = outcomes.iter().filter(|outcome| outcome.all_came_whole()).count();
        let whole = Estimate::share(came_whole as u64, outcomes.len() as u64);
        let quotient = quotient(results, &with, &without)?;
        for (what, unit, estimate) in [(QUOTIENT, "ratio", quotient), (COMPLETE, "share", whole)] {
            let row = Row::new(FIGURE.id, series(what, control, wire), percent, unit);
            rows.push(row.measured(estimate, results.setting.driver, trial_seeds(plan)));
        }
    }
    Ok(rows)
}
