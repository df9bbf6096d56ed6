//! A fast link with a deep queue: thousands of packets are on their way at once, and slow start overflows it
//! by hundreds.

use anyhow::Result;

use super::grid::{BASELINES, against_baselines};
use crate::cell::{Capacity, Cell, File, Path};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;
use crate::scheme::Scheme;

/// The fast link.
pub const FIGURE: Figure = Figure {
    id: "fast",
    title: "100 Mbit/s, with a thousand full packets of queue",
    x: "packets lost, %",
    remark: "What repeats makes packets small, so that more of them are on their way than the same link carries of full \
             ones. One overflow of the queue loses hundreds at once.",
    needs,
    rows,
};

const CAPACITY: Capacity = Capacity { rate_kilobytes: 12_500, queue_bytes: 1_500_000 };
/// The fetched file: long enough for slow start and the phase after it.
const FILE: File = File::Documents;

fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[0.0, 1.0, 5.0], &[0.0, 1.0], &[1.0])
}

fn round_trips(plan: &Plan) -> &'static [u32] {
    plan.choose(&[20, 100, 300], &[100], &[100])
}

/// The name of a series.
pub(super) fn series(baseline: &str, round_trip_milliseconds: u32) -> String {
    format!("{baseline}: {FILE}, {round_trip_milliseconds} ms")
}

fn cells(plan: &Plan) -> Vec<(u32, f64, Cell)> {
    let cell = |round_trip, loss| {
        let path = Path { capacity: CAPACITY, ..Path::hop(round_trip) };
        (round_trip, loss, Cell { path, ..Cell::download(FILE, Scheme::ADAPTIVE, loss) })
    };
    round_trips(plan)
        .iter()
        .flat_map(|&round_trip| losses(plan).iter().map(move |&loss| cell(round_trip, loss)))
        .collect()
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let seeds = plan.choose((10, 30), (2, 2), (3, 3));
    against_baselines(plan, seeds, cells(plan).into_iter().map(|(.., cell)| cell))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (round_trip, loss, cell) in cells(&results.setting.plan) {
        let seeds = results.readings(&cell, u32::MAX)?.len() as u32;
        for (baseline, name) in BASELINES {
            let row = Row::new(FIGURE.id, series(name, round_trip), loss, "ratio");
            rows.push(results.row(row, &cell, results.median_time(&cell, &cell.with(baseline))?, seeds));
        }
        let seconds = results.mean_of_complete(&cell, seeds, |reading| reading.seconds)?;
        let row = Row::new(FIGURE.id, series("seconds", round_trip), loss, "s");
        rows.push(results.row(row, &cell, seconds, seeds));
    }
    Ok(rows)
}
