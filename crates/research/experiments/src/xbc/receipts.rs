//! Comparison of repairs: the hop's own, if stations send receipts, and that of TCP's segments.

use anyhow::Result;

use super::bursts::Losses;
use super::figure_5::{seconds, seeds};
use super::path::{Repair, Trial, throughput};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// What repairs, side by side.
pub const FIGURE: Figure = Figure {
    id: "receipts",
    title: "Repair by the hop and of TCP segments, side by side",
    x: "packets lost, %",
    remark: "On the path of Figure 5, random bytes. Hop: stations send receipts, and the tunnel repairs its own losses. With \
             receipts a packet's own overhead is other than without, and on the air here as far as it is more.",
    needs,
    rows,
};

/// Packets kept for each flow: the default, and what Snoop alone wants.
const SMALL: u32 = 8;
const LARGE: u32 = 100;
pub(super) const HOP: &str = "hop";
pub(super) const SNOOP: &str = "Snoop, 100 packets";
const KINDS: [(&str, Repair, u32, bool); 6] = [
    ("TCP alone", Repair::Off, 0, false),
    ("Snoop, 8 packets", Repair::NonLru, SMALL, false),
    ("XBC adaptive, 8 packets", Repair::Adaptive, SMALL, false),
    (SNOOP, Repair::NonLru, LARGE, false),
    (HOP, Repair::Off, 0, true),
    ("hop and XBC adaptive, 8 packets", Repair::Adaptive, SMALL, true),
];

fn losses(plan: &Plan) -> &'static [f64] {
    plan.choose(&[1.0, 5.0, 10.0, 20.0], &[], &[5.0])
}

fn trials(plan: &Plan) -> Vec<(&'static str, f64, Trial)> {
    let mut trials = Vec::new();
    for (name, repair, buffer_packets, has_receipts) in KINDS {
        for &percent in losses(plan) {
            let path = Trial::new(repair, buffer_packets, Losses::Share(percent / 100.0), seconds(plan));
            trials.push((name, percent, Trial { has_receipts, ..path }));
        }
    }
    trials
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let plan = &setting.plan;
    let trials = trials(plan).into_iter();
    trials.map(|(.., trial)| Need::Scenario(Box::new(trial.scenario(setting, seeds(plan))))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let row = |(name, percent, trial): (&str, f64, Trial)| {
        let row = Row::new(FIGURE.id, name, percent, "Mbit/s");
        Ok(row.measured(throughput(results, &trial)?, results.setting.driver, seeds(plan)))
    };
    trials(plan).into_iter().map(row).collect()
}
