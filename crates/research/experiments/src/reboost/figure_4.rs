//! Figure 4: the time of a transfer under five congestion controls.

use std::fs;

use air::LossConfig;
use anyhow::Result;

use super::content::File;
use super::system::System;
use super::trial::{self, Trial, links, quotient, time};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::{Driver, Row};

/// Figure 4.
pub const FIGURE: Figure = Figure {
    id: "4",
    title: "Transmission times with various TCP versions",
    x: "congestion control",
    remark: "100 ms, 1% lost at random. IP RE runs under the kernel's own algorithms, which this kernel may lack: Debian's has \
             all five, after `modprobe -a tcp_vegas tcp_veno tcp_westwood`, and so has `scripts/in-qemu`. REboost wraps cubic \
             and reno, and brings vegas, veno and westwood of its own. The control at ratio 1 compares both on random bytes, \
             where nothing is removed and no window is larger. The letter shows means of 30 trials as bars, without numbers; \
             here medians, and quotients of paired times.",
    needs,
    rows,
};

/// As the letter names them.
pub(super) const CONTROLS: [&str; 5] = ["cubic", "reno", "vegas", "veno", "westwood"];
/// The series of REboost's time by that of IP RE, in the letter's codec.
pub(super) const PRINTED: &str = "to IP RE: REboost, chunk-match";
/// The same in ours.
pub(super) const OURS: &str = "to IP RE: REboost";
/// The same on random bytes: what REboost's form of the algorithm does by itself.
pub(super) const CONTROL: &str = "ratio 1, to IP RE: REboost";
/// The kernel's list of those that connections may choose.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// The compared systems, by series.
const QUOTIENTS: [(&str, File, [System; 2]); 3] = [
    (PRINTED, File::Pages, System::PRINTED),
    (OURS, File::Pages, System::OURS),
    (CONTROL, File::Random, System::OURS),
];

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(30, 1, 3)
}

/// Whether the driver's kernel has a control. Each guest of `scripts/in-qemu` has all of them.
fn has(driver: Driver, control: &str) -> bool {
    if driver == Driver::Qemu {
        return true;
    }
    let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
    available.split_whitespace().any(|name| name == control)
}

fn trial(control: &'static str, file: File, system: System) -> Trial {
    let links = links(100, LossConfig::Bernoulli { probability: 0.01 });
    Trial { control, ..Trial::new(format!("figure 4, {control}"), system, file, links) }
}

/// The trials of a control. No RE takes as long as IP RE, and is left out where time is short.
fn trials(plan: &Plan, control: &'static str) -> Vec<Trial> {
    let pairs = QUOTIENTS.into_iter().flat_map(|(_, file, systems)| systems.map(|system| (file, system)));
    let plain: &[(File, System)] = plan.choose(&[(File::Pages, System::NoRe)], &[], &[]);
    pairs.chain(plain.iter().copied()).map(|(file, system)| trial(control, file, system)).collect()
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let controls = CONTROLS.into_iter().filter(|control| has(setting.driver, control));
    let trials: Vec<Trial> = controls.flat_map(|control| trials(&setting.plan, control)).collect();
    trial::needs(setting, &trials, seeds(&setting.plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for control in CONTROLS {
        if !has(results.setting.driver, control) {
            let row = |(series, ..): (&str, File, [System; 2])| Row::new(FIGURE.id, series, control, "ratio");
            rows.extend(QUOTIENTS.map(row).map(|row| row.note(format!("this kernel has no {control}"))));
            continue;
        }
        for trial in trials(&results.setting.plan, control) {
            let of = if trial.file == File::Random { "time, ratio 1" } else { "time" };
            let row = Row::new(FIGURE.id, format!("{of}: {}", trial.system.name()), control, "s");
            rows.push(time(results, row, &trial)?);
        }
        for (series, file, [ip_re, boosted]) in QUOTIENTS {
            let row = Row::new(FIGURE.id, series, control, "ratio");
            let (one, other) = (trial(control, file, boosted), trial(control, file, ip_re));
            rows.push(quotient(results, row, &one, &other)?);
        }
    }
    Ok(rows)
}
