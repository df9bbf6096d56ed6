//! Beyond the paper: references to packets in flight, where the hop repairs its own losses.

use anyhow::Result;

use crate::cell::{Cell, File};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting, bytes_both_ways, bytes_down, seconds};
use crate::papers::{self, Stated};
use crate::plan::Plan;
use crate::row::Row;
use crate::scheme::Scheme;

/// Adaptive references.
pub const FIGURE: Figure = Figure {
    id: "adaptive",
    title: "Adaptive references with hop ARQ, file 1",
    x: "packets lost, %",
    remark: "Relative to the same tunnel without redundancy elimination and without ARQ, same seeds, same losses by packet \
             index. acked may not refer to what was sent within the last round trip; adaptive may, because what the \
             hop loses is sent again beside TCP. The paper's best values stand beside it, all under cache-flush.",
    needs,
    rows,
};

const SCHEMES: [Scheme; 5] =
    [Scheme::ADAPTIVE, Scheme::ADAPTIVE_WITHOUT_LITERALS, Scheme::ACKED, Scheme::OFF_ZSTD_ARQ, Scheme::Bare];
const LOSSES: [f64; 5] = [0.0, 1.0, 5.0, 10.0, 20.0];

fn seeds(plan: &Plan, scheme: Scheme) -> u32 {
    // the others' cells are the grid's
    let ours = [Scheme::ADAPTIVE, Scheme::ADAPTIVE_WITHOUT_LITERALS].contains(&scheme);
    plan.seeds(if ours { 30 } else { 8 }, 2, 2)
}

fn paper(loss_percent: f64) -> Option<Stated> {
    let stated = |id| papers::BYTE_CACHING.value(id).number();
    match loss_percent {
        0.0 => Some(stated("section-6/bytes-saved-no-loss").left()),
        5.0 => Some(stated("table-2/cache-flush/bytes/loss-5")),
        10.0 => Some(stated("table-2/cache-flush/bytes/loss-10")),
        _ => None,
    }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let need =
        |scheme, loss| Need::Cell(Cell::download(File::One, scheme, loss), seeds(&setting.plan, scheme));
    let compared = SCHEMES.into_iter().flat_map(|scheme| LOSSES.map(|loss| need(scheme, loss)));
    let seeds = seeds(&setting.plan, Scheme::ADAPTIVE);
    compared
        .chain(LOSSES.map(|loss| Need::Cell(Cell::download(File::One, Scheme::OFF, loss), seeds)))
        .collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for loss in LOSSES {
        for scheme in SCHEMES {
            let seeds = seeds(&results.setting.plan, scheme);
            let cell = Cell::download(File::One, scheme, loss);
            let off = cell.with(Scheme::OFF);
            let readings = results.readings(&cell, seeds)?;
            let complete = readings.iter().filter(|reading| reading.is_complete).count() as u64;
            let undecodable: Vec<f64> = readings.iter().map(|it| it.undecodable_packets as f64).collect();
            let paper = paper(loss).filter(|_| scheme == Scheme::ADAPTIVE);
            for (series, unit, estimate, paper) in [
                ("complete", "share", Estimate::share(complete, readings.len() as u64), None),
                ("bytes", "ratio", results.ratio(&cell, &off, seeds, bytes_down)?, paper),
                ("bytes both ways", "ratio", results.ratio(&cell, &off, seeds, bytes_both_ways)?, None),
                ("delay", "ratio", results.ratio(&cell, &off, seeds, seconds)?, None),
                ("undecodable", "packets a download", Estimate::mean(&undecodable), None),
            ] {
                let row = Row::new(FIGURE.id, format!("{series}: {scheme}"), loss, unit).paper(paper);
                rows.push(results.row(row, &cell, estimate, seeds));
            }
        }
    }
    Ok(rows)
}
