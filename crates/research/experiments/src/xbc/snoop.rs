//! What Snoop itself gains, where its buffer is large.

use anyhow::Result;

use super::bursts::Losses;
use super::figure_5::{seconds, seeds};
use super::path::{Repair, Trial, quotient};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Snoop.
pub const FIGURE: Figure = Figure {
    id: "snoop",
    title: "Snoop with a buffer of 100 packets, by TCP alone",
    x: "packets lost, %",
    remark: "Quotients of throughput with the same seeds, on the path of Figure 5.",
    needs,
    rows,
};

/// Congestion controls that take a loss for congestion.
pub(super) const CONTROLS: [&str; 2] = ["reno", "cubic"];
const BUFFER: u32 = 100;

/// The name of a series.
pub(super) fn series(control: &str, sack: bool) -> String {
    format!("by TCP alone: {control}{}", if sack { "" } else { " without SACK" })
}

/// Our goals for the quotient, with SACK.
pub(super) const GOALS: [(f64, f64); 2] = [(5.0, 2.7), (10.0, 3.3)];

fn goal(percent: f64) -> Option<f64> {
    GOALS.into_iter().find(|(place, _)| *place == percent).map(|(_, least)| least)
}

fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[1.0, 5.0, 10.0], &[5.0, 10.0], &[1.0, 5.0, 10.0])
}

fn cells(plan: &Plan) -> Vec<(&'static str, bool, f64)> {
    let sacks: &[bool] = plan.choose(&[true, false], &[true], &[true]);
    let mut cells = Vec::new();
    for control in CONTROLS {
        for &sack in sacks {
            cells.extend(losses(plan).iter().map(|&percent| (control, sack, percent)));
        }
    }
    cells
}

fn pair(plan: &Plan, (control, sack, percent): (&'static str, bool, f64)) -> [Trial; 2] {
    [Repair::NonLru, Repair::Off].map(|repair| Trial {
        control,
        sack,
        ..Trial::new(repair, BUFFER, Losses::Share(percent / 100.0), seconds(plan))
    })
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let trials = cells(plan).into_iter().flat_map(|cell| pair(plan, cell));
    trials.map(|trial| Need::Scenario(Box::new(trial.scenario(setting, seeds(plan))))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let row = |cell: (&'static str, bool, f64)| {
        let [with, without] = pair(plan, cell);
        let row = Row::new(FIGURE.id, series(cell.0, cell.1), cell.2, "ratio");
        let row = row.goal(goal(cell.2).filter(|_| cell.1));
        Ok(row.measured(quotient(results, &with, &without)?, results.setting.driver, seeds(plan)))
    };
    cells(plan).into_iter().map(row).collect()
}
