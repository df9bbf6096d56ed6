//! A UDP stream through the tunnel: what the application loses, and how late it gets the rest.

use anyhow::Result;

use super::grid::FILES;
use crate::cell::{Cell, File, Path};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::reading::Reading;
use crate::row::Row;
use crate::scheme::Scheme;

/// UDP.
pub const FIGURE: Figure = Figure {
    id: "udp",
    title: "A UDP stream: lost to the application, and late",
    x: "packets lost, %",
    remark: "1000 datagrams of 1200 bytes at 300 kByte/s. Lost beyond the link's: what the application lost less what the \
             link did; below 0 where the hop repairs. Later than bare: the 99th percentile of the one-way delay, less the \
             bare path's with the same seed. On the bare path what is lost never comes; here it comes late, each \
             repair taking up to one and a half round trips and 25 ms.",
    needs,
    rows,
};

/// The name of a series.
pub(super) fn series(what: &str, file: File, round_trip_milliseconds: u32) -> String {
    format!("{what}: {file}, {round_trip_milliseconds} ms")
}

/// What series are called.
pub(super) const LOST: &str = "lost beyond the link's";
/// What series are called.
pub(super) const LATER: &str = "later than bare";

fn round_trips(plan: &Plan) -> &'static [u32] {
    plan.choose(&[0, 20, 100, 300], &[20], &[20])
}

fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[0.0, 1.0, 2.0, 5.0, 10.0, 20.0], &[0.0, 5.0], &[5.0])
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 2, 1)
}

fn cells(plan: &Plan) -> Vec<(File, u32, f64, Cell)> {
    let mut cells = Vec::new();
    for file in FILES {
        for &round_trip in round_trips(plan) {
            for &loss in losses(plan) {
                let cell = Cell { path: Path::hop(round_trip), ..Cell::stream(file, Scheme::ADAPTIVE, loss) };
                cells.push((file, round_trip, loss, cell));
            }
        }
    }
    cells
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let seeds = seeds(&setting.plan);
    let both = |cell: Cell| [Need::Cell(cell, seeds), Need::Cell(cell.with(Scheme::Bare), seeds)];
    cells(&setting.plan).into_iter().flat_map(|(.., cell)| both(cell)).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let seeds = seeds(&results.setting.plan);
    let mut rows = Vec::new();
    for (file, round_trip, loss, cell) in cells(&results.setting.plan) {
        let ours = results.readings(&cell, seeds)?;
        let bare = results.readings(&cell.with(Scheme::Bare), seeds)?;
        let beyond = |reading: &Reading| (reading.perceived_loss - reading.actual_loss) * 100.0;
        let beyond: Vec<f64> = ours.iter().map(beyond).collect();
        let late = |(one, other): (&Reading, &Reading)| {
            Some(one.delay_p99_milliseconds? - other.delay_p99_milliseconds?)
        };
        let later: Vec<f64> = ours.iter().zip(bare).filter_map(late).collect();
        for (what, unit, sample) in [(LOST, "points", beyond), (LATER, "ms", later)] {
            let row = Row::new(FIGURE.id, series(what, file, round_trip), loss, unit);
            rows.push(results.row(row, &cell, Estimate::mean(&sample), seeds));
        }
    }
    Ok(rows)
}
