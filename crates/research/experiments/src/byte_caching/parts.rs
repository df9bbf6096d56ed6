//! The parts of the default tunnel, each switched on alone and each left out.

use anyhow::Result;

use crate::cell::{Cell, File};
use crate::figure::{Figure, Need, Results, Setting, bytes_both_ways, bytes_down, seconds};
use crate::plan::Plan;
use crate::row::{Driver, Row};
use crate::scheme::{Part, Parts, Scheme};

/// The parts.
pub const FIGURE: Figure = Figure {
    id: "parts",
    title: "The parts of the default tunnel, on alone and left out, file 1",
    x: "packets lost, %",
    remark: "Bytes (from server to client) and times by those of the same tunnel with every part off. A part on alone shows its \
             gain; the default without a part shows the part's share beside the others. \"off with literals + ARQ\" \
             compresses and repairs and removes nothing. Without ARQ the default refers to confirmed packets only. \
             Every node has the same store of 16 MiB.",
    needs,
    rows,
};

/// Percent of packets lost.
pub(super) const LOSSES: [f64; 3] = [0.0, 5.0, 10.0];
/// The series of bytes.
pub(super) const BYTES: &str = "bytes";
/// The series of times.
pub(super) const DELAY: &str = "delay";

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(20, 1, 1)
}

/// One by one, and what needs no redundancy elimination.
fn combinations() -> impl Iterator<Item = Parts> {
    let compared = Parts::NONE.with(Part::Literals).with(Part::Repair);
    Parts::one_by_one().chain([compared])
}

fn cell(parts: Parts, loss: f64) -> Cell {
    Cell::download(File::One, Scheme::from(parts), loss)
}

/// The name of a series.
#[must_use]
pub(super) fn series(quantity: &str, parts: Parts) -> String {
    format!("{quantity}: {parts}")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    if setting.driver == Driver::Sim {
        return Vec::new(); // its nodes shorten nothing
    }
    let seeds = seeds(&setting.plan);
    combinations().flat_map(|parts| LOSSES.map(|loss| Need::Cell(cell(parts, loss), seeds))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let seeds = seeds(&results.setting.plan);
    let mut rows = Vec::new();
    if results.setting.driver == Driver::Sim {
        return Ok(rows);
    }
    for parts in combinations() {
        for loss in LOSSES {
            let (cell, off) = (cell(parts, loss), cell(Parts::NONE, loss));
            for (quantity, estimate) in [
                (BYTES, results.ratio(&cell, &off, seeds, bytes_down)?),
                (DELAY, results.ratio(&cell, &off, seeds, seconds)?),
                ("bytes both ways", results.ratio(&cell, &off, seeds, bytes_both_ways)?),
            ] {
                let row = Row::new(FIGURE.id, series(quantity, parts), loss, "ratio");
                rows.push(results.row(row, &cell, estimate, seeds));
            }
        }
    }
    Ok(rows)
}
