//! The letter's anomaly and its cure: a long link that loses one packet in a hundred.

use air::LossConfig;
use anyhow::Result;

use super::content::File;
use super::system::System;
use super::trial::{self, Trial, link_bytes, links, pairs, quotient, time};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// The headline.
pub const FIGURE: Figure = Figure {
    id: "anomaly",
    title: "The anomaly and its cure: 100 ms, 1% lost",
    x: "content",
    remark: "Sections I and II-B: redundancy elimination under TCP that does not know of it saves bytes and no time. The \
             reference is what the link allows: the tunnel without redundancy elimination, with as many random bytes as \
             were left of the file. Medians of the quotients of paired times; quotients of bytes are of what crossed the \
             link. Hop ARQ is off but for the series that are called after the default tunnel.",
    needs,
    rows,
};

/// The remaining share of each content, which is the size of its reference: bytes on the link with REboost,
/// relative to those without RE, as measured. The rows show the accuracy.
pub(super) fn left(file: File) -> f64 {
    match file {
        File::Pages => 0.415,
        File::Ratio(percent) => f64::from(percent) / 100.0,
        File::Varying => 0.615,
        File::LongMixed => 0.45,
        File::Random | File::Long => 1.0,
    }
}

pub(super) fn seeds(plan: &Plan) -> u32 {
    plan.seeds(30, 1, 4)
}

fn files(plan: &Plan) -> &'static [File] {
    plan.choose(&File::RATIOS, &File::RATIOS[..1], &File::RATIOS[..1])
}

pub(super) fn trial(file: File, system: System) -> Trial {
    let links = links(100, LossConfig::Bernoulli { probability: 0.01 });
    Trial::new("anomaly", system, file, links)
}

fn reference(file: File) -> Trial {
    Trial { left: Some(left(file)), ..trial(file, System::NoRe) }
}

/// Those that run with a file.
fn systems(file: File) -> &'static [System] {
    match file {
        File::Pages => {
            &[System::NoRe, System::IpRe, System::Reboost, System::Adaptive, System::AdaptiveBoosted]
        }
        _ => &[System::NoRe, System::Reboost],
    }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let of = |&file: &File| {
        let carried = systems(file).iter().map(move |&system| trial(file, system));
        carried.chain([reference(file)]).collect::<Vec<_>>()
    };
    let trials: Vec<Trial> = files(&setting.plan).iter().flat_map(of).collect();
    trial::needs(setting, &trials, seeds(&setting.plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &file in files(&results.setting.plan) {
        let x = file.name();
        let row = |series: String, unit| Row::new(FIGURE.id, series, x.as_str(), unit);
        let plain = trial(file, System::NoRe);
        for &system in systems(file) {
            let name = system.name();
            let other = trial(file, system);
            rows.push(time(results, row(format!("time: {name}"), "s"), &other)?);
            if system == System::NoRe {
                continue;
            }
            rows.push(quotient(results, row(format!("to no RE: {name}"), "ratio"), &other, &plain)?);
            let bytes = Estimate::paired_ratio(&pairs(results, &other, &plain, link_bytes)?);
            let row = row(format!("bytes to no RE: {name}"), "ratio");
            rows.push(row.measured(bytes, results.setting.driver, seeds(&results.setting.plan)));
        }
        let (boosted, reference) = (trial(file, System::Reboost), reference(file));
        rows.push(time(results, row("time: reference".to_owned(), "s"), &reference)?);
        let series = "to the reference: REboost".to_owned();
        rows.push(quotient(results, row(series, "ratio"), &boosted, &reference)?);
        if file == File::Pages {
            let (one, other) = (trial(file, System::AdaptiveBoosted), trial(file, System::Adaptive));
            let series = "to the default: default, boosted".to_owned();
            rows.push(quotient(results, row(series, "ratio"), &one, &other)?);
        }
    }
    Ok(rows)
}
