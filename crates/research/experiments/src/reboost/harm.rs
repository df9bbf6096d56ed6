//! What boosting costs where nothing can be removed.

use air::LossConfig;
use anyhow::Result;

use super::content::File;
use super::system::System;
use super::trial::{self, Trial, links, quotient};
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// No harm.
pub const FIGURE: Figure = Figure {
    id: "harm",
    title: "The time of a download of random bytes, boosted by not boosted",
    x: "round trip, ms",
    remark: "Redundancy elimination finds nothing, so that no flow is boosted. 100 Mbit/s, nothing lost.",
    needs,
    rows,
};

/// Round trips in milliseconds.
pub(super) const ROUND_TRIPS: [u32; 2] = [20, 100];

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(20, 1, 3)
}

fn trial(round_trip: u32, system: System) -> Trial {
    let links = links(round_trip.into(), LossConfig::None);
    Trial::new(format!("harm, {round_trip} ms"), system, File::Random, links)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let of = |round_trip| [System::Adaptive, System::AdaptiveBoosted].map(|system| trial(round_trip, system));
    let trials: Vec<Trial> = ROUND_TRIPS.into_iter().flat_map(of).collect();
    trial::needs(setting, &trials, seeds(&setting.plan))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let row = |round_trip: u32| {
        let (one, other) = (trial(round_trip, System::AdaptiveBoosted), trial(round_trip, System::Adaptive));
        quotient(results, Row::new(FIGURE.id, "boosted to not boosted", round_trip, "ratio"), &one, &other)
    };
    ROUND_TRIPS.into_iter().map(row).collect()
}
