//! Figure 4: the time of a transfer under five congestion controls.

use std::fs;

use air::LossConfig;
use anyhow::Result;

use super::content::File;
use super::system::System;
use super::trial::{self, Trial, links, quotient, time};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Figure 4.
pub const FIGURE: Figure = Figure {
    id: "4",
    title: "Transmission times with various TCP versions",
    x: "congestion control",
    remark: "100 ms, 1% lost at random. Only what this kernel has is shown, since IP RE runs under the kernel's own: Debian's \
             has all five, after `modprobe -a tcp_vegas tcp_veno tcp_westwood`, and so has `scripts/in-qemu`. The letter shows \
             means of 30 trials as bars, without numbers; here medians, and quotients of paired times.",
    needs,
    rows,
};

/// As the letter names them.
const CONTROLS: [&str; 5] = ["cubic", "reno", "vegas", "veno", "westwood"];
/// What series call REboost's time by that of IP RE.
pub(super) const QUOTIENT: &str = "to IP RE: REboost";
/// The kernel's list of those that connections may choose.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(30, 1, 3)
}

/// No RE takes as long as IP RE, and is left out where time is short.
fn systems(plan: &Plan) -> &'static [System] {
    let all = &[System::IpRe, System::Reboost, System::NoRe];
    plan.choose(&all[..], &all[..2], &all[..2])
}

/// Those that this kernel has.
fn controls() -> Vec<&'static str> {
    let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
    let has = |control: &&str| available.split_whitespace().any(|name| name == *control);
    CONTROLS.into_iter().filter(has).collect()
}

fn trial(control: &'static str, system: System) -> Trial {
    let links = links(100, LossConfig::Bernoulli { probability: 0.01 });
    Trial { control, ..Trial::new(format!("figure 4, {control}"), system, File::Pages, links) }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let of = |control| systems(&setting.plan).iter().map(move |&system| trial(control, system));
    let trials: Vec<Trial> = controls().into_iter().flat_map(of).collect();
    trial::needs(setting, &trials, seeds(&setting.plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for control in controls() {
        for &system in systems(&results.setting.plan) {
            let row = Row::new(FIGURE.id, format!("time: {}", system.name()), control, "s");
            rows.push(time(results, row, &trial(control, system))?);
        }
        let row = Row::new(FIGURE.id, QUOTIENT, control, "ratio");
        let (one, other) = (trial(control, System::Reboost), trial(control, System::IpRe));
        rows.push(quotient(results, row, &one, &other)?);
    }
    Ok(rows)
}
