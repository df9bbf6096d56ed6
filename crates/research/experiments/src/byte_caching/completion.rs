//! Whether downloads end at all: the point of the paper's section V, for every scheme but naive.

use anyhow::Result;

use super::grid::{self, Download};
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::row::Row;

/// Completed downloads.
pub const FIGURE: Figure = Figure {
    id: "completion",
    title: "Downloads that were complete, byte for byte",
    x: "packets lost, %",
    remark: "The share of downloads that were complete and equal to the original. The paper's sections IV and V show \
             that naive encoding ends almost none (Figure 6) and that its three policies cannot stall.",
    needs: grid::needs,
    rows,
};

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for Download { file, loss, scheme, cell, seeds } in grid::downloads(&results.setting.plan) {
        let readings = results.readings(&cell, seeds)?;
        let complete = readings.iter().filter(|reading| reading.is_complete).count() as u64;
        let all = readings.len() as u64;
        let row = Row::new(FIGURE.id, format!("{file}: {scheme}"), loss, "share");
        let row = results.row(row, &cell, Estimate::share(complete, all), seeds);
        rows.push(row.note(format!("{complete} of {all}")));
    }
    Ok(rows)
}
