//! Tables 2 to 4 and Figure 9: 50 routers, the gateway in three places, every protocol.

use anyhow::Result;

use super::network::Place;
use super::protocol::{Form, Protocol, Variant};
use super::reading::{Reading, quotient_of, readings};
use super::trial::Trial;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::papers::{self, Stated};
use crate::plan::Plan;
use crate::row::Row;

/// Tables 2 to 4, and Figure 9 (a).
pub const TABLES: Figure = Figure {
    id: "tables-2-4",
    title: "Architectures and cache selection protocols",
    x: "protocol",
    remark: "Fifty routers anywhere in a square kilometre; the gateway in the middle (scenario 1), in a corner (2), and between \
             the middle and an edge (3), where the paper's Figure 7 has the first two like that. 25 routers with five clients \
             each. As printed: LRU, the gateway itself where no copy is nearer, and searches that every router passes on and that \
             last until their timeout. Ours follow, one by one: a search that ends when a neighbour has answered, S3-FIFO, the uplink's \
             worth in hops, all three; and a search only where it pays. The content server stands at the gateway, as the paper's simulated sources do. Routes by babeld's ETX, the \
             paper's by AODV; what routing itself sends is counted apart. Remote hits are reckoned by octets. The share of \
             transfers above 1 Mbit/s is Figure 9 (a). A hit in the client's own router counts as 50 Mbit/s. With each \
             content once the gateway would send about two fifths: the {meshcache/section-6.2.2/ph-bcp/gateway/s2} that the paper keeps off it in scenario 2 is more \
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
fn paper(scenario: u8, protocol: Protocol) -> [Option<Stated>; 3] {
    let scenarios = match protocol {
        Protocol::Default => [
            ["table-2/default/aat/s1", "table-2/default/gateway-load/s1", "table-2/default/network-load/s1"],
            ["table-2/default/aat/s2", "table-2/default/gateway-load/s2", "table-2/default/network-load/s2"],
            ["table-2/default/aat/s3", "table-2/default/gateway-load/s3", "table-2/default/network-load/s3"],
        ],
        Protocol::Thcp => [
            ["table-2/thcp/aat/s1", "table-2/thcp/gateway-load/s1", "table-2/thcp/network-load/s1"],
            ["table-2/thcp/aat/s2", "table-2/thcp/gateway-load/s2", "table-2/thcp/network-load/s2"],
            ["table-2/thcp/aat/s3", "table-2/thcp/gateway-load/s3", "table-2/thcp/network-load/s3"],
        ],
        Protocol::PhThcp => [
            ["table-2/ph-thcp/aat/s1", "table-2/ph-thcp/gateway-load/s1", "table-2/ph-thcp/network-load/s1"],
            ["table-2/ph-thcp/aat/s2", "table-2/ph-thcp/gateway-load/s2", "table-2/ph-thcp/network-load/s2"],
            ["table-2/ph-thcp/aat/s3", "table-2/ph-thcp/gateway-load/s3", "table-2/ph-thcp/network-load/s3"],
        ],
        Protocol::Bcp => [
            ["table-3/bcp/aat/s1", "table-3/bcp/gateway-load/s1", "table-3/bcp/network-load/s1"],
            ["table-3/bcp/aat/s2", "table-3/bcp/gateway-load/s2", "table-3/bcp/network-load/s2"],
            ["table-3/bcp/aat/s3", "table-3/bcp/gateway-load/s3", "table-3/bcp/network-load/s3"],
        ],
        Protocol::PhBcp => [
            ["table-3/ph-bcp/aat/s1", "table-3/ph-bcp/gateway-load/s1", "table-3/ph-bcp/network-load/s1"],
            ["table-3/ph-bcp/aat/s2", "table-3/ph-bcp/gateway-load/s2", "table-3/ph-bcp/network-load/s2"],
            ["table-3/ph-bcp/aat/s3", "table-3/ph-bcp/gateway-load/s3", "table-3/ph-bcp/network-load/s3"],
        ],
        Protocol::PhGhcp => [
            ["table-4/ph-ghcp/aat/s1", "table-4/ph-ghcp/gateway-load/s1", "table-4/ph-ghcp/network-load/s1"],
            ["table-4/ph-ghcp/aat/s2", "table-4/ph-ghcp/gateway-load/s2", "table-4/ph-ghcp/network-load/s2"],
            ["table-4/ph-ghcp/aat/s3", "table-4/ph-ghcp/gateway-load/s3", "table-4/ph-ghcp/network-load/s3"],
        ],
        Protocol::Ghcp | Protocol::Auto => return [None; 3],
    };
    scenarios[usize::from(scenario) - 1].map(|id| Some(papers::MESHCACHE.value(id).number()))
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

fn variants(plan: &Plan) -> Vec<Variant> {
    let few = [Protocol::Default, Protocol::Thcp, Protocol::PhThcp, Protocol::PhBcp];
    let mut quick = few.map(|protocol| Variant(protocol, Form::AsPrinted)).to_vec();
    quick.push(Variant(Protocol::PhBcp, Form::EarlyEnd));
    plan.choose(Variant::with_ours(&Protocol::PAPER), quick.clone(), quick)
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
        for variant in variants(plan) {
            let trial = trial(plan, scenario, variant.0).of(variant);
            needs.extend(drawn(setting, trial, draws(plan)));
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
        for variant in variants(plan) {
            let readings = readings(results, &trial(plan, scenario, variant.0).of(variant), draws)?;
            let x = variant.to_string();
            // The paper's values are beside the variant as printed.
            let printed = (variant.1 == Form::AsPrinted).then_some(variant.0);
            let mut row = |series: &str,
                           unit: &str,
                           paper: Option<Stated>,
                           measure: &dyn Fn(&Reading) -> f64| {
                let mean = Estimate::mean(&readings.iter().map(measure).collect::<Vec<_>>());
                let series = format!("{series}: scenario {scenario}");
                rows.push(
                    Row::new(TABLES.id, series, x.as_str(), unit).measured(mean, driver, draws).paper(paper),
                );
            };
            let [aggregate, gateway, network] =
                printed.map_or([None; 3], |protocol| paper(scenario, protocol));
            row(AGGREGATE, "kbit/s", aggregate, &|it| it.aggregate);
            row(TOGETHER, "kbit/s", None, &|it| it.together);
            row(GATEWAY, "KB", gateway, &|it| it.gateway_kilobytes);
            row("gateway load with each content once", "KB", None, &|it| it.once_kilobytes);
            row(NETWORK, "packets a file", network, &|it| it.packets);
            row("network load of routing", "packets a file", None, &|it| it.routing_packets);
            let fast = printed.and_then(|protocol| paper_fast(scenario, protocol));
            row(FAST, "share", fast, &|it| it.share_above(1000.0));
            let [local, ph_local, remote] =
                printed.map_or([None; 3], |protocol| paper_hits(scenario, protocol));
            row("local hits", "share", local, &|it| it.local);
            row("ph-local hits", "share", ph_local, &|it| it.ph_local);
            row("remote hits", "share", remote, &|it| it.remote);
            row("files asked for", "files", None, &|it| it.asked as f64);
            row("files that did not come whole", "files", None, &|it| it.broken as f64);
            let all_baseline = paper(scenario, Protocol::Default);
            let against = |ours: Option<Stated>, theirs: Option<Stated>| Some(ours?.over(theirs?));
            let mut quotient = |series: &str, paper: Option<Stated>, measure: &dyn Fn(&Reading) -> f64| {
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

/// Section 6.2: local, ph-local and remote hits, of scenario 1.
fn paper_hits(scenario: u8, protocol: Protocol) -> [Option<Stated>; 3] {
    let stated = |id| Some(papers::MESHCACHE.value(id).number().share());
    match protocol {
        _ if scenario != 1 => [None; 3],
        Protocol::Thcp => [stated("section-6.2.1/thcp/local-hit/s1"), None, None],
        // "in addition to exploiting local hits at access MR as in THCP"
        Protocol::PhThcp => [
            stated("section-6.2.1/thcp/local-hit/s1"),
            stated("section-6.2.1/ph-thcp/ph-local-hit/s1"),
            stated("section-6.2.1/ph-thcp/remote-hit/s1"),
        ],
        Protocol::Bcp => {
            [stated("section-6.2.2/bcp/local-hit/s1"), None, stated("section-6.2.2/bcp/remote-hit/s1")]
        }
        // it "further improves" what BCP has
        Protocol::PhBcp => [
            stated("section-6.2.2/bcp/local-hit/s1"),
            stated("section-6.2.2/ph-bcp/ph-local-hit/s1"),
            stated("section-6.2.2/ph-bcp/remote-hit/s1"),
        ],
        Protocol::Default | Protocol::Ghcp | Protocol::PhGhcp | Protocol::Auto => [None; 3],
    }
}

/// Section 6.4: the share of transfers above 1 Mbit/s, of scenario 2.
pub(super) fn paper_fast(scenario: u8, protocol: Protocol) -> Option<Stated> {
    let stated = |id| Some(papers::MESHCACHE.value(id).number().share());
    match (scenario, protocol) {
        (2, Protocol::Default) => stated("section-6.4/a1-above-1mbps/s2"),
        (2, Protocol::PhBcp) => stated("section-6.4/a3-above-1mbps/s2"),
        _ => None,
    }
}

/// The gateway's relief by PH-BCP, from the text.
pub(super) fn paper_relief(scenario: u8) -> Stated {
    let scenarios = [
        "section-6.2.2/ph-bcp/gateway/s1",
        "section-6.2.2/ph-bcp/gateway/s2",
        "section-6.2.2/ph-bcp/gateway/s3",
    ];
    papers::MESHCACHE.value(scenarios[usize::from(scenario) - 1]).number().share()
}

/// PH-BCP's throughput relative to Default: from the text, and in scenario 3 from Table 3.
pub(super) fn paper_gain(scenario: u8) -> Stated {
    let stated = |id| papers::MESHCACHE.value(id).number();
    match scenario {
        1 => stated("section-6.2.2/ph-bcp/aat/s1").grown(),
        2 => stated("section-6.2.2/ph-bcp/aat/s2").grown(),
        _ => stated("table-3/ph-bcp/aat/s3").over(stated("table-3/default/aat/s3")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_has_tables_of_six_protocols_and_says_more_of_some() {
        for scenario in [1, 2, 3] {
            for protocol in Protocol::PAPER {
                let is_in_tables = paper(scenario, protocol).iter().all(Option::is_some);
                assert_eq!(is_in_tables, protocol != Protocol::Ghcp, "{protocol}");
            }
            let by_table = paper(scenario, Protocol::PhBcp)[0].zip(paper(scenario, Protocol::Default)[0]);
            let gain = by_table.map(|(ours, theirs)| ours.over(theirs).get());
            assert!(
                (gain.unwrap() - paper_gain(scenario).get()).abs() < 0.01,
                "scenario {scenario}: {gain:?}"
            );
            assert!(paper_relief(scenario).get() < 1.0);
        }
        let hits = |protocol| paper_hits(1, protocol).map(|it| it.map(Stated::get));
        assert_eq!(hits(Protocol::PhThcp), [Some(0.144), Some(0.04), Some(0.136)]);
        assert_eq!(hits(Protocol::Bcp), [Some(0.144), None, Some(0.23)]);
        assert_eq!(paper_fast(2, Protocol::PhBcp).map(Stated::get), Some(0.5));
    }
}
