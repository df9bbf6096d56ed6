//! The grid: every loss, round trip and content, against the same tunnel without redundancy elimination and
//! against no tunnel.

use anyhow::Result;

use crate::cell::{Cell, File, Path};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting, bytes_down};
use crate::plan::Plan;
use crate::row::Row;
use crate::scheme::Scheme;

/// The grid.
pub const FIGURE: Figure = Figure {
    id: "grid",
    title: "The time of a download, by loss, round trip and content",
    x: "packets lost, %",
    remark: "Quotients of paired times, their median and what encloses it. To off: the same tunnel without redundancy \
             elimination, hop ARQ, shortening and packing. To off with zstd and ARQ: a tunnel that compresses each packet and \
             repairs its losses, with the same store, and removes nothing. To bare: no tunnel.",
    needs,
    rows,
};

/// The baselines, and what series call them.
pub(super) const BASELINES: [(Scheme, &str); 3] =
    [(Scheme::OFF, TO_OFF), (Scheme::Bare, TO_BARE), (Scheme::OFF_ZSTD_ARQ, TO_ZSTD_ARQ)];
/// Against the plain tunnel.
pub(super) const TO_OFF: &str = "to off";
/// Against no tunnel.
pub(super) const TO_BARE: &str = "to bare";
/// Against what compresses and repairs without redundancy elimination.
pub(super) const TO_ZSTD_ARQ: &str = "to off with zstd and ARQ";
/// The contents.
pub(super) const FILES: [File; 2] = [File::One, File::Random];

/// Round trips in milliseconds.
fn round_trips(plan: &Plan) -> &'static [u32] {
    plan.choose(&[0, 20, 100, 300], &[20, 300], &[20])
}

fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[0.0, 1.0, 2.0, 5.0, 10.0, 20.0], &[0.0, 5.0], &[0.0, 5.0])
}

/// The name of a series.
pub(super) fn series(baseline: &str, file: File, round_trip_milliseconds: u32) -> String {
    format!("{baseline}: {file}, {round_trip_milliseconds} ms")
}

/// All cells of the tunnel, with their positions.
fn cells(plan: &Plan) -> Vec<(File, u32, f64, Cell)> {
    let mut cells = Vec::new();
    for file in FILES {
        for &round_trip in round_trips(plan) {
            for &loss in losses(plan) {
                let cell =
                    Cell { path: Path::hop(round_trip), ..Cell::download(file, Scheme::ADAPTIVE, loss) };
                cells.push((file, round_trip, loss, cell));
            }
        }
    }
    cells
}

/// Cells against both baselines, with bounds on the number of seeds, unless the user sets another number.
pub(super) fn against_baselines(
    plan: &Plan,
    (least, most): (u32, u32),
    cells: impl Iterator<Item = Cell>,
) -> Vec<Need> {
    let (least, most) = plan.seeds.map_or((least, most), |seeds| (seeds, seeds));
    let pair = |cell: Cell| {
        BASELINES.map(|(baseline, _)| Need::Pair { cell, baseline: cell.with(baseline), least, most })
    };
    cells.flat_map(pair).collect()
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let seeds = plan.choose((30, 200), (2, 2), (15, 15));
    against_baselines(plan, seeds, cells(plan).into_iter().map(|(.., cell)| cell))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (file, round_trip, loss, cell) in cells(&results.setting.plan) {
        let readings = results.readings(&cell, u32::MAX)?;
        let seeds = readings.len() as u32;
        for (baseline, name) in BASELINES {
            let other = cell.with(baseline);
            let row = Row::new(FIGURE.id, series(name, file, round_trip), loss, "ratio");
            rows.push(results.row(row, &cell, results.median_time(&cell, &other)?, seeds));
            let bytes = results.ratio(&cell, &other, seeds, bytes_down)?;
            let row = Row::new(FIGURE.id, series(&format!("bytes {name}"), file, round_trip), loss, "ratio");
            rows.push(results.row(row, &cell, bytes, seeds));
        }
        let complete = readings.iter().filter(|reading| reading.is_complete).count() as u64;
        let row = Row::new(FIGURE.id, series("complete", file, round_trip), loss, "share");
        rows.push(results.row(row, &cell, Estimate::share(complete, seeds.into()), seeds));
    }
    Ok(rows)
}
