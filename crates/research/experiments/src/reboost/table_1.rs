//! Table I: transmission times over LTE.

use std::time::Duration;

use air::{CapacityConfig, LinkConfig, LossConfig};
use anyhow::Result;

use super::content::File;
use super::system::System;
use super::trial::{self, Trial, quotient, time};
use crate::figure::{Figure, Need, Results, Setting};
use crate::papers;
use crate::plan::Plan;
use crate::row::Row;

/// Table I.
pub const FIGURE: Figure = Figure {
    id: "table-1",
    title: "Transmission time over LTE",
    x: "network",
    remark: "The letter's network is a commercial one in 2016; here it is recordings of capacity, which hide what LTE itself \
             lost and sent again. With loss: 1% lost and 100 ms of round trip added. The letter's figures stand beside the \
             first recording; they are of another network, and means of {reboost/section-4.e/trials} trials.",
    needs,
    rows,
};

/// Each with the id of the letter's mean time.
const SYSTEMS: [(System, &str); 5] = [
    (System::NoRe, "table-1/without-re/mean"),
    (System::IpReChunks, "table-1/ip-re/mean"),
    (System::ReboostChunks, "section-4.e/mean"),
    (System::IpRe, "table-1/ip-re/mean"),
    (System::Reboost, "section-4.e/mean"),
];
/// Recordings, downwards and upwards, with what rows call them.
const NETWORKS: [(&str, &str); 3] = [
    ("TMobile-LTE-short", "T-Mobile LTE"),
    ("ATT-LTE-driving-2016", "AT&T LTE, driving"),
    ("Verizon-EVDO-driving", "Verizon EVDO, driving"),
];

/// The series of REboost's time by that of IP RE, in the letter's codec.
pub(super) const PRINTED: &str = "to IP RE: REboost, chunk-match";
/// The same in ours.
pub(super) const OURS: &str = "to IP RE: REboost";

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(50, 1, 2)
}

fn networks(plan: &Plan) -> &'static [(&'static str, &'static str)] {
    plan.choose(&NETWORKS, &NETWORKS[..1], &NETWORKS[..1])
}

/// What a network is called with or without loss.
pub(super) fn place(name: &str, with_loss: bool) -> String {
    format!("{name}{}", if with_loss { ", 1% lost, 100 ms more" } else { "" })
}

/// What rows call the networks.
pub(super) fn names() -> [&'static str; 3] {
    NETWORKS.map(|(_, name)| name)
}

/// Both directions of a network, where its recordings are there.
fn links(setting: &Setting<'_>, recording: &str, with_loss: bool) -> Option<[LinkConfig; 2]> {
    let direction = |way: &str| {
        let capacity = setting.contents.capacity(&format!("mahimahi-{recording}.{way}"));
        let trace = capacity.map_err(|error| tracing::warn!("{error:#}")).ok()??;
        Some(LinkConfig {
            trace: Some(CapacityConfig::OpportunitiesMs(trace)),
            delay: Duration::from_millis(if with_loss { 70 } else { 20 }),
            queue_bytes: 500_000,
            ..LinkConfig::default()
        })
    };
    let loss = if with_loss { LossConfig::Bernoulli { probability: 0.01 } } else { LossConfig::None };
    Some([LinkConfig { loss, ..direction("down")? }, direction("up")?])
}

fn trial(links: [LinkConfig; 2], name: &str, with_loss: bool, system: System) -> Trial {
    Trial::new(place(name, with_loss), system, File::Pages, links)
}

/// The trials of each network, by system.
fn all(setting: &Setting<'_>) -> Vec<(String, [Trial; 5])> {
    let mut all = Vec::new();
    for (recording, name) in networks(&setting.plan) {
        for with_loss in [false, true] {
            let Some(links) = links(setting, recording, with_loss) else { continue };
            let of = |(system, _)| trial(links.clone(), name, with_loss, system);
            all.push((place(name, with_loss), SYSTEMS.map(of)));
        }
    }
    all
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let trials: Vec<Trial> = all(setting).into_iter().flat_map(|(_, trials)| trials).collect();
    trial::needs(setting, &trials, seeds(&setting.plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (index, (x, trials)) in all(&results.setting).into_iter().enumerate() {
        let is_first = index == 0;
        for (trial, (system, paper)) in trials.iter().zip(SYSTEMS) {
            let row = Row::new(FIGURE.id, format!("time: {}", system.name()), x.as_str(), "s");
            rows.push(time(
                results,
                row.paper(is_first.then(|| papers::REBOOST.value(paper).number())),
                trial,
            )?);
        }
        let [_, printed @ .., ip_re, boosted] = &trials;
        let paper = papers::REBOOST.value("section-4.e/gain").number().left();
        for (series, [ip_re, boosted]) in [(PRINTED, printed), (OURS, &[ip_re.clone(), boosted.clone()])] {
            let row = Row::new(FIGURE.id, series, x.as_str(), "ratio").paper(is_first.then_some(paper));
            rows.push(quotient(results, row, boosted, ip_re)?);
        }
    }
    Ok(rows)
}
