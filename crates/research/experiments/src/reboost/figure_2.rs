//! Figure 2: the time of a transfer, by burst loss and round trip.

use air::LossConfig;
use anyhow::Result;

use super::content::File;
use super::system::System;
use super::trial::{self, Trial, links, quotient, time};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Figure 2.
pub const FIGURE: Figure = Figure {
    id: "2",
    title: "Transmission times under unstable networks",
    x: "probability of leaving the bad state, %",
    remark: "Simple Gilbert: the good state is left with probability 0 or 1%, the bad one, in which everything is lost, with \
             that on the axis. The letter shows means of 30 trials as curves, without numbers; here medians, with the mean in \
             the note, and quotients of paired times.",
    needs,
    rows,
};

/// The carried content for each system.
const SYSTEMS: [System; 5] =
    [System::NoRe, System::IpReChunks, System::ReboostChunks, System::IpRe, System::Reboost];

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(30, 1, 3)
}

/// Round trips in milliseconds, and percentages of leaving the good and the bad state.
pub(super) fn cells(plan: &Plan) -> Vec<(u64, u32, u32)> {
    let leave_bad: &[u32] = plan.choose(&[100, 90, 80, 70, 60], &[60], &[60]);
    let of = |round_trip| {
        let lossy = leave_bad.iter().map(move |&leave| (round_trip, 1, leave));
        [(round_trip, 0, 100)].into_iter().chain(lossy)
    };
    [0, 100].into_iter().flat_map(of).collect()
}

/// The name of a panel for a cell's round trip and loss.
pub(super) fn panel((round_trip, leave_good, _): (u64, u32, u32)) -> String {
    format!("{round_trip} ms, {leave_good}%")
}

fn trial((round_trip, leave_good, leave_bad): (u64, u32, u32), system: System) -> Trial {
    let loss = match leave_good {
        0 => LossConfig::None,
        percent => LossConfig::SimpleGilbert {
            good_to_bad: f64::from(percent) / 100.0,
            bad_to_good: f64::from(leave_bad) / 100.0,
        },
    };
    let place = format!("figure 2, {round_trip} ms, {leave_good}%, {leave_bad}%");
    Trial::new(place, system, File::Pages, links(round_trip, loss))
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let of = |cell| SYSTEMS.map(|system| trial(cell, system));
    let trials: Vec<Trial> = cells(&setting.plan).into_iter().flat_map(of).collect();
    trial::needs(setting, &trials, seeds(&setting.plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for cell in cells(&results.setting.plan) {
        let row = |series: String, unit| Row::new(FIGURE.id, series, cell.2, unit);
        for system in SYSTEMS {
            let series = format!("{}: {}", panel(cell), system.name());
            rows.push(time(results, row(series, "s"), &trial(cell, system))?);
        }
        for [ip_re, boosted] in [System::PRINTED, System::OURS] {
            for other in [System::NoRe, ip_re] {
                let series = format!("{}: {} to {}", panel(cell), boosted.name(), other.name());
                let (one, other) = (trial(cell, boosted), trial(cell, other));
                rows.push(quotient(results, row(series, "ratio"), &one, &other)?);
            }
        }
    }
    Ok(rows)
}
