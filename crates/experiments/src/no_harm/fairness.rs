//! Two flows that compete for a link, one of them through the tunnel.

use std::collections::BTreeMap;

use anyhow::Result;
use lab::{Download, Outcome, Scenario, Start};

use crate::cell::{File, Impairment, Path};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{Carrier, GATEWAY, Pair, STATION};
use crate::plan::Plan;
use crate::row::Row;

/// Fairness.
pub const FIGURE: Figure = Figure {
    id: "fairness",
    title: "Two flows on one link, one of them through the tunnel",
    x: "congestion control",
    remark: "Two downloads of random bytes compete for half a minute; Jain's index of what they got, and the share of the one \
             in the tunnel. The bare pair are two flows without tunnel. The link's queue holds 64 KB, twenty milliseconds \
             of it are the path's own. Nothing is lost on the air: seeds differ by what the runs before left, a few \
             microseconds here and there.",
    needs,
    rows,
};

/// The congestion controls.
pub(super) const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];
/// How long the flows compete, and when they start.
const SECONDS: f64 = 30.0;
const START_SECONDS: f64 = 5.0;

/// The two sides of the comparison, as series call them.
pub(super) const TUNNEL: &str = "one through the tunnel";
/// The other.
pub(super) const BARE: &str = "both bare";

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(6, 2, 2)
}

fn controls(plan: &Plan) -> &'static [&'static str] {
    plan.choose(&CONTROLS, &["cubic"], &["cubic"])
}

fn name(side: &str, control: &str) -> String {
    format!("fairness, {side}, {control}")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let sides = [(TUNNEL, Carrier::tunnel("adaptive")), (BARE, Carrier::Bare)];
    let of = |control: &&str| {
        sides
            .clone()
            .map(|(side, carrier)| Need::Scenario(Box::new(scenario(setting, side, &carrier, control))))
    };
    controls(&setting.plan).iter().flat_map(of).collect()
}

fn scenario(setting: &Setting<'_>, side: &str, carrier: &Carrier, control: &str) -> Scenario {
    let [forward, backward] = Impairment::NONE.links(Path::PAPER);
    let download = |from| Download {
        place: STATION.to_owned(),
        from,
        content: File::Long.slug().to_owned(),
        port: lab::HTTP_PORT,
        start: Start::AtSeconds(START_SECONDS),
        stall_seconds: 60,
    };
    Scenario {
        name: name(side, control),
        seeds: (1..=u64::from(seeds(&setting.plan))).collect(),
        topology: Pair::topology(&forward, &backward),
        parameters: BTreeMap::from([("net.ipv4.tcp_congestion_control".to_owned(), control.to_owned())]),
        contents: vec![setting.testbed.lab_content(File::Long)],
        servers: vec![GATEWAY.to_owned()],
        daemons: setting.testbed.pair().daemons(carrier),
        downloads: vec![download(Pair::server(carrier)), download(Pair::server(&Carrier::Bare))],
        clients: Vec::new(),
        fresh_seconds: None,
        streams: Vec::new(),
        events: Vec::new(),
        bound_seconds: START_SECONDS + SECONDS,
    }
}

/// What the two flows got: Jain's index, and the share of the first.
fn shares(outcome: &Outcome) -> Option<(f64, f64)> {
    let [first, second] = outcome.downloads.as_slice() else { return None };
    let (one, other) = (first.bytes as f64, second.bytes as f64);
    let (sum, squares) = (one + other, one * one + other * other);
    (squares > 0.0).then(|| (sum * sum / (2.0 * squares), one / sum))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let mut rows = Vec::new();
    for &control in controls(plan) {
        for side in [TUNNEL, BARE] {
            let shares: Vec<(f64, f64)> =
                results.outcomes(&name(side, control))?.iter().filter_map(shares).collect();
            let of = |quantity: fn(&(f64, f64)) -> f64| {
                Estimate::mean(&shares.iter().map(quantity).collect::<Vec<_>>())
            };
            for (series, estimate) in [("Jain's index", of(|it| it.0)), ("share of the first", of(|it| it.1))]
            {
                let row = Row::new(FIGURE.id, format!("{series}: {side}"), control, "ratio");
                rows.push(row.measured(estimate, results.setting.driver, seeds(plan)));
            }
        }
    }
    Ok(rows)
}
