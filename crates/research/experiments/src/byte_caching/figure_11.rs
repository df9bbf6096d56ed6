//! Figure 11: download times over the loss rate, relative to none eliminated.

use anyhow::Result;

use super::grid::{self, Download};
use crate::cell::File;
use crate::figure::{Figure, Results, seconds};
use crate::papers::{self, Stated};
use crate::row::Row;
use crate::scheme::Scheme;

/// Figure 11.
pub const FIGURE: Figure = Figure {
    id: "11",
    title: "Download times in the presence of packet losses",
    x: "packets lost, %",
    remark: "curl's time from its start to the last byte, by that of the same tunnel without redundancy elimination, \
             same seeds, same losses by packet index. The paper states {byte-caching/section-6/time-saved-no-loss} \
             less time without loss, up to {byte-caching/section-6/delay-increase-1} more at 1%, and a factor of \
             {byte-caching/section-6/delay-factor-2} at 2%. Our end hosts' TCP is a modern Linux: SACK, RACK and tail loss probes repair in one \
             round trip what cost the paper's TCP a timeout each, with and without redundancy elimination; Table II \
             is repeated without them. What is undecodable is lost for TCP, so every scheme but acked still pays.",
    needs: grid::needs,
    rows,
};

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for Download { file, loss, scheme, cell, seeds } in grid::downloads(&results.setting.plan) {
        let readings = results.readings(&cell, seeds)?;
        let count = match readings.iter().filter(|it| it.is_complete).count() {
            all if all == readings.len() => String::new(),
            some => format!("over {some} of {} downloads that were complete", readings.len()),
        };
        let row = if scheme == Scheme::OFF {
            let seconds = results.mean_of_complete(&cell, seeds, seconds)?;
            let row = Row::new(FIGURE.id, format!("{file}: off"), loss, "s");
            results.row(row, &cell, seconds, seeds)
        } else {
            let ratio = results.ratio(&cell, &cell.with(Scheme::OFF), seeds, seconds)?;
            let row = Row::new(FIGURE.id, format!("{file}: {scheme}"), loss, "ratio");
            results.row(row.paper(paper(file, scheme, loss)), &cell, ratio, seeds)
        };
        rows.push(row.note(count));
    }
    Ok(rows)
}

/// Values in the text: without loss, and the "up to" values at 1% and 2%, which are those of the worse file.
fn paper(file: File, scheme: Scheme, loss_percent: f64) -> Option<Stated> {
    let is_papers = [Scheme::CACHE_FLUSH, Scheme::TCP_SEQ].contains(&scheme);
    let stated = |id| papers::BYTE_CACHING.value(id).number();
    match loss_percent {
        0.0 if is_papers => Some(stated("section-6/time-saved-no-loss").left()),
        1.0 if is_papers && file == File::Two => Some(stated("section-6/delay-increase-1").grown()),
        2.0 if is_papers && file == File::Two => Some(stated("section-6/delay-factor-2")),
        _ => None,
    }
}
