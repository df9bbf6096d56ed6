//! A short lossy hop at the end of a long path: what ARQ is for.

use anyhow::Result;

use super::grid::{BASELINES, FILES, against_baselines};
use crate::cell::{Cell, File, Path};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;
use crate::scheme::Scheme;

/// The short hop.
pub const FIGURE: Figure = Figure {
    id: "hop",
    title: "A lossy hop of 10 ms at the end of a path of 100 ms",
    x: "packets lost, %",
    remark: "The server is 90 ms from the gateway. A loss that the hop repairs costs 10 ms and is not seen by the end \
             hosts; one that it does not costs them 100 ms and half their congestion window.",
    needs,
    rows,
};

const PATH: Path = Path { wire_milliseconds: Some(90), ..Path::hop(10) };

fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[0.0, 1.0, 2.0, 5.0, 10.0, 20.0], &[0.0, 5.0], &[5.0])
}

/// The name of a series.
pub(super) fn series(baseline: &str, file: File) -> String {
    format!("{baseline}: {file}")
}

fn cells(plan: &Plan) -> Vec<(File, f64, Cell)> {
    let cell = |file, loss| Cell { path: PATH, ..Cell::download(file, Scheme::ADAPTIVE, loss) };
    let of = |file| losses(plan).iter().map(move |&loss| (file, loss, cell(file, loss)));
    FILES.into_iter().flat_map(of).collect()
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let seeds = plan.choose((30, 200), (2, 2), (4, 4));
    against_baselines(plan, seeds, cells(plan).into_iter().map(|(.., cell)| cell))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (file, loss, cell) in cells(&results.setting.plan) {
        let seeds = results.readings(&cell, u32::MAX)?.len() as u32;
        for (baseline, name) in BASELINES {
            let row = Row::new(FIGURE.id, series(name, file), loss, "ratio");
            rows.push(results.row(row, &cell, results.median_time(&cell, &cell.with(baseline))?, seeds));
        }
    }
    Ok(rows)
}
