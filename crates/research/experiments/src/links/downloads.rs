//! One download by one TCP connection.

use anyhow::Result;
use lab::{Connections, Content, Exchange, Outcome, Scenario, Topology};

use super::place::{ETHERNET_BYTES, Place};
use super::recorded;
use super::way::Way;
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{AIR, GATEWAY, Pair, STATION};
use crate::plan::Plan;
use crate::row::Row;

/// Downloads.
pub const FIGURE: Figure = Figure {
    id: "downloads",
    title: "One download of 3 MB over 20 Mbit/s, by loss and round trip",
    x: "packets lost, %",
    remark: "3,000,000 random bytes by one TCP connection, on which the server speaks first. The link has a drop-tail queue of 120 packets and 20 Mbit/s in each \
             direction, then delay and independent losses in both directions. The download starts 20 s after the tunnel. \
             Seconds are the median; a run above 600 s counts as longer than all others. Bytes are those that left the \
             server's side for the link, with Ethernet headers, by the bytes that arrived.",
    needs,
    rows,
};

/// All losses of the grid, in percent.
const LOSSES: [u32; 5] = [0, 1, 5, 10, 20];
const CONTENT_BYTES: u64 = 3_000_000;
/// Start of the download. The session exists by then even if many messages of its handshake are lost.
pub(super) const START_SECONDS: f64 = 20.0;
/// The longest download.
pub(super) const BOUND_SECONDS: u32 = 600;

/// Series of times.
pub(super) const SECONDS: &str = "seconds";
/// Series of bytes by the content's.
pub(super) const BYTES: &str = "bytes by the content's";
/// Series of the default tunnel's bytes by those of the tunnel that removes nothing.
pub(super) const BYTES_BY_OFF: &str = "bytes by off's";
/// Series of the time of bbr through the tunnel by that of bbr without.
pub(super) const BBR_BY_BARE: &str = "time of bbr by bare bbr's";

/// Goals for the default tunnel with cubic: percent lost, round trip in milliseconds, seconds.
pub(super) const GOALS: [(u32, u32, f64); 6] =
    [(5, 100, 2.6), (10, 100, 2.8), (20, 100, 3.7), (5, 20, 1.8), (10, 20, 2.0), (20, 20, 2.6)];

fn goal(place: Place, way: Way) -> Option<f64> {
    let at = (place.loss_percent, place.round_trip_milliseconds);
    let goal = GOALS.into_iter().find(|(loss, round_trip, _)| at == (*loss, *round_trip))?;
    (way == Way::DEFAULT).then_some(goal.2)
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(place: Place, way: Way) -> String {
    format!("download, {way}, {place}")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let places = Place::of(&setting.plan, &LOSSES).into_iter();
    let runs = places.flat_map(|place| Way::ALL.map(|way| scenario(setting, place, way)));
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn scenario(setting: &Setting<'_>, place: Place, way: Way) -> Scenario {
    download(setting, name(place, way), seeds(&setting.plan), place.topology(), way)
}

/// One download from the gateway to the station of a topology.
pub(super) fn download(
    setting: &Setting<'_>,
    name: String,
    seeds: u32,
    topology: Topology,
    way: Way,
) -> Scenario {
    let carrier = way.carrier();
    let content = Content { length_bytes: Some(CONTENT_BYTES), ..setting.testbed.lab_content(File::Long) };
    let exchange = Exchange {
        client: STATION.to_owned(),
        server: GATEWAY.to_owned(),
        address: Pair::server(&carrier),
        asks: false,
        answers: 1,
        answer_bytes: CONTENT_BYTES as usize,
        connections: Connections::Kept,
        content: content.name.clone(),
        start_seconds: START_SECONDS,
    };
    Scenario {
        name,
        seeds: (1..=u64::from(seeds)).collect(),
        topology,
        parameters: way.parameters(),
        contents: vec![content],
        daemons: setting.testbed.pair().daemons_with_repairs(&carrier),
        exchanges: vec![exchange],
        bound_seconds: START_SECONDS + f64::from(BOUND_SECONDS),
        ..Scenario::default()
    }
}

/// Seconds of a run's exchange, if it ended.
pub(super) fn whole_seconds(outcome: &Outcome) -> Option<f64> {
    outcome.exchanges.first()?.whole_seconds()
}

/// Seconds of a run's exchange; infinite if it did not end.
pub(super) fn seconds(outcome: &Outcome) -> f64 {
    whole_seconds(outcome).unwrap_or(f64::INFINITY)
}

/// Bytes that left the server's side for the link, with Ethernet headers.
fn sent_bytes(outcome: &Outcome) -> Option<f64> {
    let sent = outcome.link(AIR)?.forward.transmitted;
    Some((sent.bytes + sent.packets * ETHERNET_BYTES as u64) as f64)
}

/// The same by the bytes that arrived.
pub(super) fn sent_by_arrived(outcome: &Outcome) -> Option<f64> {
    let arrived = outcome.exchanges.first().filter(|exchange| exchange.bytes > 0)?.bytes;
    Some(sent_bytes(outcome)? / arrived as f64)
}

/// What two ways have for each seed, where both have it.
pub(super) fn pairs(
    ours: &[Outcome],
    theirs: &[Outcome],
    quantity: fn(&Outcome) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let pairs = ours.iter().zip(theirs);
    pairs.filter_map(|(one, other)| Some((quantity(one)?, quantity(other)?))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for place in Place::of(&results.setting.plan, &LOSSES) {
        let outcomes = |way| results.outcomes(&name(place, way));
        let note = results.content_note(File::Long);
        let row = |what: &str, curve: String, unit: &str, estimate, seeds: usize| {
            let row = Row::new(FIGURE.id, place.series(what, curve), place.loss_percent, unit);
            row.measured(estimate, results.setting.driver, seeds as u32).note(&note)
        };
        let mut is_run = false;
        for way in Way::ALL {
            let outcomes = outcomes(way)?;
            is_run |= !outcomes.is_empty();
            let seconds: Vec<f64> = outcomes.iter().map(seconds).collect();
            let endless = seconds.iter().filter(|seconds| seconds.is_infinite()).count();
            let median = row(SECONDS, way.to_string(), "s", Estimate::median(&seconds), outcomes.len());
            rows.push(match endless {
                0 => median.goal(goal(place, way)),
                some => median.goal(goal(place, way)).note(format!("{some} runs above {BOUND_SECONDS} s")),
            });
            let bytes: Vec<f64> = outcomes.iter().filter_map(sent_by_arrived).collect();
            rows.push(row(BYTES, way.to_string(), "ratio", Estimate::median(&bytes), bytes.len()));
        }
        let bytes = pairs(outcomes(Way::DEFAULT)?, outcomes(Way::OFF)?, sent_by_arrived);
        let by_off = Estimate::paired_median(&bytes);
        rows.push(row(BYTES_BY_OFF, Way::DEFAULT.to_string(), "ratio", by_off, bytes.len()));
        let times = pairs(outcomes(Way::DEFAULT_BBR)?, outcomes(Way::BARE_BBR)?, whole_seconds);
        let by_bare = Estimate::paired_median(&times);
        rows.push(row(BBR_BY_BARE, Way::DEFAULT_BBR.to_string(), "ratio", by_bare, times.len()));
        if is_run {
            let recorded = [(SECONDS, "s"), (BYTES, "ratio")];
            rows.extend(
                recorded.iter().flat_map(|(what, unit)| recorded::rows(FIGURE.id, what, unit, place)),
            );
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Contents;
    use crate::plan::{Extent, Traced};
    use crate::row::Driver;
    use crate::testbed::Testbed;

    #[test]
    fn every_run_is_a_scenario_that_makes_sense_and_starts_what_it_names() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let needs = needs(&setting);
        assert_eq!(needs.len(), 15 * Way::ALL.len());
        for need in needs {
            let Need::Scenario(scenario) = need else { panic!("a scenario") };
            scenario.check().unwrap();
            assert_eq!(scenario.seeds.len(), 10);
            assert_eq!(scenario.daemons.is_empty(), scenario.name.contains("bare"), "{}", scenario.name);
        }
    }

    #[test]
    fn the_goals_are_of_the_default_with_cubic_alone() {
        let place = Place { loss_percent: 10, round_trip_milliseconds: 100 };
        assert_eq!(goal(place, Way::DEFAULT), Some(2.8));
        assert_eq!(goal(place, Way::DEFAULT_BBR), None);
        assert_eq!(goal(Place { loss_percent: 0, ..place }, Way::DEFAULT), None);
    }
}
