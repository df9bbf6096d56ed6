//! Tables 2 to 4 and Figure 9: 50 routers, the gateway in three places, every protocol.

use anyhow::Result;

use super::network::Place;
use super::protocol::Protocol;
use super::reading::{Reading, quotient_of, readings};
use super::trial::Trial;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Tables 2 to 4, and Figure 9 (a).
pub const TABLES: Figure = Figure {
    id: "tables-2-4",
    title: "Architectures and cache selection protocols",
    x: "protocol",
    remark: "Fifty routers anywhere in a square kilometre; the gateway in the middle (scenario 1), in a corner (2), and between \
             the middle and an edge (3), where the paper's Figure 7 has the first two like that. 25 routers with five clients \
             each. The content server stands at the gateway, as the paper's simulated sources do. Routes by babeld's ETX, the \
             paper's by AODV; what routing itself sends is counted apart. Remote hits are reckoned by octets. The share of \
             transfers above 1 Mbit/s is Figure 9 (a). A hit in the client's own router counts as 50 Mbit/s. With each \
             content once the gateway would send about two fifths: the 70% that the paper keeps off it in scenario 2 is more \
             than 1200 requests for 1000 contents repeat, 58%; with 2 MB in each router about 55% are in reach.",
    needs,
    rows,
};

/// Figure 9 (b) and (c).
pub const FIGURE_9: Figure = Figure {
    id: "9",
    title: "PH-BCP against Default by the exponent of popularity",
    x: "Zipf's exponent",
    remark: "The same meshes. The paper shows that both gains grow with the exponent.",
    needs: needs_9,
    rows: rows_9,
};

pub(super) const AGGREGATE: &str = "average aggregate throughput";
pub(super) const TOGETHER: &str = "throughput of all clients together";
pub(super) const GATEWAY: &str = "gateway load";
pub(super) const NETWORK: &str = "network load";
pub(super) const FAST: &str = "transfers above 1 Mbit/s";

/// The paper's tables: kbit/s, KB and packets of a protocol in a scenario. GHCP and ours are not in them.
fn paper(scenario: u8, protocol: Protocol) -> [Option<f64>; 3] {
    let [one, two, three] = match protocol {
        Protocol::Default => [[1382.8, 60_727.0, 144.4], [467.5, 60_224.0, 279.9], [1312.2, 58_128.0, 145.8]],
        Protocol::Thcp => [[1479.2, 52_579.0, 124.1], [561.9, 52_140.0, 242.6], [1509.6, 50_215.0, 126.4]],
        Protocol::PhThcp => [[1715.1, 41_530.0, 114.6], [853.3, 17_680.0, 171.8], [1612.7, 41_011.0, 117.4]],
        Protocol::Bcp => [[1656.2, 38_761.0, 110.0], [713.7, 39_684.0, 198.1], [1546.9, 39_613.0, 114.1]],
        Protocol::PhBcp => [[1705.5, 32_597.0, 107.3], [940.5, 17_680.0, 159.5], [1623.8, 33_719.0, 110.8]],
        Protocol::PhGhcp => [[1545.6, 39_275.0, 127.4], [567.4, 17_812.0, 193.6], [1478.2, 37_462.0, 131.3]],
        Protocol::Ghcp | Protocol::Auto => return [None; 3],
    };
    [one, two, three][usize::from(scenario) - 1].map(Some)
}

/// For how long clients browse: the paper's hour.
pub(super) fn seconds(plan: &Plan) -> f64 {
    plan.choose(3600.0, 60.0, 60.0)
}

pub(super) fn draws(plan: &Plan) -> u32 {
    plan.seeds(3, 1, 1)
}

fn scenarios(plan: &Plan) -> &'static [u8] {
    plan.choose(&[1, 2, 3], &[2], &[])
}

fn protocols(plan: &Plan) -> Vec<Protocol> {
    let few = [Protocol::Default, Protocol::Thcp, Protocol::PhThcp, Protocol::PhBcp];
    plan.choose([&Protocol::PAPER[..], &[Protocol::Auto]].concat(), few.to_vec(), few.to_vec())
}

pub(super) fn trial(plan: &Plan, scenario: u8, protocol: Protocol) -> Trial {
    Trial::new(Place::Scenario(scenario), protocol, seconds(plan), 1)
}

/// A trial with each draw.
pub(super) fn drawn(setting: &Setting<'_>, trial: Trial, draws: u32) -> impl Iterator<Item = Need> {
    let scenarios: Vec<Need> = (1..=u64::from(draws))
        .map(|seed| Need::Scenario(Box::new(Trial { seed, ..trial }.scenario(setting))))
        .collect();
    scenarios.into_iter()
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let mut needs = Vec::new();
    for &scenario in scenarios(plan) {
        for protocol in protocols(plan) {
            needs.extend(drawn(setting, trial(plan, scenario, protocol), draws(plan)));
        }
    }
    needs
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let (driver, draws) = (results.setting.driver, draws(plan));
    let mut rows = Vec::new();
    for &scenario in scenarios(plan) {
        let baseline = readings(results, &trial(plan, scenario, Protocol::Default), draws)?;
        for protocol in protocols(plan) {
            let readings = readings(results, &trial(plan, scenario, protocol), draws)?;
            let x = protocol.to_string();
            let mut row = |series: &str,
                           unit: &str,
                           paper: Option<f64>,
                           measure: &dyn Fn(&Reading) -> f64| {
                let mean = Estimate::mean(&readings.iter().map(measure).collect::<Vec<_>>());
                let series = format!("{series}: scenario {scenario}");
                rows.push(
                    Row::new(TABLES.id, series, x.as_str(), unit).measured(mean, driver, draws).paper(paper),
                );
            };
            let [aggregate, gateway, network] = paper(scenario, protocol);
            row(AGGREGATE, "kbit/s", aggregate, &|it| it.aggregate);
            row(TOGETHER, "kbit/s", None, &|it| it.together);
            row(GATEWAY, "KB", gateway, &|it| it.gateway_kilobytes);
            row("gateway load with each content once", "KB", None, &|it| it.once_kilobytes);
            row(NETWORK, "packets a file", network, &|it| it.packets);
            row("network load of routing", "packets a file", None, &|it| it.routing_packets);
            let fast = match (scenario, protocol) {
                (2, Protocol::Default) => Some(0.2),
                (2, Protocol::PhBcp) => Some(0.5),
                _ => None,
            };
            row(FAST, "share", fast, &|it| it.share_above(1000.0));
            row("local hits", "share", paper_local(protocol), &|it| it.local);
            row("ph-local hits", "share", None, &|it| it.ph_local);
            row("remote hits", "share", None, &|it| it.remote);
            row("files asked for", "files", None, &|it| it.asked as f64);
            row("files that did not come whole", "files", None, &|it| it.broken as f64);
            let all_baseline = paper(scenario, Protocol::Default);
            let against = |ours: Option<f64>, theirs: Option<f64>| Some(ours? / theirs?);
            let mut quotient = |series: &str, paper: Option<f64>, measure: &dyn Fn(&Reading) -> f64| {
                let estimate = quotient_of(&readings, &baseline, measure);
                let row = Row::new(TABLES.id, by_default(series, scenario), x.as_str(), "ratio");
                rows.push(row.measured(estimate, driver, draws).paper(paper));
            };
            quotient(AGGREGATE, against(aggregate, all_baseline[0]), &|it| it.aggregate);
            quotient(TOGETHER, None, &|it| it.together);
            quotient(GATEWAY, against(gateway, all_baseline[1]), &|it| it.gateway_kilobytes);
        }
    }
    Ok(rows)
}

/// The series of what a protocol has by what Default has.
pub(super) fn by_default(series: &str, scenario: u8) -> String {
    format!("{series} by Default's: scenario {scenario}")
}

/// Section 6.2: the hit rate of access routers in scenario 1.
fn paper_local(protocol: Protocol) -> Option<f64> {
    (protocol != Protocol::Default && protocol != Protocol::Auto).then_some(0.144)
}

/// A quick run has the tables' own, which is run anyway.
fn exponents(plan: &Plan) -> &'static [f64] {
    plan.choose(&[0.2, 0.4, 0.6, 0.8, 1.0], &[0.8], &[])
}

/// One draw fewer than the tables have would do; the shape is asked for.
fn draws_9(plan: &Plan) -> u32 {
    plan.seeds(1, 1, 1)
}

const COMPARED: [Protocol; 2] = [Protocol::Default, Protocol::PhBcp];

fn needs_9(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let mut needs = Vec::new();
    for &scenario in scenarios(plan) {
        for &zipf in exponents(plan) {
            for protocol in COMPARED {
                let trial = Trial { zipf, ..trial(plan, scenario, protocol) };
                needs.extend(drawn(setting, trial, draws_9(plan)));
            }
        }
    }
    needs
}

fn rows_9(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let (driver, draws) = (results.setting.driver, draws_9(plan));
    let mut rows = Vec::new();
    for &scenario in scenarios(plan) {
        for &zipf in exponents(plan) {
            let [theirs, ours] = COMPARED
                .map(|protocol| readings(results, &Trial { zipf, ..trial(plan, scenario, protocol) }, draws));
            let pairs: Vec<(Reading, Reading)> = ours?.into_iter().zip(theirs?).collect();
            let mut row = |series: &str, measure: &dyn Fn(&Reading) -> f64| {
                let pairs: Vec<(f64, f64)> =
                    pairs.iter().map(|(ours, theirs)| (measure(ours), measure(theirs))).collect();
                let row = Row::new(FIGURE_9.id, by_default(series, scenario), zipf, "ratio");
                rows.push(row.measured(Estimate::paired_ratio(&pairs), driver, draws));
            };
            row(AGGREGATE, &|it| it.aggregate);
            row(TOGETHER, &|it| it.together);
            row(GATEWAY, &|it| it.gateway_kilobytes);
        }
    }
    Ok(rows)
}
