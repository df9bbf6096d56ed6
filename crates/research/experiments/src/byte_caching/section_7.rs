//! Section VII: mean size and number of packets at 9% loss.

use anyhow::Result;

use crate::cell::{Cell, File};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::papers;
use crate::plan::Plan;
use crate::reading::Reading;
use crate::row::Row;
use crate::scheme::Scheme;

/// Section VII.
pub const FIGURE: Figure = Figure {
    id: "section-7",
    title: "Mean packet size and number of packets, 9% loss, file 1",
    x: "scheme",
    remark: "Packets on the link from server to client, from the outer IP header on: 56 bytes of each are the tunnel's. \
             The paper's numbers are not those of a whole download: {byte-caching/section-7/packets-k8} of \
             {byte-caching/section-7/packet-size-cf} are .55 of its file, where its Table II has \
             {byte-caching/table-2/cache-flush/bytes/loss-5} to {byte-caching/table-2/cache-flush/bytes/loss-10} for the same \
             scheme at 5% and 10%, and the file alone is 403 packets. The \
             order is what can be compared; a claim does.",
    needs,
    rows,
};

const LOSS_PERCENT: f64 = 9.0;
/// The series of mean sizes.
pub(super) const SIZE: &str = "mean size: on the link";
/// The series of numbers of packets.
pub(super) const COUNT: &str = "packets: on the link";
/// Each scheme with the ids of the paper's mean size and number of packets.
const SCHEMES: [(Scheme, Option<[&str; 2]>); 6] = [
    (Scheme::OFF, None),
    (Scheme::CACHE_FLUSH, Some(["section-7/packet-size-cf", "section-7/packets-k8"])),
    (Scheme::K_DISTANCE, Some(["section-7/packet-size-kdist-8", "section-7/packets-k8"])),
    (Scheme::k_distance(50), Some(["section-7/packet-size-kdist-50", "section-7/packets-k50"])),
    (Scheme::TCP_SEQ, None),
    (Scheme::ACKED, None),
];

fn cell(scheme: Scheme) -> Cell {
    Cell::download(File::One, scheme, LOSS_PERCENT)
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(12, 1, 1)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    SCHEMES.map(|(scheme, _)| Need::Cell(cell(scheme), seeds(&setting.plan))).into()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let seeds = seeds(&results.setting.plan);
    let mut rows = Vec::new();
    for (scheme, paper) in SCHEMES {
        let cell = cell(scheme);
        let readings = results.readings(&cell, seeds)?;
        let mean = |quantity: fn(&Reading) -> f64| {
            Estimate::mean(&readings.iter().map(quantity).collect::<Vec<_>>())
        };
        let size = mean(|it| it.bytes_down as f64 / it.packets_down.max(1) as f64);
        let count = mean(|it| it.packets_down as f64);
        for (index, series, estimate, unit) in [(0, SIZE, size, "bytes"), (1, COUNT, count, "packets")] {
            let row = Row::new(FIGURE.id, series, scheme.to_string().as_str(), unit);
            let paper = paper.map(|ids| papers::BYTE_CACHING.value(ids[index]).number());
            rows.push(results.row(row.paper(paper), &cell, estimate, seeds));
        }
    }
    Ok(rows)
}
