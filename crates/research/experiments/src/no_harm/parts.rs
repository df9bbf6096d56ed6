//! Bytes that never repeat over a long lossy hop: the parts of the default tunnel that help or harm there.

use anyhow::Result;

use crate::cell::{Cell, File, Path};
use crate::figure::{Figure, Need, Results, Setting, bytes_both_ways, seconds};
use crate::plan::Plan;
use crate::row::{Driver, Row};
use crate::scheme::{Part, Parts, Scheme};

/// The parts on random bytes.
pub const FIGURE: Figure = Figure {
    id: "parts",
    title: "The parts of the default tunnel on random bytes, 300 ms",
    x: "packets lost, %",
    remark: "Mean times and bytes by those of \"off with literals + ARQ\", which compresses and repairs and removes nothing. \
             Random bytes leave redundancy elimination nothing to gain, so each figure above 1 is a cost.",
    needs,
    rows,
};

/// The round trip, in milliseconds.
const ROUND_TRIP: u32 = 300;
/// Percent of packets lost.
const LOSSES: [f64; 2] = [0.0, 5.0];

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(200, 2, 1)
}

fn combinations() -> impl Iterator<Item = Parts> {
    let left_out = [Part::Reduce, Part::Literals, Part::Headers, Part::Packing];
    let repair = Parts::NONE.with(Part::Repair);
    std::iter::once(Parts::ALL).chain(left_out.map(|part| Parts::ALL.without(part))).chain([
        repair,
        repair.with(Part::Packing),
        repair.with(Part::Headers),
    ])
}

fn cell(scheme: Scheme, loss: f64) -> Cell {
    Cell { path: Path::hop(ROUND_TRIP), ..Cell::download(File::Random, scheme, loss) }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    if setting.driver == Driver::Sim {
        return Vec::new(); // its nodes shorten nothing
    }
    let seeds = seeds(&setting.plan);
    let schemes = combinations().map(Scheme::from).chain([Scheme::OFF_ZSTD_ARQ]);
    schemes.flat_map(|scheme| LOSSES.map(|loss| Need::Cell(cell(scheme, loss), seeds))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    if results.setting.driver == Driver::Sim {
        return Ok(rows);
    }
    let seeds = seeds(&results.setting.plan);
    for parts in combinations() {
        for loss in LOSSES {
            let cell = cell(Scheme::from(parts), loss);
            let baseline = cell.with(Scheme::OFF_ZSTD_ARQ);
            for (quantity, estimate) in [
                ("time", results.ratio(&cell, &baseline, seeds, seconds)?),
                ("bytes both ways", results.ratio(&cell, &baseline, seeds, bytes_both_ways)?),
            ] {
                let row = Row::new(FIGURE.id, format!("{quantity}: {parts}"), loss, "ratio");
                rows.push(results.row(row, &cell, estimate, seeds));
            }
        }
    }
    Ok(rows)
}
