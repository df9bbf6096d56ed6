//! The letter's own codec in the place of ours, over the link of the anomaly.

use anyhow::Result;

use super::content::File;
use super::headline::{seeds, trial};
use super::system::System;
use super::trial::{self, Trial, link_bytes, pairs, quotient, time};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::papers::{self, Stated};
use crate::row::Row;

/// The letter's system as printed, which its claims are judged on.
pub const FIGURE: Figure = Figure {
    id: "chunk-match",
    title: "The letter's codec: MODP, chunk-match, SHA-1",
    x: "system",
    remark: "Section II-A. 100 ms, 1% lost, the file of 10 MB. Whole chunks find less in this file than matches of any length do, \
             and each is named by 20 bytes, so that much less is saved: whether TCP turns that into time is the question. The letter's \
             share of bytes is that of its own file, a video.",
    needs,
    rows,
};

/// The series of times by those without redundancy elimination.
pub(super) const TIME: &str = "time to no RE";
/// The series of bytes on the link by the same.
pub(super) const BYTES: &str = "bytes to no RE";

/// The share of bytes that the letter's RE left of its file.
pub(super) fn left() -> Stated {
    let size = |id| papers::REBOOST.value(id).number();
    size("section-2.b/reduced-size").over(size("section-2.b/stream-size"))
}

fn all() -> [Trial; 3] {
    [System::NoRe, System::IpReChunks, System::ReboostChunks].map(|system| trial(File::Pages, system))
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    trial::needs(setting, &all(), seeds(&setting.plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let plain = trial(File::Pages, System::NoRe);
    for system in System::PRINTED {
        let carried = trial(File::Pages, system);
        let row = |series: &str, unit| Row::new(FIGURE.id, series, system.name(), unit);
        rows.push(time(results, row("time", "s"), &carried)?);
        rows.push(quotient(results, row(TIME, "ratio"), &carried, &plain)?);
        let bytes = Estimate::paired_ratio(&pairs(results, &carried, &plain, link_bytes)?);
        let seeds = seeds(&results.setting.plan);
        rows.push(row(BYTES, "ratio").paper(left()).measured(bytes, results.setting.driver, seeds));
    }
    Ok(rows)
}
