//! Figure 6: fifty downloads at 1% loss without any reference policy, and how much of the file arrived.

use anyhow::Result;

use super::must_show;
use crate::cell::{Cell, File};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::papers;
use crate::row::Row;
use crate::scheme::Scheme;

/// Figure 6.
pub const FIGURE: Figure = Figure {
    id: "6",
    title: "TCP stalls under naive encoding, 1% loss",
    x: "download",
    remark: "How much of the file had arrived when no new byte came for 60 s. The first lost packet ends a download, so \
             what arrives is geometric in the loss rate: about 100 packets, and 2% of runs lose none of 403 packets \
             ({byte-caching/section-4.c/successes} of the paper's {byte-caching/section-4.c/runs} did). Our packets carry 1372 bytes \
             of payload where the paper's carry {byte-caching/section-4.c/mss}, since \
             the tunnel's headers and TCP's timestamps take the rest.",
    needs,
    rows,
};

const LOSS_PERCENT: f64 = 1.0;
const FILES: [File; 2] = [File::One, File::Ebook];

fn cell(file: File) -> Cell {
    Cell::download(file, Scheme::NAIVE, LOSS_PERCENT)
}

fn seeds(setting: &Setting<'_>) -> u32 {
    setting.plan.seeds(50, 8, 4)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    FILES.map(|file| Need::Cell(cell(file), seeds(setting))).into()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let seeds = seeds(&results.setting);
    let (share, stalls, runs) = (
        papers::BYTE_CACHING.value("section-4.c/average-share"),
        papers::BYTE_CACHING.value("section-1/stalls"),
        papers::BYTE_CACHING.value("section-4.c/runs"),
    );
    let mut rows = Vec::new();
    for file in FILES {
        let cell = cell(file);
        let readings = results.readings(&cell, seeds)?;
        for (number, reading) in (1_u32..).zip(readings) {
            let row =
                Row::new(FIGURE.id, format!("{file}: arrived"), number, "%").exactly(100.0 * reading.share);
            let row = Row { driver: results.setting.driver, seeds: 1, ..row };
            rows.push(row.note(if reading.is_complete { "complete" } else { "stalled" }));
        }
        let shares: Vec<f64> = readings.iter().map(|reading| 100.0 * reading.share).collect();
        let average = Row::new(FIGURE.id, format!("{file}: average"), "all", "%");
        rows.push(results.row(average.paper(share.number()), &cell, Estimate::mean(&shares), seeds));
        let stalled = readings.iter().filter(|reading| reading.is_stalled).count() as f64;
        let stalled = (!readings.is_empty()).then_some(Estimate { value: stalled, interval: None });
        let row = Row::new(FIGURE.id, format!("{file}: stalled"), "all", "downloads");
        let as_many = f64::from(seeds) == runs.number().get();
        let row =
            row.paper(as_many.then(|| stalls.number())).goal(must_show::LEAST_STALLED * f64::from(seeds));
        let row = row.note(format!("of {seeds}"));
        rows.push(results.row(row, &cell, stalled, seeds));
    }
    Ok(rows)
}
