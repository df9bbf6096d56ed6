//! One call: small packets at a constant rate.

use anyhow::Result;
use lab::{Outcome, Scenario, Stream};

use super::place::{ETHERNET_BYTES, Place};
use super::recorded;
use super::way::Way;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{AIR, GATEWAY, Pair, STATION};
use crate::plan::Plan;
use crate::row::Row;

/// A call.
pub const FIGURE: Figure = Figure {
    id: "voice",
    title: "A call over the same link: packets that come late or never",
    x: "packets lost, %",
    remark: "50 packets of 200 zero bytes a second. A packet is late if it does not arrive within 30 ms, or 100 ms, after the \
             one-way delay; a lost one is late. Packets of the first 5 s are not counted. Values are means over seeds. Bytes \
             and packets are those that left the sender's side for the link, with Ethernet headers, by those of policy off.",
    needs,
    rows,
};

/// Losses with a call, in percent.
const LOSSES: [u32; 3] = [5, 10, 20];
const WAYS: [Way; 3] = [Way::BARE, Way::OFF, Way::DEFAULT];
const PAYLOAD_BYTES: usize = 200;
const INTERVAL_MILLISECONDS: f64 = 20.0;
const PACKETS_A_SECOND: u32 = 50;
/// Start of the call, when the session exists.
const START_SECONDS: f64 = 20.0;
/// Seconds at the beginning whose packets are not counted.
const SETTLING_SECONDS: u32 = 5;

/// Series of late packets, with the bound in milliseconds.
pub(super) const LATE: [(&str, f64); 2] = [("late beyond 30 ms", 30.0), ("late beyond 100 ms", 100.0)];

/// Goals for the default tunnel at every round trip: percent lost, percent of packets late beyond 30 ms.
pub(super) const GOALS: [(u32, f64); 3] = [(5, 0.3), (10, 1.0), (20, 4.0)];

fn goal(what: &str, place: Place, way: Way) -> Option<f64> {
    let goal = GOALS.into_iter().find(|(loss, _)| *loss == place.loss_percent)?;
    (what == LATE[0].0 && way == Way::DEFAULT).then_some(goal.1)
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 2, 1)
}

fn datagrams(plan: &Plan) -> u64 {
    u64::from(plan.choose(60, 20, 20) * PACKETS_A_SECOND)
}

fn name(place: Place, way: Way) -> String {
    format!("voice, {}, {place}", way.scheme)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let places = Place::of(&setting.plan, &LOSSES).into_iter();
    let runs = places.flat_map(|place| WAYS.map(|way| scenario(setting, place, way)));
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn scenario(setting: &Setting<'_>, place: Place, way: Way) -> Scenario {
    let carrier = way.carrier();
    let stream = Stream {
        from: GATEWAY.to_owned(),
        to: STATION.to_owned(),
        address: Pair::station(&carrier),
        datagrams: datagrams(&setting.plan),
        payload_bytes: PAYLOAD_BYTES,
        interval_milliseconds: INTERVAL_MILLISECONDS,
        content: None,
        start_seconds: START_SECONDS,
        keeps_delays: true,
    };
    Scenario {
        name: name(place, way),
        seeds: (1..=u64::from(seeds(&setting.plan))).collect(),
        topology: place.topology(),
        parameters: way.parameters(),
        contents: Vec::new(),
        servers: Vec::new(),
        daemons: setting.testbed.pair().daemons(&carrier),
        downloads: Vec::new(),
        clients: Vec::new(),
        fresh_seconds: None,
        streams: vec![stream],
        events: Vec::new(),
        bound_seconds: 600.0,
    }
}

/// The percentage of packets that did not arrive within `beyond_milliseconds` after the one-way delay.
fn late_percent(outcome: &Outcome, place: Place, beyond_milliseconds: f64) -> Option<f64> {
    let delays = &outcome.streams.first()?.delays_milliseconds;
    let counted = delays.get((SETTLING_SECONDS * PACKETS_A_SECOND) as usize..)?;
    let most = f64::from(place.round_trip_milliseconds) / 2.0 + beyond_milliseconds;
    let late = counted.iter().filter(|delay| delay.is_none_or(|delay| delay > most)).count();
    (!counted.is_empty()).then(|| late as f64 / counted.len() as f64 * 100.0)
}

fn packets(outcome: &Outcome) -> Option<f64> {
    Some(outcome.link(AIR)?.forward.transmitted.packets as f64)
}

fn bytes(outcome: &Outcome) -> Option<f64> {
    let sent = outcome.link(AIR)?.forward.transmitted;
    Some((sent.bytes + sent.packets * ETHERNET_BYTES as u64) as f64)
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for place in Place::of(&results.setting.plan, &LOSSES) {
        let off = results.outcomes(&name(place, Way::OFF))?;
        let row = |what: &str, way: Way, unit: &str, estimate, seeds: usize| {
            let row = Row::new(FIGURE.id, place.series(what, way.scheme), place.loss_percent, unit);
            row.measured(estimate, results.setting.driver, seeds as u32)
        };
        let mut is_run = false;
        for way in WAYS {
            let outcomes = results.outcomes(&name(place, way))?;
            is_run |= !outcomes.is_empty();
            for (what, beyond) in LATE {
                let late = outcomes.iter().filter_map(|outcome| late_percent(outcome, place, beyond));
                let late: Vec<f64> = late.collect();
                let late = row(what, way, "%", Estimate::mean(&late), late.len());
                rows.push(late.goal(goal(what, place, way)));
            }
            let by_off =
                [("bytes by off's", bytes as fn(&Outcome) -> Option<f64>), ("packets by off's", packets)];
            for (what, quantity) in by_off.into_iter().filter(|_| way != Way::OFF) {
                let pairs = outcomes.iter().zip(off);
                let pairs: Vec<(f64, f64)> =
                    pairs.filter_map(|(one, other)| Some((quantity(one)?, quantity(other)?))).collect();
                rows.push(row(what, way, "ratio", Estimate::paired_ratio(&pairs), pairs.len()));
            }
        }
        if is_run {
            rows.extend(LATE.into_iter().flat_map(|(what, _)| recorded_rows(place, what)));
        }
    }
    Ok(rows)
}

/// What others were measured to lose there.
fn recorded_rows(place: Place, what: &'static str) -> impl Iterator<Item = Row> {
    let values = recorded::values(FIGURE.id, what, place.round_trip_milliseconds, place.loss_percent);
    values.map(move |value| value.row(FIGURE.id, &place.panel(what), place.loss_percent, "%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::StreamOutcome;

    #[test]
    fn a_packet_is_late_beyond_its_bound_or_lost_and_the_first_do_not_count() {
        let place = Place { loss_percent: 10, round_trip_milliseconds: 100 };
        let first = vec![None; 250];
        let delays =
            [Some(50.5), Some(79.0), Some(80.5), Some(149.0), Some(151.0), None, Some(50.0), Some(50.0)];
        let delays_milliseconds = first.into_iter().chain(delays).collect();
        let stream = StreamOutcome { delays_milliseconds, ..StreamOutcome::default() };
        let outcome = Outcome {
            scenario: String::new(),
            seed: 1,
            links: Vec::new(),
            channels: Vec::new(),
            fetches: Vec::new(),
            downloads: Vec::new(),
            streams: vec![stream],
            statuses: Default::default(),
            said: Vec::new(),
        };
        assert_eq!(late_percent(&outcome, place, 30.0), Some(50.0));
        assert_eq!(late_percent(&outcome, place, 100.0), Some(25.0));
    }
}
