//! Section 8.2: whether routes stay as they are for as long as a transfer takes.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use lab::{Action, Daemon, Event, Page, Ready, Scenario};

use super::network::{Network, Place};
use super::protocol::Protocol;
use super::trial::{MESH, Trial};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::papers;
use crate::plan::Plan;
use crate::row::Row;

/// How steady routes are.
pub const FIGURE: Figure = Figure {
    id: "stability",
    title: "Routes that stay the same for 30 s",
    x: "router",
    remark: "The share of intervals of 30 s in which the kernel's route to the gateway did not change at the router or at \
             any on its way, in the testbed under Rayleigh's fading with clients that browse. The paper's routes are by \
             AODV with ETX and were watched for twelve hours, once a second; ours are babeld's, whose every change is seen.",
    needs,
    rows,
};

/// The routers that the paper watches, with the ids of its values.
const PAPER: [(usize, &str); 2] = [(5, "section-8.2/route-same-5"), (1, "section-8.2/route-same-1")];
const INTERVAL_SECONDS: f64 = 30.0;
/// After babeld has counted enough hellos.
const SETTLED_SECONDS: f64 = 90.0;

fn trial(plan: &Plan) -> Trial {
    Trial::new(Place::Testbed, Protocol::PhThcp, plan.choose(3600.0, 120.0, 120.0), 1)
}

fn name(plan: &Plan) -> String {
    format!("{}, routes watched", trial(plan).name())
}

/// A trial in which each router records the kernel's announcements of routes and returns them at the end.
fn scenario(setting: &Setting<'_>) -> Scenario {
    let plan = &setting.plan;
    let mut scenario = trial(plan).scenario(setting);
    scenario.name = name(plan);
    let routers: Vec<String> = scenario.topology.channels[0].stations.clone();
    for router in &routers {
        let command =
            format!("exec env TZ=UTC ip -ts -o monitor route dev {MESH} > {{folder}}/routes-{router}");
        scenario.daemons.push(Daemon {
            name: format!("watch-{router}"),
            place: router.clone(),
            command: ["sh", "-c", &command].map(str::to_owned).to_vec(),
            config: String::new(),
            ready: Ready::AtOnce,
            status: Vec::new(),
            later: false,
            within_seconds: None,
        });
    }
    let tell = "date +%s.%N; for file in {folder}/routes-*; do sed \"s/^/${file##*routes-} /\" $file; done";
    scenario.events.push(Event {
        at_seconds: scenario.bound_seconds - 1.0,
        action: Action::Run {
            place: routers[0].clone(),
            command: ["sh", "-c", tell].map(str::to_owned).to_vec(),
        },
    });
    // A client must be reading until then.
    if let (Some(client), Some(content)) = (scenario.clients.first().cloned(), scenario.contents.first()) {
        let page = Page { think_seconds: scenario.bound_seconds, contents: vec![content.name.clone()] };
        scenario.clients.push(lab::Client { pages: vec![page], ..client });
    }
    scenario
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    vec![Need::Scenario(Box::new(scenario(setting)))]
}

/// When a router's route to the gateway changed, and who was the next router from then on; in seconds before
/// the end.
#[derive(Debug, Clone, PartialEq)]
struct Change {
    router: String,
    at: f64,
    next: Option<String>,
}

/// Parses the output: the time, then a line for each announcement.
fn changes(told: &str, gateway: &str) -> Option<Vec<Change>> {
    let mut lines = told.lines();
    let end: f64 = lines.next()?.trim().parse().ok()?;
    let change = |line: &str| {
        let (router, rest) = line.split_once(' ')?;
        let (stamp, rest) = rest.strip_prefix('[')?.split_once(']')?;
        // 2027-01-15T08:00:12.345678: what counts is the time of the day, and runs are shorter than one.
        let (_, clock) = stamp.split_once('T')?;
        let mut parts = clock.split(':').map(|part| part.parse::<f64>());
        let (hours, minutes, seconds) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
        let day = 86_400.0;
        let at = (hours * 60.0 + minutes) * 60.0 + seconds;
        let at = (at - end % day + day) % day - day;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (deleted, words) = match words.as_slice() {
            ["Deleted", words @ ..] => (true, words),
            words => (false, words),
        };
        let next = words.iter().position(|word| *word == "via").and_then(|via| words.get(via + 1));
        (words.first() == Some(&gateway)).then(|| Change {
            router: router.to_owned(),
            at,
            next: next.filter(|_| !deleted).map(|next| (*next).to_owned()),
        })
    };
    Some(lines.filter_map(change).collect())
}

/// The share of intervals before the end without a change for `router`: of its own next router or of any on
/// the path. `address` gives a router's name by its address.
fn steady(
    changes: &[Change],
    router: &str,
    seconds: f64,
    name_of: impl Fn(&str) -> Option<String>,
) -> (u64, u64) {
    let next_at = |router: &str, time: f64| {
        let before = changes.iter().filter(|change| change.router == router && change.at <= time);
        before.max_by(|a, b| a.at.total_cmp(&b.at)).and_then(|change| change.next.clone())
    };
    let way = |time: f64| {
        let (mut way, mut at) = (Vec::new(), router.to_owned());
        while let Some(next) = next_at(&at, time).filter(|_| way.len() < 32) {
            way.push(next.clone());
            let Some(name) = name_of(&next) else { break };
            at = name;
        }
        way
    };
    let count = (seconds / INTERVAL_SECONDS) as u64;
    let same = (0..count).filter(|interval| {
        let (from, to) =
            (-(*interval as f64 + 1.0) * INTERVAL_SECONDS, -(*interval as f64) * INTERVAL_SECONDS);
        let within = changes.iter().map(|change| change.at).filter(|at| (from..to).contains(at));
        let ways: BTreeSet<Vec<String>> = within.chain([from, to]).map(way).collect();
        ways.len() == 1
    });
    (same.count() as u64, count)
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let Some(outcome) = results.outcomes(&name(plan))?.first() else { return Ok(Vec::new()) };
    let scenario = scenario(&results.setting);
    let address = |router: usize| scenario.topology.address_on(MESH, &Network::name(router));
    let network = Network::draw(Place::Testbed, 1);
    let gateway = address(network.gateway).context("the gateway has no address")?.to_string();
    let told = outcome.said.first().context("nothing was told of routes")?;
    let changes = changes(told, &gateway).context("what was told of routes is not understood")?;
    let routers = 0..network.medium.stations.len();
    let name_of = |wanted: &str| {
        let router =
            routers.clone().find(|router| address(*router).is_some_and(|it| it.to_string() == wanted))?;
        Some(Network::name(router))
    };
    let seconds = trial(plan).seconds - SETTLED_SECONDS;
    let row = |(router, paper): (usize, &'static str)| {
        let (same, all) = steady(&changes, &Network::name(router - 1), seconds, name_of);
        let row =
            Row::new(FIGURE.id, "intervals without a change", format!("router {router}").as_str(), "share");
        row.measured(Estimate::share(same, all), results.setting.driver, 1)
            .paper(papers::MESHCACHE.value(paper).number().share())
    };
    Ok(PAPER.map(row).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "1800003600.5\n\
        r5 [2027-01-15T08:58:00.500000] 10.78.0.7 via 10.78.0.10 proto babel onlink\n\
        r10 [2027-01-15T08:58:00.500000] 10.78.0.7 via 10.78.0.7 proto babel onlink\n\
        r5 [2027-01-15T08:59:10.500000] Deleted 10.78.0.9 via 10.78.0.10 proto babel onlink\n\
        r10 [2027-01-15T08:59:15.500000] 10.78.0.7 via 10.78.0.15 proto babel onlink\n";

    #[test]
    fn a_change_anywhere_on_the_way_counts_and_one_of_another_route_does_not() {
        let changes = changes(TOLD, "10.78.0.7").unwrap();
        assert_eq!(changes.len(), 3);
        assert!((changes[0].at + 120.0).abs() < 1e-3, "{changes:?}");
        let name_of = |address: &str| Some(format!("r{}", address.rsplit('.').next()?));
        // 08:59:15.5 is 45 s before 09:00:00.5.
        assert_eq!(steady(&changes, "r5", 90.0, name_of), (2, 3));
        assert_eq!(steady(&changes, "r15", 90.0, name_of), (3, 3), "of which nothing is known");
    }
}
