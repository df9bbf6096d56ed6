//! One call: small packets at a constant rate.

use std::fmt;
use std::time::Duration;

use air::{LinkConfig, LossConfig};
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
             and packets are those that left the sender's side for the link, with Ethernet headers, by those of policy off. \
             Bursts are of another kind: times in which every packet is lost, with a mean of 100 ms, after clean times with a \
             mean of 2.93 s. With them, a packet is late beyond 30 ms, or 150 ms.",
    needs,
    rows,
};

/// Losses with a call, in percent.
const LOSSES: [u32; 3] = [5, 10, 20];
const WAYS: [Way; 3] = [Way::BARE, Way::OFF, Way::DEFAULT];
const PAYLOAD_BYTES: usize = 200;
/// Between two packets of a call.
pub(super) const INTERVAL_MILLISECONDS: f64 = 20.0;
const PACKETS_A_SECOND: u32 = 50;
/// Start of the call, when the session exists.
const START_SECONDS: f64 = 20.0;
/// Seconds at the beginning whose packets are not counted.
const SETTLING_SECONDS: u32 = 5;

/// Series of late packets, with the bound in milliseconds.
pub(super) const LATE: [(&str, f64); 2] = [("late beyond 30 ms", 30.0), ("late beyond 100 ms", 100.0)];

/// Goals for the default tunnel at every round trip: percent lost, percent of packets late beyond 30 ms.
pub(super) const GOALS: [(u32, f64); 3] = [(5, 0.3), (10, 1.0), (20, 4.0)];

/// The name of bursts in series.
pub(super) const BURSTS: &str = "bursts of 100 ms";
/// Percent of packets lost in them.
pub(super) const BURST_LOSS_PERCENT: f64 = 3.3;
/// Mean durations of a burst, and of the clean time between two.
const BURST: Duration = Duration::from_millis(100);
const CLEAN: Duration = Duration::from_millis(2930);
/// The place whose independent losses they replace.
const BURST_PLACE: Place = Place { loss_percent: 0, round_trip_milliseconds: 100 };
/// Series of late packets with bursts, with the bound in milliseconds.
const LATE_IN_BURSTS: [(&str, f64); 2] = [("late beyond 30 ms", 30.0), ("late beyond 150 ms", 150.0)];
/// Goals for the default tunnel: percent of packets late.
pub(super) const BURST_GOALS: [(&str, f64); 2] = [("late beyond 30 ms", 2.9), ("late beyond 150 ms", 2.0)];

/// The losses of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Losses {
    /// Independent ones.
    At(Place),
    /// Bursts, stepped in time.
    Bursts,
}

impl Losses {
    fn of(plan: &Plan) -> Vec<Self> {
        let places = Place::of(plan, &LOSSES).into_iter().map(Self::At);
        places.chain(plan.choose(Some(Self::Bursts), Some(Self::Bursts), None)).collect()
    }

    fn place(self) -> Place {
        match self {
            Self::At(place) => place,
            Self::Bursts => BURST_PLACE,
        }
    }

    /// The link, the same in both directions.
    fn link(self) -> LinkConfig {
        let link = self.place().link();
        match self {
            Self::At(_) => link,
            Self::Bursts => LinkConfig { loss: LossConfig::TimedGilbert { good: CLEAN, bad: BURST }, ..link },
        }
    }

    /// Duration of the call. Bursts are few, so their call is long.
    fn seconds(self, plan: &Plan) -> u32 {
        match self {
            Self::At(_) => plan.choose(60, 10, 10),
            Self::Bursts => plan.choose(300, 40, 20),
        }
    }

    fn percent(self) -> f64 {
        match self {
            Self::At(place) => place.loss_percent.into(),
            Self::Bursts => BURST_LOSS_PERCENT,
        }
    }

    fn late(self) -> [(&'static str, f64); 2] {
        match self {
            Self::At(_) => LATE,
            Self::Bursts => LATE_IN_BURSTS,
        }
    }

    fn series(self, what: &str, way: Way) -> String {
        match self {
            Self::At(place) => place.series(what, way.scheme),
            Self::Bursts => burst_series(what, way),
        }
    }

    fn goal(self, what: &str, way: Way) -> Option<f64> {
        let goal = match self {
            Self::At(place) => {
                let goal = GOALS.into_iter().find(|(loss, _)| *loss == place.loss_percent);
                goal.filter(|_| what == LATE[0].0).map(|(_, percent)| percent)
            }
            Self::Bursts => BURST_GOALS.into_iter().find(|goal| goal.0 == what).map(|(_, percent)| percent),
        };
        goal.filter(|_| way == Way::DEFAULT)
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(place) => place.fmt(f),
            Self::Bursts => {
                let round_trip = BURST_PLACE.round_trip_milliseconds;
                write!(f, "{BURSTS}, {BURST_LOSS_PERCENT}% both ways, {round_trip} ms")
            }
        }
    }
}

/// The name of a series with bursts.
pub(super) fn burst_series(what: &str, way: Way) -> String {
    BURST_PLACE.series(&format!("{what}, {BURSTS}"), way.scheme)
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(losses: Losses, way: Way) -> String {
    format!("voice, {}, {losses}", way.scheme)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let all = Losses::of(&setting.plan).into_iter();
    let runs = all.flat_map(|losses| WAYS.map(|way| scenario(setting, losses, way)));
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn scenario(setting: &Setting<'_>, losses: Losses, way: Way) -> Scenario {
    let carrier = way.carrier();
    let link = losses.link();
    let stream = Stream {
        from: GATEWAY.to_owned(),
        to: STATION.to_owned(),
        address: Pair::station(&carrier),
        datagrams: u64::from(losses.seconds(&setting.plan) * PACKETS_A_SECOND),
        payload_bytes: PAYLOAD_BYTES,
        interval_milliseconds: INTERVAL_MILLISECONDS,
        content: None,
        start_seconds: START_SECONDS,
        keeps_delays: true,
    };
    Scenario {
        name: name(losses, way),
        seeds: (1..=u64::from(seeds(&setting.plan))).collect(),
        topology: Pair::topology(&link, &link),
        parameters: way.parameters(),
        daemons: setting.testbed.pair().daemons_with_repairs(&carrier),
        streams: vec![stream],
        bound_seconds: 600.0,
        ..Scenario::default()
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
    for losses in Losses::of(&results.setting.plan) {
        let off = results.outcomes(&name(losses, Way::OFF))?;
        let row = |what: &str, way: Way, unit: &str, estimate, seeds: usize| {
            let row = Row::new(FIGURE.id, losses.series(what, way), losses.percent(), unit);
            row.measured(estimate, results.setting.driver, seeds as u32)
        };
        let mut is_run = false;
        for way in WAYS {
            let outcomes = results.outcomes(&name(losses, way))?;
            is_run |= !outcomes.is_empty();
            for (what, beyond) in losses.late() {
                let late =
                    outcomes.iter().filter_map(|outcome| late_percent(outcome, losses.place(), beyond));
                let late: Vec<f64> = late.collect();
                let late = row(what, way, "%", Estimate::mean(&late), late.len());
                rows.push(late.goal(losses.goal(what, way)));
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
        if let Losses::At(place) = losses
            && is_run
        {
            rows.extend(LATE.into_iter().flat_map(|(what, _)| recorded::rows(FIGURE.id, what, "%", place)));
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
    use lab::StreamOutcome;

    #[test]
    fn bursts_have_their_share_and_a_call_that_ends_within_its_bound() {
        let link = Losses::Bursts.link();
        link.validate().unwrap();
        assert!((link.loss.mean_loss(200) * 100.0 - BURST_LOSS_PERCENT).abs() < 0.01);
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        for (extent, count) in [(Extent::Whole, 10), (Extent::Quick, 2), (Extent::Corner, 1)] {
            let plan = Plan { extent, seeds: None, trace: Traced::default() };
            let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
            let needs = needs(&setting);
            assert_eq!(needs.len(), count * WAYS.len());
            for need in needs {
                let Need::Scenario(scenario) = need else { panic!("a scenario") };
                scenario.check().unwrap();
                let stream = &scenario.streams[0];
                let end = stream.start_seconds + stream.datagrams as f64 * INTERVAL_MILLISECONDS / 1000.0;
                assert!(end < scenario.bound_seconds, "{}", scenario.name);
            }
        }
    }

    #[test]
    fn goals_with_bursts_are_of_the_default_alone() {
        let goals = LATE_IN_BURSTS.map(|(what, _)| Losses::Bursts.goal(what, Way::DEFAULT));
        assert_eq!(goals, [Some(2.9), Some(2.0)]);
        assert_eq!(Losses::Bursts.goal(LATE_IN_BURSTS[0].0, Way::BARE), None);
        let place = Losses::At(Place { loss_percent: 10, round_trip_milliseconds: 20 });
        assert_eq!(LATE.map(|(what, _)| place.goal(what, Way::DEFAULT)), [Some(1.0), None]);
    }

    #[test]
    fn a_packet_is_late_beyond_its_bound_or_lost_and_the_first_do_not_count() {
        let place = Place { loss_percent: 10, round_trip_milliseconds: 100 };
        let first = vec![None; 250];
        let delays =
            [Some(50.5), Some(79.0), Some(80.5), Some(149.0), Some(151.0), None, Some(50.0), Some(50.0)];
        let delays_milliseconds = first.into_iter().chain(delays).collect();
        let stream = StreamOutcome { delays_milliseconds, ..StreamOutcome::default() };
        let outcome = Outcome {
            exchanges: Vec::new(),
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
