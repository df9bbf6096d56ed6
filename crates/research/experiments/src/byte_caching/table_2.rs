//! Table II: all schemes on file 1 at 5% and 10% loss, by three generations of TCP.

use anyhow::Result;

use super::grid;
use crate::cell::{Cell, File, Impairment, Stack};
use crate::figure::{Figure, Need, Results, Setting, bytes_both_ways, bytes_down, seconds};
use crate::papers::{self, Stated};
use crate::plan::Plan;
use crate::reading::Reading;
use crate::row::Row;
use crate::scheme::Scheme;

/// Table II.
pub const FIGURE: Figure = Figure {
    id: "table-2",
    title: "All schemes, file 1, 5% and 10% loss",
    x: "packets lost, %",
    remark: "\"bytes\" and \"delay\" are relative to the same tunnel without redundancy elimination at the same loss (the \
             axes of Figures 10 and 11), bytes from server to client; \"by the file's\" and \"by that without loss\" \
             are the axes of Figure 12, of which the paper's k-distance column seems to be read. Each once with TCP \
             as Linux has it now, and with SACK, RACK, tail loss probes and early retransmit off, under cubic and \
             under NewReno. tcp-seq and k-distance are the paper's as printed. tcp-seq-in-flow refers to segments of \
             its own flow only, and k-distance-in-flow also follows that rule; both changes are ours. The claims \
             hold the printed ones against the paper's values, under each TCP.",
    needs,
    rows,
};

/// Losses, beside none.
const LOSSES: [f64; 3] = [0.0, 5.0, 10.0];
const STACKS: [Stack; 3] = [Stack::Modern, Stack::Plain, Stack::Reno];

/// The stack's own schemes: everything by modern TCP, the paper's and the two that frame them by the others.
fn schemes(stack: Stack) -> &'static [Scheme] {
    match stack {
        Stack::Modern => &Scheme::COMPARED,
        Stack::Plain | Stack::Reno => &OLD_SCHEMES,
    }
}

const OLD_SCHEMES: [Scheme; 7] = [
    Scheme::OFF,
    Scheme::CACHE_FLUSH,
    Scheme::TCP_SEQ,
    Scheme::K_DISTANCE,
    Scheme::TCP_SEQ_IN_FLOW,
    Scheme::K_DISTANCE_IN_FLOW,
    Scheme::ACKED,
];

/// What the paper states: bytes and delay.
pub(super) fn paper(scheme: Scheme, loss_percent: f64) -> Option<[Stated; 2]> {
    let stated = |id| papers::BYTE_CACHING.value(id).number();
    let column = Scheme::PAPERS.iter().position(|&other| other == scheme)?;
    let ids = match loss_percent {
        0.0 if scheme != Scheme::K_DISTANCE => {
            let saved = ["section-6/bytes-saved-no-loss", "section-6/time-saved-no-loss"];
            return Some(saved.map(|id| stated(id).left()));
        }
        5.0 => [
            ["table-2/cache-flush/bytes/loss-5", "table-2/cache-flush/delay/loss-5"],
            ["table-2/tcp-seq/bytes/loss-5", "table-2/tcp-seq/delay/loss-5"],
            ["table-2/k-distance/bytes/loss-5", "table-2/k-distance/delay/loss-5"],
        ],
        10.0 => [
            ["table-2/cache-flush/bytes/loss-10", "table-2/cache-flush/delay/loss-10"],
            ["table-2/tcp-seq/bytes/loss-10", "table-2/tcp-seq/delay/loss-10"],
            ["table-2/k-distance/bytes/loss-10", "table-2/k-distance/delay/loss-10"],
        ],
        _ => return None,
    };
    Some(ids[column].map(stated))
}

/// Number of seeds: those of the grid (modern TCP's cells), fewer for the old TCP, and very few where runs do
/// not differ without loss.
fn count(plan: &Plan, cell: &Cell) -> u32 {
    match (cell.stack, cell.impairment) {
        (Stack::Modern, _) => grid::seeds(plan, cell),
        (_, Impairment::NONE) => plan.seeds(4, 1, 1),
        _ => plan.seeds(20, 1, 1),
    }
}

fn cell(stack: Stack, scheme: Scheme, loss_percent: f64) -> Cell {
    Cell { stack, ..Cell::download(File::One, scheme, loss_percent) }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let need = |cell| Need::Cell(cell, count(&setting.plan, &cell));
    let of = |stack| {
        let of = move |&scheme| LOSSES.map(|loss| need(cell(stack, scheme, loss)));
        schemes(stack).iter().flat_map(of)
    };
    STACKS.into_iter().flat_map(of).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for stack in STACKS {
        let lossless = cell(stack, Scheme::OFF, 0.0);
        let seeds = count(&results.setting.plan, &lossless);
        let lossless = results.mean_of_complete(&lossless, seeds, seconds)?;
        let lossless_seconds = lossless.map(|lossless| lossless.value);
        for &scheme in schemes(stack) {
            for loss in LOSSES {
                rows.extend(of_cell(results, &cell(stack, scheme, loss), loss, lossless_seconds)?);
            }
        }
    }
    Ok(rows)
}

fn of_cell(results: &Results<'_>, cell: &Cell, loss: f64, lossless_seconds: Option<f64>) -> Result<Vec<Row>> {
    let seeds = count(&results.setting.plan, cell);
    let file_bytes = results.setting.testbed.content(File::One).bytes.len() as f64;
    let off = cell.with(Scheme::OFF);
    let readings = results.readings(cell, seeds)?;
    let bytes = results.ratio(cell, &off, seeds, bytes_down)?;
    let delay = results.ratio(cell, &off, seeds, seconds)?;
    let both_ways = results.ratio(cell, &off, seeds, bytes_both_ways)?;
    let by_the_files = |it: &Reading| Some(it.bytes_down as f64 / file_bytes);
    let by_the_files = results.mean_of_complete(cell, seeds, by_the_files)?;
    let by_that_without_loss = |it: &Reading| Some(it.seconds? / lossless_seconds?);
    let by_that_without_loss = results.mean_of_complete(cell, seeds, by_that_without_loss)?;
    let paper = paper(cell.scheme, loss);
    let row = |quantity: &str, estimate, paper| {
        let series = series(quantity, cell.scheme, cell.stack);
        results.row(Row::new(FIGURE.id, series, loss, "ratio").paper(paper), cell, estimate, seeds)
    };
    let complete = readings.iter().filter(|reading| reading.is_complete).count();
    let count = if complete == readings.len() {
        String::new()
    } else {
        format!("over {complete} complete downloads")
    };
    let rows = [
        row("bytes", bytes, paper.map(|[bytes, _]| bytes)),
        row("delay", delay, paper.map(|[_, delay]| delay)),
        row("bytes both ways", both_ways, None),
        row("bytes by the file's", by_the_files, None),
        row("delay by that without loss", by_that_without_loss, None),
    ];
    Ok(rows.map(|row| row.note(&count)).into())
}

/// What a series of this table is called.
#[must_use]
pub fn series(quantity: &str, scheme: Scheme, stack: Stack) -> String {
    match stack {
        Stack::Modern => format!("{quantity}: {scheme}"),
        Stack::Plain => format!("{quantity}, cubic without SACK and RACK: {scheme}"),
        Stack::Reno => format!("{quantity}, NewReno without SACK and RACK: {scheme}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_numbers_stand_where_its_table_has_them() {
        let at = |scheme, loss| paper(scheme, loss).map(|both| both.map(Stated::get));
        assert_eq!(at(Scheme::TCP_SEQ, 5.0), Some([0.70, 2.88]));
        assert_eq!(at(Scheme::K_DISTANCE, 10.0), Some([0.94, 4.01]));
        assert_eq!(at(Scheme::CACHE_FLUSH, 0.0), Some([0.55, 0.72]));
        assert_eq!(at(Scheme::K_DISTANCE, 0.0), None);
        assert_eq!(at(Scheme::ACKED, 5.0), None);
    }
}
