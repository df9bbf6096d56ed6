//! Data of a station: the gateway reports the hop's losses to it.

use anyhow::Result;

use super::bursts::Losses;
use super::figure_5::seeds;
use super::path::{Repair, Trial, quotient};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Uploads.
pub const FIGURE: Figure = Figure {
    id: "upstream",
    title: "What a station sends, with loss notices, by none",
    x: "packets lost, %",
    remark: "Quotients of throughput with the same seeds. The gateway has repair on, the station knows of nothing: it keeps 64 \
             packets a flow, sends again what notices name, and keeps duplicate acknowledgments for that from its TCP.",
    needs,
    rows,
};

const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];
const BUFFER: u32 = 8;

/// The name of a series.
pub(super) fn series(control: &str) -> String {
    format!("by none: {control}")
}

/// Cells: congestion controls and losses in percent.
fn cells(plan: &Plan) -> Vec<(&'static str, f64)> {
    let controls: &[&str] = plan.choose(&CONTROLS, &["cubic"], &["cubic"]);
    let losses: &[f64] = plan.choose(&[0.0, 1.0, 5.0, 10.0], &[0.0, 5.0], &[0.0, 1.0, 5.0]);
    controls.iter().flat_map(|&control| losses.iter().map(move |&percent| (control, percent))).collect()
}

/// Duration of an upload.
fn seconds(plan: &Plan) -> u32 {
    plan.choose(120, 30, 120)
}

fn pair(plan: &Plan, (control, percent): (&'static str, f64)) -> [Trial; 2] {
    [Repair::Adaptive, Repair::Off].map(|repair| Trial {
        control,
        window_packets: None,
        is_upload: true,
        ..Trial::new(repair, BUFFER, Losses::Share(percent / 100.0), seconds(plan))
    })
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let trials = cells(&setting.plan).into_iter().flat_map(|cell| pair(&setting.plan, cell));
    trials.map(|trial| Need::Scenario(Box::new(trial.scenario(setting, seeds(&setting.plan))))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let mut rows = Vec::new();
    for cell @ (control, percent) in cells(plan) {
        let [with, without] = pair(plan, cell);
        let quotient = quotient(results, &with, &without)?;
        let row = Row::new(FIGURE.id, series(control), percent, "ratio");
        rows.push(row.measured(quotient, results.setting.driver, seeds(plan)));
    }
    Ok(rows)
}
