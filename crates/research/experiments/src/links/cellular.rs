//! A bulk transfer and small packets beside it, over recorded capacity of cellular links.

use std::time::Duration;

use air::{CapacityConfig, LinkConfig};
use anyhow::Result;
use lab::{Download, Outcome, Scenario, Start, Stream};

use super::way::Way;
use crate::cell::File;
use crate::estimate::{Estimate, quantile};
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{GATEWAY, Pair, STATION};
use crate::plan::Plan;
use crate::row::Row;

/// Cellular links.
pub const FIGURE: Figure = Figure {
    id: "cellular",
    title: "Small packets beside a bulk transfer, over recorded cellular links",
    x: "recording",
    remark: "mahimahi's recordings of capacity, 20 ms each way, a queue of 1 MiB. Random bytes by TCP for 30 s, and 50 packets of \
             200 bytes a second beside them. Delay is the 95th percentile of these packets, less that of the same packets without \
             the transfer: a recording has pauses of its own. A lost packet counts as later than all others. The first 5 s are \
             not counted for delay. Values are medians over times of start.",
    needs,
    rows,
};

/// A recording: its name among the data, its name in rows, the goal for the delay in milliseconds.
const RECORDINGS: [(&str, &str, f64); 3] = [
    ("TMobile-LTE-short", "T-Mobile LTE", 100.0),
    ("ATT-LTE-driving-2016", "AT&T LTE, driving", 100.0),
    ("Verizon-EVDO-driving", "Verizon EVDO, driving", 250.0),
];
/// The goal for the throughput, by that of bare cubic.
const THROUGHPUT_GOAL: f64 = 0.7;

const QUEUE_BYTES: usize = 1 << 20;
const ONE_WAY: Duration = Duration::from_millis(20);
/// Start of the first run, when the session exists; each other starts so much later.
const START_SECONDS: f64 = 10.0;
const LATER_SECONDS: f64 = 31.0;
/// Duration of the transfer, and of its beginning that does not count for delay.
const SECONDS: f64 = 30.0;
const SETTLING_SECONDS: f64 = 5.0;
/// Files of the transfer, one after the other, so that it does not end before its time.
const FILES: usize = 4;
const PROBE_BYTES: usize = 200;
const PROBES_A_SECOND: f64 = 50.0;

/// Series of the delay beside the transfer, less that without it.
pub(super) const DELAY: &str = "delay, 95th percentile";
/// Series of the transfer's throughput.
const THROUGHPUT: &str = "throughput";
/// Series of the same by that of bare cubic.
pub(super) const BY_BARE: &str = "throughput by bare cubic's";

/// Whether the small packets are alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    Alone,
    Bulk,
}

fn recordings(plan: &Plan) -> &'static [(&'static str, &'static str, f64)] {
    plan.choose(&RECORDINGS, &RECORDINGS[..1], &RECORDINGS[..1])
}

fn starts(plan: &Plan) -> impl Iterator<Item = f64> {
    (0..plan.seeds(10, 1, 1)).map(|run| START_SECONDS + LATER_SECONDS * f64::from(run))
}

fn name(recording: &str, way: Way, load: Load, start_seconds: f64) -> String {
    let load = match load {
        Load::Alone => "alone",
        Load::Bulk => "beside bulk",
    };
    format!("cellular, {recording}, {way}, {load}, from {start_seconds} s")
}

/// Both directions, where the recordings are there.
fn links(setting: &Setting<'_>, recording: &str) -> Option<[LinkConfig; 2]> {
    let direction = |way: &str| {
        let capacity = setting.contents.capacity(&format!("mahimahi-{recording}.{way}"));
        let trace = capacity.map_err(|error| tracing::warn!("{error:#}")).ok()??;
        Some(LinkConfig {
            trace: Some(CapacityConfig::OpportunitiesMs(trace)),
            delay: ONE_WAY,
            queue_bytes: QUEUE_BYTES,
            ..LinkConfig::default()
        })
    };
    Some([direction("down")?, direction("up")?])
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let mut needs = Vec::new();
    for &(recording, ..) in recordings(&setting.plan) {
        let Some(links) = links(setting, recording) else { continue };
        for way in Way::ALL {
            for load in [Load::Alone, Load::Bulk] {
                for start in starts(&setting.plan) {
                    let scenario = scenario(setting, (recording, &links), way, load, start);
                    needs.push(Need::Scenario(Box::new(scenario)));
                }
            }
        }
    }
    needs
}

fn scenario(
    setting: &Setting<'_>,
    (recording, [down, up]): (&str, &[LinkConfig; 2]),
    way: Way,
    load: Load,
    start_seconds: f64,
) -> Scenario {
    let carrier = way.carrier();
    let content = setting.testbed.lab_content(File::Long);
    let download = |index: usize| Download {
        place: STATION.to_owned(),
        from: Pair::server(&carrier),
        content: content.name.clone(),
        port: lab::HTTP_PORT,
        start: index.checked_sub(1).map_or(Start::AtSeconds(start_seconds), Start::After),
        stall_seconds: 60,
    };
    let probes = Stream {
        from: GATEWAY.to_owned(),
        to: STATION.to_owned(),
        address: Pair::station(&carrier),
        datagrams: (SECONDS * PROBES_A_SECOND) as u64,
        payload_bytes: PROBE_BYTES,
        interval_milliseconds: 1000.0 / PROBES_A_SECOND,
        content: None,
        start_seconds,
        keeps_delays: true,
    };
    Scenario {
        name: name(recording, way, load, start_seconds),
        seeds: vec![1],
        topology: Pair::topology(down, up),
        parameters: way.parameters(),
        downloads: if load == Load::Bulk { (0..FILES).map(download).collect() } else { Vec::new() },
        contents: vec![content],
        servers: vec![GATEWAY.to_owned()],
        daemons: setting.testbed.pair().daemons_with_repairs(&carrier),
        streams: vec![probes],
        bound_seconds: start_seconds + SECONDS,
        ..Scenario::default()
    }
}

/// The 95th percentile of the small packets' delays in milliseconds; infinite if so many were lost.
fn delay_milliseconds(outcome: &Outcome) -> Option<f64> {
    let delays = &outcome.streams.first()?.delays_milliseconds;
    let counted = delays.get((SETTLING_SECONDS * PROBES_A_SECOND) as usize..)?;
    let counted: Vec<f64> = counted.iter().map(|delay| delay.unwrap_or(f64::INFINITY)).collect();
    quantile(&counted, 0.95)
}

fn throughput(outcome: &Outcome) -> f64 {
    outcome.downloads.iter().map(|download| download.bytes as f64).sum::<f64>() / SECONDS / 1000.0
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let plan = &results.setting.plan;
    for &(recording, x, delay_goal) in recordings(plan) {
        let of = |way, load| -> Result<Vec<&Outcome>> {
            let outcomes = starts(plan).map(|start| results.outcomes(&name(recording, way, load, start)));
            Ok(outcomes.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
        };
        let bare: Vec<f64> = of(Way::BARE, Load::Bulk)?.into_iter().map(throughput).collect();
        for way in Way::ALL {
            let (alone, beside) = (of(way, Load::Alone)?, of(way, Load::Bulk)?);
            let seeds = beside.len() as u32;
            let row = |what: &str, unit: &str, estimate| {
                Row::new(FIGURE.id, format!("{what}: {way}"), x, unit).measured(
                    estimate,
                    results.setting.driver,
                    seeds,
                )
            };
            let pairs = beside.iter().zip(&alone);
            let delays: Vec<f64> = pairs
                .filter_map(|(beside, alone)| Some(delay_milliseconds(beside)? - delay_milliseconds(alone)?))
                .collect();
            let throughputs: Vec<f64> = beside.iter().copied().map(throughput).collect();
            let by_bare: Vec<(f64, f64)> =
                throughputs.iter().copied().zip(bare.iter().copied()).filter(|pair| pair.1 > 0.0).collect();
            let is_default = way == Way::DEFAULT;
            let delay = row(DELAY, "ms", Estimate::median(&delays));
            rows.push(delay.goal(is_default.then_some(delay_goal)));
            rows.push(row(THROUGHPUT, "KByte/s", Estimate::median(&throughputs)));
            let by_bare = row(BY_BARE, "ratio", Estimate::paired_median(&by_bare));
            rows.push(by_bare.goal(is_default.then_some(THROUGHPUT_GOAL)));
        }
    }
    Ok(rows)
}
