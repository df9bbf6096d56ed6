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
    remark: "Two downloads of random bytes compete for a minute; Jain's index of what they got, and the share of the one in \
             the tunnel. The bare pair are two flows without tunnel. The link's queue holds 64 KB, twenty milliseconds \
             of it are the path's own. Where nothing is lost on the air nothing is random: runs differ by when the \
             second flow starts, up to two seconds before or after the first. Where 5% are lost, a bare flow is slowed down \
             by that, and one in the tunnel is not: what the second gets beside each is to be compared.",
    needs,
    rows,
};

/// The congestion controls.
pub(super) const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr"];
/// Duration of the flows' competition, and start of the first one.
const SECONDS: f64 = 60.0;
const START_SECONDS: f64 = 7.0;
/// Delay of the second flow's start. With a drop-tail queue, the result depends on small differences.
const LATER_SECONDS: [f64; 12] = [0.3, -0.3, 1.1, -1.1, 0.7, -0.7, 1.5, -1.5, 0.05, -0.05, 1.9, -1.9];

/// The two sides of the comparison, as series call them.
pub(super) const TUNNEL: &str = "one through the tunnel";
/// The other.
pub(super) const BARE: &str = "both bare";

fn starts(plan: &Plan) -> &'static [f64] {
    &LATER_SECONDS[..(plan.seeds(12, 2, 2) as usize).min(LATER_SECONDS.len())]
}

fn controls(plan: &Plan) -> &'static [&'static str] {
    plan.choose(&CONTROLS, &["cubic"], &["cubic"])
}

/// What the air loses, in percent.
fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[0.0, 5.0], &[0.0], &[0.0])
}

/// The name of a side at this loss rate.
pub(super) fn side_at(side: &str, loss_percent: f64) -> String {
    if loss_percent > 0.0 { format!("{side}, {loss_percent}% lost") } else { side.to_owned() }
}

fn name(side: &str, control: &str, later_seconds: f64) -> String {
    format!("fairness, {side}, {control}, {later_seconds} s later")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let sides = [(TUNNEL, Carrier::tunnel("adaptive")), (BARE, Carrier::Bare)];
    let mut needs = Vec::new();
    for control in controls(&setting.plan) {
        for (side, carrier) in &sides {
            for &loss in losses(&setting.plan) {
                for &later in starts(&setting.plan) {
                    let scenario = scenario(setting, (side, carrier), loss, control, later);
                    needs.push(Need::Scenario(Box::new(scenario)));
                }
            }
        }
    }
    needs
}

fn scenario(
    setting: &Setting<'_>,
    (side, carrier): (&str, &Carrier),
    loss_percent: f64,
    control: &str,
    later_seconds: f64,
) -> Scenario {
    let [forward, backward] = Impairment::Loss(loss_percent).links(Path::PAPER);
    let download = |from, at_seconds| Download {
        place: STATION.to_owned(),
        from,
        content: File::Long.slug().to_owned(),
        port: lab::HTTP_PORT,
        start: Start::AtSeconds(at_seconds),
        stall_seconds: 60,
    };
    Scenario {
        name: name(&side_at(side, loss_percent), control, later_seconds),
        seeds: vec![1],
        topology: Pair::topology(&forward, &backward),
        parameters: BTreeMap::from([("net.ipv4.tcp_congestion_control".to_owned(), control.to_owned())]),
        contents: vec![setting.testbed.lab_content(File::Long)],
        servers: vec![GATEWAY.to_owned()],
        daemons: setting.testbed.pair().daemons(carrier),
        downloads: vec![
            download(Pair::server(carrier), START_SECONDS),
            download(Pair::server(&Carrier::Bare), START_SECONDS + later_seconds),
        ],
        bound_seconds: START_SECONDS + SECONDS,
        ..Scenario::default()
    }
}

/// What the two flows got: Jain's index, the share of the first, and KByte/s of the second.
fn shares(outcome: &Outcome) -> Option<[f64; 3]> {
    let [first, second] = outcome.downloads.as_slice() else { return None };
    let (one, other) = (first.bytes as f64, second.bytes as f64);
    let (sum, squares) = (one + other, one * one + other * other);
    (squares > 0.0).then(|| [sum * sum / (2.0 * squares), one / sum, other / 1000.0 / SECONDS])
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let sides: Vec<String> =
        losses(plan).iter().flat_map(|&loss| [TUNNEL, BARE].map(|side| side_at(side, loss))).collect();
    let mut rows = Vec::new();
    for &control in controls(plan) {
        for side in &sides {
            let mut shares = Vec::new();
            for &later in starts(plan) {
                shares.extend(results.outcomes(&name(side, control, later))?.iter().filter_map(self::shares));
            }
            let series =
                [("Jain's index", "ratio"), ("share of the first", "ratio"), ("the second", "KByte/s")];
            for (at, (series, unit)) in series.into_iter().enumerate() {
                let mean = Estimate::mean(&shares.iter().map(|of| of[at]).collect::<Vec<_>>());
                let row = Row::new(FIGURE.id, format!("{series}: {side}"), control, unit);
                rows.push(row.measured(mean, results.setting.driver, shares.len() as u32));
            }
        }
    }
    Ok(rows)
}
