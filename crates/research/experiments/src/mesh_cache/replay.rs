//! Recorded requests in place of drawn ones, over the same meshes.

use anyhow::Result;

use super::log::{LOGS, Log};
use super::network::Place;
use super::protocol::Protocol;
use super::reading::{Reading, quotient_of, readings};
use super::tables::{by_default, drawn, seconds};
use super::trial::Trial;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// The requests are those of the log.
pub const FIGURE: Figure = Figure {
    id: "logs",
    title: "Requests of real clients",
    x: "protocol",
    remark: "Scenario 2 of Tables 2 to 4, where what is asked for, its order and its sizes (at most 1 MB) are those of a log, \
             whose clients are dealt out to ours; the pace is as before. A site's visitors want much the same.",
    needs,
    rows,
};

const PROTOCOLS: [Protocol; 3] = [Protocol::Default, Protocol::PhThcp, Protocol::PhBcp];
const SCENARIO: u8 = 2;

fn trial(plan: &Plan, log: (&'static str, &'static str), protocol: Protocol) -> Trial {
    Trial { log: Some(log), ..Trial::new(Place::Scenario(SCENARIO), protocol, seconds(plan), 1) }
}

fn draws(plan: &Plan) -> u32 {
    plan.seeds(1, 1, 1)
}

/// The logs that are present; none for a quick run.
fn logs(setting: &Setting<'_>) -> Vec<(&'static str, &'static str)> {
    let there = LOGS.into_iter().filter(|(file, _)| matches!(Log::take(setting.contents, file), Ok(Some(_))));
    there.take(setting.plan.choose(LOGS.len(), 0, 0)).collect()
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let mut needs = Vec::new();
    for log in logs(setting) {
        for protocol in PROTOCOLS {
            needs.extend(drawn(setting, trial(plan, log, protocol), draws(plan)));
        }
    }
    needs
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let (driver, draws) = (results.setting.driver, draws(plan));
    let mut rows = Vec::new();
    for log in logs(&results.setting) {
        let baseline = readings(results, &trial(plan, log, Protocol::Default), draws)?;
        for protocol in PROTOCOLS {
            let readings = readings(results, &trial(plan, log, protocol), draws)?;
            let x = protocol.to_string();
            let mut row = |series: &str, unit: &str, measure: &dyn Fn(&Reading) -> f64| {
                let mean = Estimate::mean(&readings.iter().map(measure).collect::<Vec<_>>());
                let row = Row::new(FIGURE.id, format!("{series}: {}", log.1), x.as_str(), unit);
                rows.push(row.measured(mean, driver, draws));
            };
            row("average aggregate throughput", "kbit/s", &|it| it.aggregate);
            row("gateway load", "KB", &|it| it.gateway_kilobytes);
            row("network load", "packets a file", &|it| it.packets);
            row("files that did not come whole", "files", &|it| it.broken as f64);
            let mut quotient = |series: &str, measure: &dyn Fn(&Reading) -> f64| {
                let estimate = quotient_of(&readings, &baseline, measure);
                let series = format!("{}, {}", by_default(series, SCENARIO), log.1);
                let row = Row::new(FIGURE.id, series, x.as_str(), "ratio");
                rows.push(row.measured(estimate, driver, draws));
            };
            quotient("average aggregate throughput", &|it| it.aggregate);
            quotient("gateway load", &|it| it.gateway_kilobytes);
        }
    }
    Ok(rows)
}
