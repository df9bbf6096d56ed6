//! Figure 5: how large a buffer Snoop needs.

use anyhow::Result;

use super::bursts::Losses;
use super::path::{Repair, Trial, throughput};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Figure 5.
pub const FIGURE: Figure = Figure {
    id: "5",
    title: "Snoop by the size of its buffer",
    x: "buffer, packets",
    remark: "Throughput of one download. Reno with SACK, as the paper's TCP; the station lets 32 packets be on their way, \
             so that the congestion window is about {xbc/section-5.b/congestion-window} on average, as the paper's. \
             Packets of {xbc/section-5.a/packet}; what the tunnel adds to them takes no air time and is not lost. \
             0 packets: TCP alone. This Snoop reads SACK, where ns-2's does not, and frees what has arrived out of order: \
             its buffer is used better.",
    needs,
    rows,
};

/// Kb for each error, anywhere.
pub(super) fn random(plan: &Plan) -> &'static [u32] {
    plan.choose(&[16, 64, 256, 1024, 4096], &[64, 1024], &[256])
}

/// Kb for each error in the bad state.
pub(super) fn bursts(plan: &Plan) -> &'static [u32] {
    plan.choose(&[1, 16, 64, 256, 1024], &[16], &[16])
}

/// The paper's bursts: of four packets, and of two, whose results it omits.
pub(super) const BURSTS: [f64; 2] = [4.0, 2.0];

/// Bursts of this many packets.
pub(super) fn burst(bad: f64, kilobits: u32) -> Losses {
    Losses::Bursts { good: 20.0, bad, kilobits }
}

fn buffers(plan: &Plan) -> &'static [u32] {
    plan.choose(&[2, 4, 8, 16, 32, 100], &[2, 100], &[2, 8, 32])
}

/// Number of seeds of a cell.
pub(super) fn seeds(plan: &Plan) -> u32 {
    plan.seeds(4, 1, 1)
}

/// Duration of a download; the paper's take 1000 s.
pub(super) fn seconds(plan: &Plan) -> u32 {
    plan.choose(100, 10, 20)
}

fn trials(plan: &Plan) -> Vec<Trial> {
    let random = random(plan).iter().map(|&kilobits| Losses::Random(kilobits));
    let losses = random.chain(bursts(plan).iter().map(|&kilobits| burst(BURSTS[0], kilobits)));
    let mut trials = Vec::new();
    for losses in losses {
        trials.push(Trial::new(Repair::Off, 0, losses, seconds(plan)));
        for repair in [Repair::NonLru, Repair::Lru] {
            trials.extend(
                buffers(plan).iter().map(|&buffer| Trial::new(repair, buffer, losses, seconds(plan))),
            );
        }
    }
    trials
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let trials = trials(&setting.plan).into_iter();
    trials.map(|trial| Need::Scenario(Box::new(trial.scenario(setting, seeds(&setting.plan))))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let row = |trial: Trial| {
        let row = Row::new(
            FIGURE.id,
            format!("{}: {}", trial.losses, trial.repair),
            trial.buffer_packets,
            "Mbit/s",
        );
        Ok(row.measured(throughput(results, &trial)?, results.setting.driver, seeds(plan)))
    };
    trials(plan).into_iter().map(row).collect()
}
