//! One download at one loss rate and distance, by the kind of the loss.

use std::fmt;
use std::time::Duration;

use air::{LinkConfig, LossConfig, ReorderConfig};
use anyhow::Result;
use lab::{Link, Medium, Topology};

use super::downloads::{self, BOUND_SECONDS, BYTES, SECONDS};
use super::place::Place;
use super::way::Way;
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{AIR, GATEWAY, Pair, STATION};
use crate::plan::Plan;
use crate::row::{Row, X};

/// Harder losses.
pub const FIGURE: Figure = Figure {
    id: "harder",
    title: "One download of 3 MB over 20 Mbit/s and 100 ms, by the kind of loss",
    x: "loss",
    remark: "The download, link and queue of figure `downloads`, at a loss of 5% and a round trip of 100 ms. Losses are in both \
             directions, unless one is named. Before the rate, a lost packet takes no time of the link and no place in the \
             queue. With reordering nothing is lost: 5% of packets come 10 ms later than the others. Bursts alternate with \
             clean times, and all packets in a burst are lost. A burst has a mean of 100 ms, a clean time of 1.9 s.",
    needs,
    rows,
};

const PLACE: Place = Place { loss_percent: 5, round_trip_milliseconds: 100 };
const WAYS: [Way; 4] = [Way::BARE, Way::BARE_BBR, Way::OFF, Way::DEFAULT];
/// Time by which a reordered packet comes later, of so many packets.
const LATER: Duration = Duration::from_millis(10);
const REORDERED: f64 = 0.05;
/// Mean durations of a clean time and of a burst: 5% of the time.
const CLEAN: Duration = Duration::from_millis(1900);
const BURST: Duration = Duration::from_millis(100);
/// Place and link between the ends where losses come before the rate.
const MIDDLE: &str = "middle";
const SECOND: &str = "second";

/// Series of the default tunnel's time by that of the tunnel that removes and repairs nothing.
pub(super) const BY_OFF: &str = "time by off's";
/// The most of it, as a bound of measurement.
pub(super) const BY_OFF_AT_MOST: f64 = 1.02;

/// The kind of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    AfterRate,
    BeforeRate,
    ToReceiver,
    FromReceiver,
    Reordering,
    Bursts,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::AfterRate,
        Self::BeforeRate,
        Self::ToReceiver,
        Self::FromReceiver,
        Self::Reordering,
        Self::Bursts,
    ];

    fn of(plan: &Plan) -> &'static [Self] {
        plan.choose(&Self::ALL, &[Self::BeforeRate, Self::Reordering, Self::Bursts], &[Self::Reordering])
    }

    fn topology(self) -> Topology {
        let lossy = PLACE.link();
        let clean = LinkConfig { loss: LossConfig::None, ..lossy.clone() };
        let alike = |link: LinkConfig| Pair::topology(&link, &link);
        match self {
            Self::AfterRate => alike(lossy),
            Self::BeforeRate => two_hops(&LinkConfig { loss: lossy.loss, ..LinkConfig::default() }, &clean),
            Self::ToReceiver => Pair::topology(&lossy, &clean),
            Self::FromReceiver => Pair::topology(&clean, &lossy),
            Self::Reordering => {
                let reorder = ReorderConfig { probability: REORDERED, extra_delay: LATER };
                alike(LinkConfig { reorder: Some(reorder), ..clean })
            }
            Self::Bursts => {
                let loss = LossConfig::TimedGilbert { good: CLEAN, bad: BURST };
                alike(LinkConfig { loss, ..clean })
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AfterRate => "after the rate",
            Self::BeforeRate => "before the rate",
            Self::ToReceiver => "to the receiver only",
            Self::FromReceiver => "from the receiver only",
            Self::Reordering => "reordering",
            Self::Bursts => "bursts",
        })
    }
}

/// Both ends and a place between them. Either direction has one link after the other.
fn two_hops(first: &LinkConfig, second: &LinkConfig) -> Topology {
    let hop = |name, one, other, forward: &LinkConfig, backward: &LinkConfig| {
        let medium = Medium::Air { forward: forward.clone(), backward: backward.clone() };
        Link::new(name, one, other, medium)
    };
    let place = |name: &str| lab::Place { name: name.to_owned(), ..lab::Place::default() };
    let mut row = Topology {
        places: vec![place(GATEWAY), lab::Place { forwards: true, ..place(MIDDLE) }, place(STATION)],
        links: vec![hop(AIR, GATEWAY, MIDDLE, first, second), hop(SECOND, MIDDLE, STATION, second, first)],
        ..Topology::default()
    };
    row.places[0].routes = row.default_routes(AIR, MIDDLE);
    row.places[2].routes = row.default_routes(SECOND, MIDDLE);
    row
}

fn name(kind: Kind, way: Way) -> String {
    format!("harder, {way}, {kind}")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let seeds = setting.plan.seeds(10, 1, 1);
    let kinds = Kind::of(&setting.plan).iter();
    let runs = kinds.flat_map(|kind| {
        WAYS.map(|way| downloads::download(setting, name(*kind, way), seeds, kind.topology(), way))
    });
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let note = results.content_note(File::Long);
    for &kind in Kind::of(&results.setting.plan) {
        let row = |what: &str, way: Way, unit: &str, estimate, seeds: usize| {
            let row = Row::new(FIGURE.id, format!("{what}: {way}"), X::Name(kind.to_string()), unit);
            row.measured(estimate, results.setting.driver, seeds as u32).note(&note)
        };
        for way in WAYS {
            let outcomes = results.outcomes(&name(kind, way))?;
            let seconds: Vec<f64> = outcomes.iter().map(downloads::seconds).collect();
            let endless = seconds.iter().filter(|seconds| seconds.is_infinite()).count();
            let median = row(SECONDS, way, "s", Estimate::median(&seconds), seconds.len());
            rows.push(match endless {
                0 => median,
                some => median.note(format!("{some} runs above {BOUND_SECONDS} s")),
            });
            let bytes: Vec<f64> = outcomes.iter().filter_map(downloads::sent_by_arrived).collect();
            rows.push(row(BYTES, way, "ratio", Estimate::median(&bytes), bytes.len()));
        }
        let [ours, off] = [Way::DEFAULT, Way::OFF].map(|way| results.outcomes(&name(kind, way)));
        let times = downloads::pairs(ours?, off?, downloads::whole_seconds);
        let by_off = row(BY_OFF, Way::DEFAULT, "ratio", Estimate::paired_median(&times), times.len());
        rows.push(by_off.goal(BY_OFF_AT_MOST));
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
    fn every_run_is_a_scenario_that_makes_sense_and_the_quick_form_has_half_of_them() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        for (extent, kinds, seeds) in [(Extent::Whole, 6, 10), (Extent::Quick, 3, 1)] {
            let plan = Plan { extent, seeds: None, trace: Traced::default() };
            let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
            let needs = needs(&setting);
            assert_eq!(needs.len(), kinds * 4);
            for need in needs {
                let Need::Scenario(scenario) = need else { panic!("a scenario") };
                scenario.check().unwrap();
                assert_eq!(scenario.seeds.len(), seeds);
                assert_eq!(scenario.daemons.is_empty(), scenario.name.contains("bare"), "{}", scenario.name);
            }
        }
    }

    #[test]
    fn each_kind_has_a_link_of_its_own_that_the_air_accepts() {
        let topologies = Kind::ALL.map(Kind::topology);
        for (at, topology) in topologies.iter().enumerate() {
            assert!(!topologies[..at].contains(topology), "{}", Kind::ALL[at]);
            for link in &topology.links {
                let Medium::Air { forward, backward } = &link.medium else { panic!("the air") };
                forward.validate().unwrap();
                backward.validate().unwrap();
            }
        }
        assert_eq!(topologies[0], PLACE.topology());
    }

    #[test]
    fn losses_before_the_rate_are_on_the_first_hop_of_either_direction() {
        let links = Kind::BeforeRate.topology().links;
        let media = links.iter().map(|link| match &link.medium {
            Medium::Air { forward, backward } => [forward, backward].map(|it| it.rate.is_some()),
            Medium::Cable => panic!("the air"),
        });
        assert_eq!(media.collect::<Vec<_>>(), [[false, true], [true, false]]);
        let Medium::Air { forward, .. } = &links[0].medium else { panic!("the air") };
        assert_eq!(forward.loss.mean_loss(1500), 0.05);
        let bursts = LossConfig::TimedGilbert { good: CLEAN, bad: BURST };
        assert_eq!(bursts.mean_loss(1500), 0.05);
    }
}
