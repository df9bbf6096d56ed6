//! Figures 6 and 7: what coding gains over Snoop, by buffer, degree and distance; and the adaptive choice
//! beside them.

use anyhow::Result;

use super::bursts::Losses;
use super::figure_5::{BURSTS, burst, bursts, random, seconds, seeds};
use super::path::{Repair, Trial, throughput};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Figure 6.
pub const FIGURE_6: Figure = Figure {
    id: "6",
    title: "Random losses: Snoop with and without XBC",
    x: "buffer, packets",
    remark: "As Figure 5. First XBC as published, with fixed degrees, non-LRU; its best is compared with the better of LRU and \
             non-LRU Snoop, also where it loses. Ours follow. Adaptive: degree and distance by what is measured on the flow's link. Over all loss rates no \
             fixed pattern gains 20% on average: at one error in 16 Kb two packets in five are lost, and a sum of two helps \
             only where the other one came, so that a buffer is worth at most 2 (1 - p) = 1.2 of itself; at 64 Kb a buffer \
             of 6 packets or more is better used without sums.",
    needs: |setting| needs(&RANDOM, setting),
    rows: |results| rows(&RANDOM, results),
};

/// Figure 7.
pub const FIGURE_7: Figure = Figure {
    id: "7",
    title: "Bursts (N_g = 20, N_b = 4 and 2): Snoop with and without XBC",
    x: "buffer, packets",
    remark: "As Figure 6; errors in the bad state only. The paper omits N_b = 2. Reed-Solomon: packets for which there is no room \
             become rows, any as many of which restore as many lost packets; adaptive may choose them too.",
    needs: |setting| needs(&BURST, setting),
    rows: |results| rows(&BURST, results),
};

/// Figure 6 as a Snoop saw it that reads no selective acknowledgments, as ns-2's.
pub const FIGURE_6_WITHOUT_SACK: Figure = Figure {
    id: "6-without-sack",
    title: "Random losses without selective acknowledgment: Snoop with and without XBC",
    x: "buffer, packets",
    remark: "As Figure 6, but that neither end speaks SACK: what has arrived behind a lost packet stays in the buffer until \
             that one is repaired, as with the Snoop of ns-2, which reads none. A decoder still has what was delivered. At one \
             error in 16 Kb next to nothing comes (.01 to .03 Mbit/s), and which of the repairs is ahead there is chance; at \
             the other rates the best degree gains about what it does with SACK, .10 for .12.",
    needs: |setting| needs(&RANDOM_WITHOUT_SACK, setting),
    rows: |results| rows(&RANDOM_WITHOUT_SACK, results),
};

/// One of them.
struct Kind {
    id: &'static str,
    losses: fn(&Plan) -> Vec<Losses>,
    coded: &'static [Repair],
    buffers: fn(&Plan) -> &'static [u32],
    /// Whether the two ends speak selective acknowledgment.
    sack: bool,
}

const RANDOM: Kind = Kind {
    id: "6",
    losses: |plan| random(plan).iter().map(|&kilobits| Losses::Random(kilobits)).collect(),
    coded: &[Repair::Xbc(2, 1), Repair::Xbc(3, 1), Repair::Xbc(4, 1), Repair::ReedSolomon],
    buffers,
    sack: true,
};
const RANDOM_WITHOUT_SACK: Kind = Kind {
    id: FIGURE_6_WITHOUT_SACK.id,
    losses: |plan| plan.choose((RANDOM.losses)(plan), Vec::new(), Vec::new()),
    coded: &[Repair::Xbc(2, 1), Repair::Xbc(3, 1), Repair::Xbc(4, 1)],
    buffers: |_| &[2, 4, 6, 8],
    sack: false,
};
const BURST: Kind = Kind {
    id: "7",
    losses: |plan| {
        let of = |bad| bursts(plan).iter().map(move |&kilobits| burst(bad, kilobits));
        plan.choose(&BURSTS[..], &BURSTS[..1], &BURSTS[..]).iter().copied().flat_map(of).collect()
    },
    coded: &[
        Repair::Xbc(2, 1),
        Repair::Xbc(2, 2),
        Repair::Xbc(2, 4),
        Repair::Xbc(2, 8),
        Repair::Xbc(3, 2),
        Repair::Xbc(4, 2),
        Repair::ReedSolomon,
    ],
    buffers,
    sack: true,
};
/// The methods without coding.
pub(super) const SNOOP: [Repair; 2] = [Repair::NonLru, Repair::Lru];

fn buffers(plan: &Plan) -> &'static [u32] {
    plan.choose(&[2, 4, 6, 8, 12, 16, 32], &[2, 8], &[2, 4, 8])
}

fn trials(kind: &Kind, plan: &Plan) -> Vec<Trial> {
    // the paper's XBC, its Snoop, ours
    let (ours, xbc): (Vec<Repair>, Vec<Repair>) =
        kind.coded.iter().partition(|repair| **repair == Repair::ReedSolomon);
    let repairs = || xbc.iter().chain(&SNOOP).chain(&ours).chain(&[Repair::Adaptive]).copied();
    let mut trials = Vec::new();
    for losses in (kind.losses)(plan) {
        for repair in repairs() {
            let trial =
                |&buffer| Trial { sack: kind.sack, ..Trial::new(repair, buffer, losses, seconds(plan)) };
            trials.extend((kind.buffers)(plan).iter().map(trial));
        }
    }
    trials
}

fn needs(kind: &Kind, setting: &Setting<'_>) -> Vec<Need> {
    let trials = trials(kind, &setting.plan).into_iter();
    trials.map(|trial| Need::Scenario(Box::new(trial.scenario(setting, seeds(&setting.plan))))).collect()
}

fn rows(kind: &Kind, results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let row = |trial: Trial| {
        let row =
            Row::new(kind.id, format!("{}: {}", trial.losses, trial.repair), trial.buffer_packets, "Mbit/s");
        Ok(row.measured(throughput(results, &trial)?, results.setting.driver, seeds(plan)))
    };
    trials(kind, plan).into_iter().map(row).collect()
}
