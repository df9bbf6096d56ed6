//! Remote senders: a server behind the gateway, whose connections the gateway splits.

use air::LossConfig;
use anyhow::Result;

use super::content::File;
use super::system::System;
use super::trial::{self, Trial, links, quotient, time};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// The proxy form.
pub const FIGURE: Figure = Figure {
    id: "proxy",
    title: "A server behind the gateway: 40 ms of wire, then 100 ms with 1% lost",
    x: "content",
    remark: "The gateway ends the server's connections and opens its own to the station, which are boosted; the other systems \
             leave them whole, so that the server repairs every loss over 140 ms. Medians of the quotients of paired times.",
    needs,
    rows,
};

const SYSTEMS: [System; 3] = [System::NoRe, System::IpRe, System::ReboostSplit];
const WIRE_MILLISECONDS: u32 = 40;

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(30, 1, 3)
}

fn trial(file: File, system: System) -> Trial {
    let links = links(100, LossConfig::Bernoulli { probability: 0.01 });
    Trial { wire_milliseconds: Some(WIRE_MILLISECONDS), ..Trial::new("proxy", system, file, links) }
}

fn files(plan: &Plan) -> &'static [File] {
    plan.choose(&[File::Pages, File::Random], &[File::Pages], &[File::Pages, File::Random])
}

fn trials(plan: &Plan) -> Vec<Trial> {
    files(plan).iter().copied().flat_map(|file| SYSTEMS.map(|system| trial(file, system))).collect()
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    trial::needs(setting, &trials(&setting.plan), seeds(&setting.plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for it in trials(&results.setting.plan) {
        let x = it.file.name();
        let row = |series: String, unit| Row::new(FIGURE.id, series, x.as_str(), unit);
        rows.push(time(results, row(format!("time: {}", it.system.name()), "s"), &it)?);
        if it.system != System::NoRe {
            let plain = trial(it.file, System::NoRe);
            let row = row(format!("to no RE: {}", it.system.name()), "ratio");
            rows.push(quotient(results, row, &it, &plain)?);
        }
    }
    Ok(rows)
}
