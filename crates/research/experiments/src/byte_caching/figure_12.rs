//! Figure 12: k-distance over k, at 5% and 10% loss.

use anyhow::Result;

use crate::cell::{Cell, File};
use crate::figure::{Figure, Need, Results, Setting, bytes_down, seconds};
use crate::papers::{self, Stated};
use crate::plan::Plan;
use crate::reading::Reading;
use crate::row::Row;
use crate::scheme::Scheme;

/// Figure 12.
pub const FIGURE: Figure = Figure {
    id: "12",
    title: "k-distance over k, file 1",
    x: "k",
    remark: "As in the paper's caption: bytes sent by the size of the file, and delay by the download time without loss \
             (without redundancy elimination). For comparison, both also relative to the same tunnel without redundancy \
             elimination at the same loss. Bytes are those on the link from server to client with all headers, so \
             that even a perfect link carries 1.08 of the file without redundancy elimination. The paper's \
             values are those of its Table II, for k = {byte-caching/table-2/k}.",
    needs,
    rows,
};

const LOSSES: [f64; 2] = [5.0, 10.0];

fn ks(plan: &Plan) -> &'static [u32] {
    plan.choose(&[1, 2, 4, 8, 12, 16, 24, 32, 50, 80], &[2, 8, 50], &[8])
}

fn count(plan: &Plan) -> u32 {
    plan.seeds(12, 1, 1)
}

fn cell(k: u32, loss_percent: f64) -> Cell {
    Cell::download(File::One, Scheme::k_distance(k), loss_percent)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let seeds = count(&setting.plan);
    let off = [0.0, 5.0, 10.0].map(|loss| Cell::download(File::One, Scheme::OFF, loss));
    let cells = ks(&setting.plan).iter().flat_map(|&k| LOSSES.map(|loss| cell(k, loss)));
    cells.chain(off).map(|cell| Need::Cell(cell, seeds)).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let seeds = count(plan);
    let file_bytes = results.setting.testbed.content(File::One).bytes.len() as f64;
    let lossless = Cell::download(File::One, Scheme::OFF, 0.0);
    let lossless_seconds = results.mean_of_complete(&lossless, seeds, seconds)?.map(|it| it.value);
    let mut rows = Vec::new();
    for &k in ks(plan) {
        for loss in LOSSES {
            let cell = cell(k, loss);
            let off = cell.with(Scheme::OFF);
            let by_the_files = |it: &Reading| Some(it.bytes_down as f64 / file_bytes);
            let by_that_without_loss = |it: &Reading| Some(it.seconds? / lossless_seconds?);
            let [paper_bytes, paper_delay] = paper(k, loss);
            for (series, estimate, paper) in [
                ("bytes by the file's", results.mean_of_complete(&cell, seeds, by_the_files)?, paper_bytes),
                (
                    "delay by that without loss",
                    results.mean_of_complete(&cell, seeds, by_that_without_loss)?,
                    paper_delay,
                ),
                ("bytes by off's", results.ratio(&cell, &off, seeds, bytes_down)?, None),
                ("delay by off's", results.ratio(&cell, &off, seeds, seconds)?, None),
            ] {
                let row = Row::new(FIGURE.id, format!("{series}: {loss}% loss"), k, "ratio").paper(paper);
                rows.push(results.row(row, &cell, estimate, seeds));
            }
        }
    }
    Ok(rows)
}

/// Table II: bytes and delay.
fn paper(k: u32, loss_percent: f64) -> [Option<Stated>; 2] {
    let stated = |id| papers::BYTE_CACHING.value(id).number();
    let ids = match loss_percent {
        _ if f64::from(k) != stated("table-2/k").get() => return [None; 2],
        5.0 => ["table-2/k-distance/bytes/loss-5", "table-2/k-distance/delay/loss-5"],
        10.0 => ["table-2/k-distance/bytes/loss-10", "table-2/k-distance/delay/loss-10"],
        _ => return [None; 2],
    };
    ids.map(|id| Some(stated(id)))
}
