//! Table II: two flows on one link, one of them through each of the systems.

use air::{LinkConfig, LossConfig};
use anyhow::Result;
use lab::{Outcome, Scenario};

use super::content::File;
use super::system::System;
use super::trial::{START_SECONDS, Trial, download, link_bytes, links};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{Carrier, Pair};
use crate::plan::Plan;
use crate::row::Row;

/// Table II.
pub const FIGURE: Figure = Figure {
    id: "table-2",
    title: "Fairness of two flows at the link layer",
    x: "system of the first flow",
    remark: "Reno, 20 ms, 100 Mbit/s, nothing lost on the air; the queue holds what the link carries in a round trip, so that \
             the two come to their shares quickly, as the letter wants: with a thousand packets and reno that takes minutes, and \
             what is seen before is who left slow start first. One flow goes through the system, the other, a plain one, beside \
             it. Jain's index of their data rates on the link (what the second put there is what its receiver got and its \
             headers, the first is the rest), and what the plain one got, in MB/s.",
    needs,
    rows,
};

const SYSTEMS: [System; 5] =
    [System::NoRe, System::IpReChunks, System::ReboostChunks, System::IpRe, System::Reboost];
/// A plain segment and its headers: 1448 bytes in 1500.
const HEADERS: f64 = 1500.0 / 1448.0;
/// The series.
pub(super) const JAIN: &str = "Jain's index";
/// What the plain flow gets.
pub(super) const PLAIN: &str = "plain flow";
/// How long the two compete.
const SECONDS: f64 = 16.0;
/// What the link carries in a round trip.
const QUEUE_BYTES: usize = 250_000;

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 2)
}

fn trial(system: System) -> Trial {
    let links = links(20, LossConfig::None).map(|link| LinkConfig { queue_bytes: QUEUE_BYTES, ..link });
    Trial { control: "reno", ..Trial::new("table 2, short queue", system, File::LongMixed, links) }
}

fn scenario(setting: &Setting<'_>, system: System) -> Result<Scenario> {
    let mut scenario = trial(system).scenario(setting, seeds(&setting.plan))?;
    let long = File::Long.content(setting)?;
    scenario.downloads.push(download(&long, Pair::server(&Carrier::Bare)));
    scenario.contents.push(long);
    scenario.bound_seconds = START_SECONDS + SECONDS;
    Ok(scenario)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let need = |system| {
        let scenario = scenario(setting, system).map_err(|error| tracing::error!("{error:#}")).ok()?;
        Some(Need::Scenario(Box::new(scenario)))
    };
    SYSTEMS.into_iter().filter_map(need).collect()
}

/// Bytes of the two on the link.
fn shares(outcome: &Outcome) -> Option<(f64, f64)> {
    let plain = outcome.downloads.get(1)?.bytes as f64 * HEADERS;
    Some((link_bytes(outcome)? - plain, plain))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for system in SYSTEMS {
        let outcomes = results.outcomes(&trial(system).name())?;
        let shares: Vec<(f64, f64)> = outcomes.iter().filter_map(shares).collect();
        let mean = |of: fn(&(f64, f64)) -> f64| Estimate::mean(&shares.iter().map(of).collect::<Vec<_>>());
        let jain =
            mean(|(one, other)| (one + other).powi(2) / (2.0 * (one.powi(2) + other.powi(2))).max(1.0));
        let plain = mean(|(_, plain)| plain / SECONDS / 1e6);
        let row = |series, unit| Row::new(FIGURE.id, series, system.name(), unit);
        let (driver, seeds) = (results.setting.driver, seeds(&results.setting.plan));
        rows.push(row(JAIN, "ratio").measured(jain, driver, seeds));
        rows.push(row(PLAIN, "MB/s").measured(plain, driver, seeds));
    }
    Ok(rows)
}
