//! The paper's own simulator as a control: its Snoop and its TCP beside ours, over the same three nodes.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use super::bursts::Losses;
use super::figure_5::random;
use super::path::{Repair, Trial, WINDOW_PACKETS, throughputs};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::{Driver, Row};

/// The control.
pub const FIGURE: Figure = Figure {
    id: "ns-2",
    title: "ns-2 as a control: TCP alone and Snoop",
    x: "buffer, packets",
    remark: "The three nodes of section V-A in ns-2 2.35 (Debian's package ns2), as long as ours and with as many seeds. The wire, the \
             radio, the packets, the random losses and SACK are the paper's. The window is the one of our runs. ns-2's own default is 20 packets. ns-2's \
             Snoop waits at least a tick before it repeats a packet by its timer: 100 ms by default, and 10 ms in another series. \
             It repairs the first missing packet only, and reads no SACK. Its LRU frees the packet that its timer holds: \
             ns-2 ends there, and such a cell has no value. A row of ns-2 stands only beside one of ours, and only where ns-2 is installed.",
    needs,
    rows,
};

const SCRIPT: &str = include_str!("ns_2.tcl");
/// ns-2's default for the minimum of Snoop's timer, and a finer one, in seconds.
const TICKS: [f64; 2] = [0.1, 0.01];
/// ns-2's default window, in packets.
const NS_WINDOW_PACKETS: u32 = 20;
/// No run takes longer, in seconds: one of 1000 s takes a few.
const BOUND_SECONDS: &str = "300";

/// How long a download goes on: long enough for ns-2's timeouts to count as they do in the end.
fn seconds(plan: &Plan) -> u32 {
    plan.choose(100, 30, 20)
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(4, 2, 1)
}

fn buffers(plan: &Plan) -> &'static [u32] {
    plan.choose(&[2, 4, 8, 16, 32, 100], &[2, 8, 100], &[2, 8])
}

fn trials(plan: &Plan) -> Vec<(u32, Trial)> {
    let mut trials = Vec::new();
    for &kilobits in random(plan) {
        let losses = Losses::Random(kilobits);
        trials.push((kilobits, Trial::new(Repair::Off, 0, losses, seconds(plan))));
        for repair in [Repair::NonLru, Repair::Lru] {
            let of = |&buffer: &u32| (kilobits, Trial::new(repair, buffer, losses, seconds(plan)));
            trials.extend(buffers(plan).iter().map(of));
        }
    }
    trials
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let trials = trials(&setting.plan).into_iter();
    trials.map(|(_, trial)| Need::Scenario(Box::new(trial.scenario(setting, seeds(&setting.plan))))).collect()
}

/// What a run of ns-2 gave.
#[derive(Debug, Clone, PartialEq)]
enum Run {
    /// Acknowledged payload, in Mbit/s.
    Throughput(f64),
    /// It ended early, with this last line.
    Ended(String),
}

/// Settings of ns-2 that are not ours.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Settings {
    window_packets: u32,
    tick_seconds: f64,
}

impl Settings {
    /// Its series, behind the name of the trial.
    const ALL: [(&'static str, Self); 3] = [
        ("ns-2", Self { window_packets: WINDOW_PACKETS, tick_seconds: TICKS[0] }),
        ("ns-2, timer of 10 ms", Self { window_packets: WINDOW_PACKETS, tick_seconds: TICKS[1] }),
        ("ns-2, its own window", Self { window_packets: NS_WINDOW_PACKETS, tick_seconds: TICKS[0] }),
    ];
}

/// Runs ns-2 once; none where it is not installed.
fn run(script: &Path, trial: &Trial, settings: Settings, seed: u64) -> Result<Option<Run>> {
    let repair = match trial.repair {
        Repair::Off => "off",
        Repair::Lru => "lru",
        _ => "none",
    };
    let loss = trial.losses.share().context("ns-2 runs random losses only")?;
    let seconds = trial.seconds().context("ns-2 runs for some seconds")?;
    let mut command = Command::new("timeout");
    command.arg(BOUND_SECONDS).arg("ns").arg(script).args([
        loss.to_string(),
        repair.to_owned(),
        trial.buffer_packets.to_string(),
        settings.window_packets.to_string(),
        settings.tick_seconds.to_string(),
        seconds.to_string(),
        seed.to_string(),
    ]);
    let output = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        output => output.context("ns-2 cannot be started")?,
    };
    /// `timeout` says so where there is no such program.
    const NO_PROGRAM: i32 = 127;
    if output.status.code() == Some(NO_PROGRAM) {
        return Ok(None);
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    let throughput = said.lines().find_map(|line| line.strip_prefix("throughput ")?.parse().ok());
    let ended = || complained.lines().last().unwrap_or("it said nothing").to_owned();
    Ok(Some(throughput.map_or_else(|| Run::Ended(ended()), Run::Throughput)))
}

/// The mean over the seeds, or why there is none; none where ns-2 is not installed.
fn mean(
    script: &Path,
    trial: &Trial,
    settings: Settings,
    seeds: u32,
) -> Result<Option<(Option<Estimate>, String)>> {
    let mut sample = Vec::new();
    for seed in 1..=u64::from(seeds) {
        match run(script, trial, settings, seed)? {
            None => return Ok(None),
            Some(Run::Throughput(throughput)) => sample.push(throughput),
            Some(Run::Ended(why)) => return Ok(Some((None, format!("ns-2 ends: {why}")))),
        }
    }
    Ok(Some((Estimate::mean(&sample), String::new())))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let seeds = seeds(plan);
    let folder = tempfile::tempdir().context("no folder for ns-2's script")?;
    let script = folder.path().join("ns_2.tcl");
    std::fs::write(&script, SCRIPT).context("ns-2's script cannot be written")?;
    let mut rows = Vec::new();
    for (kilobits, trial) in trials(plan) {
        let ours = Estimate::mean(&throughputs(results.outcomes(&trial.name())?));
        let row = |by: &str| {
            let series = format!("1 error in {kilobits} Kb: {}: {by}", trial.repair);
            Row::new(FIGURE.id, series, trial.buffer_packets, "Mbit/s")
        };
        rows.push(row("ours").measured(ours, results.setting.driver, seeds));
        if ours.is_none() {
            continue;
        }
        for (by, settings) in Settings::ALL {
            // TCP alone has no timer of Snoop's, and LRU ends with any setting
            let is_told = match trial.repair {
                Repair::Off => settings.tick_seconds == TICKS[0],
                Repair::Lru => settings == Settings::ALL[0].1,
                _ => true,
            };
            if !is_told {
                continue;
            }
            if let Some((throughput, why)) = mean(&script, &trial, settings, seeds)? {
                rows.push(row(by).measured(throughput, Driver::Ns2, seeds).note(ended_at_once(&why)));
            }
        }
    }
    Ok(rows)
}

/// A reason without the virtual time at which it came, which differs from cell to cell.
fn ended_at_once(why: &str) -> &str {
    why.split(" in time from").next().unwrap_or(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snoop_of_ns_2_repairs_and_its_lru_ends() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("ns_2.tcl");
        std::fs::write(&script, SCRIPT).unwrap();
        let run = |repair, buffer| {
            let trial = Trial::new(repair, buffer, Losses::Random(64), 50);
            run(&script, &trial, Settings::ALL[0].1, 1).unwrap()
        };
        let Some(alone) = run(Repair::Off, 0) else {
            eprintln!("ns-2 is not installed: not tested");
            return;
        };
        let (Run::Throughput(alone), Some(Run::Throughput(snoop))) = (alone, run(Repair::NonLru, 100)) else {
            panic!("a run of ns-2 gave no throughput");
        };
        assert!(alone > 0.05 && snoop > 2.0 * alone, "{alone} {snoop}");
        let lru = run(Repair::Lru, 2);
        assert!(matches!(&lru, Some(Run::Ended(why)) if why.contains("backwards")), "{lru:?}");
    }
}
