//! Figures 12 to 14: the testbed of 15 routers.

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

/// Figures 12 and 13.
pub const FIGURE_12: Figure = Figure {
    id: "12",
    title: "Testbed: transfers by router",
    x: "router",
    remark: "The share of a router's transfers above 1 Mbit/s. 2, 3, 4, 9, 10 and 15 are one hop from the gateway (the \
             paper's Figure 12), 1, 5, 8 and 12 more (Figure 13).",
    needs,
    rows: by_router,
};

/// Figure 14.
pub const FIGURE_14: Figure = Figure {
    id: "14",
    title: "Testbed: all transfers, and the load of routers",
    x: "protocol",
    remark: "Fifteen routers whose neighbours are those that the paper tells, under Rayleigh's fading, babeld and caches in \
             each; ten of them with clients, each of which asks for about 20 files an hour. Origins are 80 ms and 10 Mbit/s \
             away. How the paper's own radios and walls were is not known: were they to send at 11 Mbit/s, .80 of Default's \
             transfers would come with more than 1 Mbit/s (.39 with origins 200 ms away), .82 (.50) of PH-BCP's. Where .38 of \
             what is asked for comes from routers, from {meshcache/section-8.2/above-1mbps/default} to almost \
             {meshcache/section-8.2/above-1mbps/ph-bcp} is out of reach: were each of those fast and none \
             of them before, it would be .50. Throughput of all clients together is their bytes by the time that they waited, as \
             measured; the paper's gain is judged by it. Mean throughput of a file and a client's bytes by its time count a hit in \
             the client's own router as 50 Mbit/s, so that the former follows from the number of those hits. As printed: LRU, \
             the gateway itself where no copy is nearer, and whole searches. Ours follow, one by one.",
    needs,
    rows: overall,
};

/// The paper's protocols.
const PROTOCOLS: [Protocol; 4] = [Protocol::Default, Protocol::Thcp, Protocol::PhThcp, Protocol::PhBcp];
/// Figure 14: the share of transfers above 1 Mbit/s.
pub(super) const FAST: &str = "transfers above 1 Mbit/s";
pub(super) const AGGREGATE: &str = "average aggregate throughput";
pub(super) const TOGETHER: &str = "throughput of all clients together";
pub(super) const MEAN: &str = "mean throughput of a file";
pub(super) const GATEWAY: &str = "gateway load";

/// For how long clients browse: the paper's take an hour.
fn seconds(plan: &Plan) -> f64 {
    plan.choose(3600.0, 120.0, 120.0)
}

/// Number of draws of the clients' requests; the paper's network had a week of days.
fn draws(plan: &Plan) -> u32 {
    plan.seeds(5, 1, 1)
}

pub(super) fn trial(plan: &Plan, protocol: Protocol) -> Trial {
    Trial::new(Place::Testbed, protocol, seconds(plan), 1)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let trials = Variant::with_ours(&PROTOCOLS).into_iter().flat_map(|variant| {
        (1..=u64::from(draws(plan))).map(move |seed| Trial { seed, ..trial(plan, variant.0).of(variant) })
    });
    trials.map(|trial| Need::Scenario(Box::new(trial.scenario(setting)))).collect()
}

fn of(results: &Results<'_>, variant: Variant) -> Result<Vec<Reading>> {
    readings(results, &trial(&results.setting.plan, variant.0).of(variant), draws(&results.setting.plan))
}

fn by_router(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for variant in Variant::with_ours(&PROTOCOLS) {
        let readings = of(results, variant)?;
        for router in [2, 3, 4, 9, 10, 15, 1, 5, 8, 12] {
            let all = readings.iter().flat_map(|reading| &reading.throughputs);
            let all: Vec<f64> =
                all.filter(|(it, _)| it + 1 == router).map(|(_, throughput)| *throughput).collect();
            let fast = all.iter().filter(|throughput| **throughput > 1000.0).count();
            let share = Estimate::share(fast as u64, all.len() as u64);
            let place =
                if [1, 5, 8, 12].contains(&router) { "farther away" } else { "one hop from the gateway" };
            let series = format!("{FAST}, {place}: {variant}");
            let row = Row::new(FIGURE_12.id, series, format!("router {router}").as_str(), "share");
            rows.push(row.measured(share, results.setting.driver, draws(&results.setting.plan)));
        }
    }
    Ok(rows)
}

fn overall(results: &Results<'_>) -> Result<Vec<Row>> {
    let (driver, draws) = (results.setting.driver, draws(&results.setting.plan));
    let baseline = of(results, Variant(Protocol::Default, Form::AsPrinted))?;
    let mut rows = Vec::new();
    for variant in Variant::with_ours(&PROTOCOLS) {
        let readings = of(results, variant)?;
        let x = variant.to_string();
        let printed = (variant.1 == Form::AsPrinted).then_some(variant.0);
        let mut row = |series: &str, unit: &str, paper: Option<Stated>, measure: &dyn Fn(&Reading) -> f64| {
            let mean = Estimate::mean(&readings.iter().map(measure).collect::<Vec<_>>());
            let row = Row::new(FIGURE_14.id, series, x.as_str(), unit);
            rows.push(row.measured(mean, driver, draws).paper(paper));
        };
        row(FAST, "share", printed.and_then(paper_fast), &|it| it.share_above(1000.0));
        row(AGGREGATE, "kbit/s", None, &|it| it.aggregate);
        row(TOGETHER, "kbit/s", None, &|it| it.together);
        row(MEAN, "kbit/s", None, &|it| it.mean_throughput());
        row(GATEWAY, "KB", None, &|it| it.gateway_kilobytes);
        row("gateway load with each content once", "KB", None, &|it| it.once_kilobytes);
        row("load of a router with a cache", "KB", None, &|it| it.router_kilobytes);
        row("network load", "packets a file", None, &|it| it.packets);
        row("network load of routing", "packets a file", None, &|it| it.routing_packets);
        row("local hits", "share", None, &|it| it.local);
        row("ph-local hits", "share", None, &|it| it.ph_local);
        row("remote hits", "share", None, &|it| it.remote);
        row("files asked for", "files", None, &|it| it.asked as f64);
        row("files that did not come whole", "files", None, &|it| it.broken as f64);
        let mut quotient = |series: &str, paper: Option<Stated>, measure: &dyn Fn(&Reading) -> f64| {
            let estimate = quotient_of(&readings, &baseline, measure);
            let row = Row::new(FIGURE_14.id, format!("{series} by Default's"), x.as_str(), "ratio");
            rows.push(row.measured(estimate, driver, draws).paper(paper));
        };
        let is_best = printed == Some(Protocol::PhBcp);
        quotient(GATEWAY, is_best.then(|| paper_relief().left()), &|it| it.gateway_kilobytes);
        quotient(TOGETHER, is_best.then(|| paper_gain().grown()), &|it| it.together);
        quotient(AGGREGATE, None, &|it| it.aggregate);
        quotient(MEAN, None, &|it| it.mean_throughput());
    }
    Ok(rows)
}

/// Section 8.2: the share of transfers above 1 Mbit/s.
pub(super) fn paper_fast(protocol: Protocol) -> Option<Stated> {
    let id = match protocol {
        Protocol::Default => "section-8.2/above-1mbps/default",
        Protocol::Thcp => "section-8.2/above-1mbps/thcp",
        Protocol::PhThcp => "section-8.2/above-1mbps/ph-thcp",
        Protocol::PhBcp => "section-8.2/above-1mbps/ph-bcp",
        _ => return None,
    };
    Some(papers::MESHCACHE.value(id).number().share())
}

/// PH-BCP's relief of the gateway, in percent.
pub(super) fn paper_relief() -> Stated {
    papers::MESHCACHE.value("section-1/testbed-gateway").number()
}

/// PH-BCP's gain in mean throughput, in percent.
pub(super) fn paper_gain() -> Stated {
    papers::MESHCACHE.value("abstract/client-throughput").number()
}
