//! One download over a hop that carried a call before.

use anyhow::Result;
use lab::{Scenario, Stream};

use super::downloads::{self, SECONDS, whole_seconds};
use super::place::Place;
use super::voice::INTERVAL_MILLISECONDS;
use super::way::Way;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{GATEWAY, Pair, STATION};
use crate::plan::Plan;
use crate::row::Row;

/// A download after a call.
pub const FIGURE: Figure = Figure {
    id: "after-a-call",
    title: "One download of 3 MB over 20 Mbit/s: a hop that carried a call before, and a new one",
    x: "packets lost, %",
    remark: "The download, link and queue of figure `downloads`. Before it, the hop carried nothing, or a call of 8 s in both directions: 50 packets of \
             40 bytes a second, from 5 s to 13 s after the tunnel's start. The ratio is by the time over the new hop, with the same seed.",
    needs,
    rows,
};

const WAYS: [Way; 2] = [Way::DEFAULT, Way::DEFAULT_BBR];
const CALL_START_SECONDS: f64 = 5.0;
const CALL_PACKETS: u64 = 400;
const CALL_PAYLOAD_BYTES: usize = 40;

/// Series of the time by that over a new hop.
pub(super) const BY_NEW: &str = "time by a new hop's";
/// The most of it, as a bound of measurement: ten seeds differ by more than a call may matter.
pub(super) const BY_NEW_AT_MOST: f64 = 1.1;

/// What the hop carried before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Call,
}

impl Before {
    const ALL: [Self; 2] = [Self::Nothing, Self::Call];

    fn word(self) -> &'static str {
        match self {
            Self::Nothing => "new",
            Self::Call => "after a call",
        }
    }

    fn streams(self, way: Way) -> Vec<Stream> {
        let carrier = way.carrier();
        let stream = |from: &str, to: &str, address| Stream {
            from: from.to_owned(),
            to: to.to_owned(),
            address,
            datagrams: CALL_PACKETS,
            payload_bytes: CALL_PAYLOAD_BYTES,
            interval_milliseconds: INTERVAL_MILLISECONDS,
            content: None,
            start_seconds: CALL_START_SECONDS,
            keeps_delays: false,
        };
        match self {
            Self::Nothing => Vec::new(),
            Self::Call => vec![
                stream(GATEWAY, STATION, Pair::station(&carrier)),
                stream(STATION, GATEWAY, Pair::server(&carrier)),
            ],
        }
    }
}

fn places(plan: &Plan) -> Vec<Place> {
    let place = |(loss_percent, round_trip_milliseconds)| Place { loss_percent, round_trip_milliseconds };
    let whole = vec![(1, 100), (5, 20), (5, 100), (5, 600), (10, 20), (10, 100)];
    plan.choose(whole, vec![(5, 100)], vec![(5, 100)]).into_iter().map(place).collect()
}

fn name(place: Place, way: Way, before: Before) -> String {
    format!("download, {}, {way}, {place}", before.word())
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let seeds = setting.plan.seeds(10, 1, 1);
    let mut needs = Vec::new();
    for place in places(&setting.plan) {
        for (way, before) in WAYS.into_iter().flat_map(|way| Before::ALL.map(|before| (way, before))) {
            let download =
                downloads::download(setting, name(place, way, before), seeds, place.topology(), way);
            needs.push(Need::Scenario(Box::new(Scenario { streams: before.streams(way), ..download })));
        }
    }
    needs
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (place, way) in
        places(&results.setting.plan).into_iter().flat_map(|place| WAYS.map(|way| (place, way)))
    {
        let row = |what: &str, curve: String, unit: &str, estimate, seeds: usize| {
            let row = Row::new(FIGURE.id, place.series(what, curve), place.loss_percent, unit);
            row.measured(estimate, results.setting.driver, seeds as u32)
        };
        let [new, after] = Before::ALL.map(|before| results.outcomes(&name(place, way, before)));
        let (new, after) = (new?, after?);
        for (before, outcomes) in Before::ALL.into_iter().zip([new, after]) {
            let seconds: Vec<f64> = outcomes.iter().map(downloads::seconds).collect();
            let curve = format!("{way}, {}", before.word());
            rows.push(row(SECONDS, curve, "s", Estimate::median(&seconds), seconds.len()));
        }
        let times = downloads::pairs(after, new, whole_seconds);
        rows.push(row(BY_NEW, way.to_string(), "ratio", Estimate::paired_median(&times), times.len()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::super::downloads::START_SECONDS;
    use super::*;
    use crate::contents::Contents;
    use crate::plan::{Extent, Traced};
    use crate::row::Driver;
    use crate::testbed::Testbed;

    #[test]
    fn the_call_ends_before_the_download_and_a_new_hop_carries_none() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        for need in needs(&setting) {
            let Need::Scenario(scenario) = need else { panic!("a scenario") };
            scenario.check().unwrap();
            assert_eq!(scenario.streams.len(), if scenario.name.contains("new") { 0 } else { 2 });
            for stream in &scenario.streams {
                let seconds = stream.datagrams as f64 * stream.interval_milliseconds / 1000.0;
                assert!(stream.start_seconds + seconds < START_SECONDS);
            }
        }
    }
}
