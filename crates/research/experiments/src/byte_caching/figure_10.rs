//! Figure 10: bytes sent over the loss rate, relative to none eliminated.

use anyhow::Result;

use super::grid::{self, Download};
use crate::figure::{Figure, Results, bytes_both_ways, bytes_down};
use crate::papers::{self, Stated};
use crate::row::Row;
use crate::scheme::Scheme;

/// Figure 10.
pub const FIGURE: Figure = Figure {
    id: "10",
    title: "Bytes sent in the presence of packet losses",
    x: "packets lost, %",
    remark: "Bytes on the link from server to client, lost or not, with the tunnel's headers, receipts and handshakes, \
             by the bytes of the same tunnel without redundancy elimination, same seeds, same losses by packet index. \
             The series \"both ways\" adds what the client sends. The text of the paper states {byte-caching/section-6/bytes-saved-no-loss} fewer bytes without loss. Ours saves less \
             by what cannot be eliminated: 108 bytes of headers (IP, TCP, tunnel) and a MAC of 8 bytes a \
             packet. \"bare\" is the path without any tunnel.",
    needs: grid::needs,
    rows,
};

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for Download { file, loss, scheme, cell, seeds } in grid::downloads(&results.setting.plan) {
        if scheme == Scheme::OFF {
            let bytes = results.mean_of_complete(&cell, seeds, bytes_down)?;
            let row = Row::new(FIGURE.id, format!("{file}: off"), loss, "bytes");
            rows.push(results.row(row, &cell, bytes, seeds));
            continue;
        }
        let ratio = results.ratio(&cell, &cell.with(Scheme::OFF), seeds, bytes_down)?;
        let row = Row::new(FIGURE.id, format!("{file}: {scheme}"), loss, "ratio").paper(paper(scheme, loss));
        rows.push(results.row(row, &cell, ratio, seeds));
        let ratio = results.ratio(&cell, &cell.with(Scheme::OFF), seeds, bytes_both_ways)?;
        let row = Row::new(FIGURE.id, format!("{file}, both ways: {scheme}"), loss, "ratio");
        rows.push(results.row(row, &cell, ratio, seeds));
    }
    Ok(rows)
}

/// Values in the text: the remaining share without loss, equal for all its encoders.
fn paper(scheme: Scheme, loss_percent: f64) -> Option<Stated> {
    let stated = loss_percent == 0.0 && [Scheme::CACHE_FLUSH, Scheme::TCP_SEQ].contains(&scheme);
    stated.then(|| papers::BYTE_CACHING.value("section-6/bytes-saved-no-loss").number().left())
}
