//! Measured 802.11 receptions: one transmitter of a testbed as the access point, those that hear it as
//! stations.

use air::receptions::{RecordedPath, read_paths};
use air::{Bitrate, LossConfig};
use anyhow::Result;
use indicatif::ProgressBar;

use super::air_time::Clock;
use super::as_printed::Cache;
use super::overhearing::Radio;
use super::run::Run;
use super::scheme::Scheme;
use super::tally::Tally;
use super::trial::fresh;
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::parallel;
use crate::row::{Driver, Row};
use crate::trace::{CLIENTS, Composer, Kind, Mix};

/// Recorded receptions.
pub const FIGURE: Figure = Figure {
    id: "receptions",
    title: "Receptions as measured, high overlap",
    x: "transmitter",
    remark: "Which transmissions two stations receive, and which they overhear, is as a testbed recorded it (300 frames \
             of each of 29 transmitters, at the least of three powers of noise): the same transmission of one radio at \
             two others. The transmitters are those whose second station hears neither all nor next to nothing. Both \
             stations are sent to at 6 Mbit/s. Air time is by 802.11g, relative to no RE; repeated are whole objects. \
             Left out where the evaluation data is not there.",
    needs: |_| Vec::new(),
    rows,
};

/// The recording with the least noise.
const RECORDINGS: &str = "rutgers_dbm-20";
/// A station that hears less would be out of reach.
const LEAST_DELIVERY: f64 = 0.3;
/// The farther station's range of overhearing in which guesses matter.
const MIDDLING: std::ops::Range<f64> = 0.3..0.95;
/// The most transmitters.
const MOST: usize = 8;
const SCHEMES: [Scheme; 5] =
    [Scheme::PAPER, Scheme::GreedyAsPrinted, Scheme::Nothing, Scheme::Receipts, Scheme::Greedy];

/// Transmitters with the paths to a nearer and a farther station.
fn access_points(paths: &[RecordedPath]) -> Vec<(&str, [&RecordedPath; CLIENTS])> {
    let mut transmitters: Vec<&str> = paths.iter().map(|path| path.transmitter.as_str()).collect();
    transmitters.dedup();
    let pair = |transmitter: &&str| {
        let mut heard: Vec<&RecordedPath> = paths
            .iter()
            .filter(|path| path.transmitter == *transmitter && path.receptions.delivery() >= LEAST_DELIVERY)
            .collect();
        heard.sort_by(|one, other| other.receptions.delivery().total_cmp(&one.receptions.delivery()));
        let (near, far) = (*heard.first()?, *heard.last()?);
        (heard.len() >= CLIENTS && MIDDLING.contains(&far.receptions.delivery())).then_some([near, far])
    };
    let all = transmitters.iter().filter_map(|transmitter| Some((*transmitter, pair(transmitter)?)));
    all.take(MOST).collect()
}

fn radio(path: &RecordedPath) -> Radio {
    Radio {
        rate: Bitrate::from_megabits_per_second(6),
        aggregated_packets: 1,
        loss: LossConfig::Trace { receptions: path.receptions.clone() },
        overhearing_loss: None,
    }
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let Some(table) = results.setting.contents.receptions(RECORDINGS)? else { return Ok(Vec::new()) };
    let paths = read_paths(&table)?;
    let access_points = access_points(&paths);
    let fresh = fresh(&results.setting)?;
    let bytes: u64 = results.setting.plan.choose(16 << 20, 1 << 20, 1 << 20);
    let seeds = results.setting.plan.seeds(3, 1, 1);
    let mut rows = Vec::new();
    for (transmitter, pair) in &access_points {
        let radios = pair.map(radio);
        let runs = SCHEMES.iter().flat_map(|scheme| (1..=u64::from(seeds)).map(move |seed| (*scheme, seed)));
        let tallies = parallel::map(runs, &ProgressBar::hidden(), |(scheme, seed)| {
            let slot_bits = if scheme.has_scaled_cache() { Cache::for_trace(bytes).slot_bits() } else { 18 };
            let run = Run { radios: &radios, scheme, clock: Clock::Standard, slot_bits, seed };
            run.of(Composer::new(fresh.clone(), Mix::High, Kind::Whole, bytes, seed))
        })?;
        let of_schemes: Vec<&[Tally]> = tallies.chunks(seeds as usize).collect();
        let [near, far] = pair.map(|path| 100.0 * path.receptions.delivery());
        let nothing = SCHEMES.iter().position(|scheme| *scheme == Scheme::Nothing);
        let baseline = nothing.map_or(&[][..], |place| of_schemes[place]);
        for (scheme, tallies) in SCHEMES.iter().zip(&of_schemes) {
            let pairs: Vec<(f64, f64)> = tallies
                .iter()
                .zip(baseline)
                .map(|(ours, theirs)| (ours.air_seconds(), theirs.air_seconds()))
                .collect();
            rows.push(
                Row::new(FIGURE.id, format!("air time: {scheme}"), *transmitter, "ratio")
                    .measured(Estimate::paired_ratio(&pairs), Driver::Sim, seeds)
                    .note(format!("the stations hear {near:.0}% and {far:.0}%")),
            );
        }
    }
    Ok(rows)
}
