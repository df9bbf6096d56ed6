//! A bare download beside one through the tunnel, over a shared queue.

use std::fmt;

use air::{Bitrate, LinkConfig, PolicerConfig, QueueDiscipline};
use anyhow::Result;
use lab::{Download, Outcome, Scenario, Start};

use super::form::Form;
use super::place::{ETHERNET_BYTES, Place};
use super::way::Way;
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{Carrier, GATEWAY, Pair, STATION};
use crate::plan::Plan;
use crate::row::{Row, X};

/// Fairness.
pub const FIGURE: Figure = Figure {
    id: "fairness",
    title: "A bare download beside one through the tunnel",
    x: "queue",
    remark: "Two downloads of random bytes share 20 Mbit/s for 30 s. One is bare. The other one is bare or through the default \
             tunnel, with the same congestion control. The value is the bare one's bytes beside the tunnel by the mean of both \
             beside each other. A queue of packets drops from its tail. CoDel has its RFC's target of 5 ms and interval of \
             100 ms, and room for 200 packets. The policer is a token bucket before a queue of 50 packets: 10 Mbit/s, and a \
             burst of 50 full packets. It drops what exceeds it. Losses are independent, in both directions, after the rate. \
             Values are medians over seeds.",
    needs: |setting| needs(setting, Form::Packets),
    rows: |results| rows(results, Form::Packets),
};

/// Fairness of streams.
pub const OF_STREAMS: Figure = Figure {
    id: "streams-fairness",
    title: "A bare download beside one that crosses the hop as a stream",
    x: "queue",
    remark: "The downloads and links of figure `fairness`, with `streams = true` on both nodes.",
    needs: |setting| needs(setting, Form::Streams),
    rows: |results| rows(results, Form::Streams),
};

/// Start of both downloads, when the session exists.
const START_SECONDS: f64 = 20.0;
const SECONDS: f64 = 30.0;
/// Files of a download, one after the other, so that it does not end before its time.
const FILES: usize = 3;
/// The least share of what a bare download has beside another bare one.
pub(super) const GOAL: f64 = 0.8;

/// The other download for each congestion control: bare, and through the tunnel.
const CONTROLS: [[Way; 2]; 2] = [[Way::BARE, Way::DEFAULT], [Way::BARE_BBR, Way::DEFAULT_BBR]];

/// Room for packets under CoDel, and behind the policer.
const CODEL_PACKETS: usize = 200;
const POLICED_PACKETS: usize = 50;
/// The policer's rate, half of the link's, and its burst.
const POLICED_MEGABITS: u64 = 10;
const BURST_BYTES: usize = 50 * (1500 + ETHERNET_BYTES);

/// The queue or policer before the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Queue {
    /// A drop-tail queue of so many packets.
    Packets(usize),
    /// CoDel.
    Codel,
    /// A token bucket.
    Policer,
}

impl Queue {
    const ALL: [Self; 5] =
        [Self::Packets(10), Self::Packets(50), Self::Packets(200), Self::Codel, Self::Policer];
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Codel => f.write_str("CoDel"),
            Self::Policer => f.write_str("policer"),
        }
    }
}

/// A shared link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shared {
    queue: Queue,
    place: Place,
}

impl Shared {
    fn of(plan: &Plan) -> Vec<Self> {
        let shared = |(queue, loss_percent, round_trip_milliseconds)| Self {
            queue,
            place: Place { loss_percent, round_trip_milliseconds },
        };
        let whole = [20, 100].into_iter().flat_map(|round_trip| {
            [0, 2].into_iter().flat_map(move |loss| Queue::ALL.map(|queue| (queue, loss, round_trip)))
        });
        let part = vec![(Queue::Packets(50), 0, 20)];
        plan.choose(whole.collect(), part.clone(), part).into_iter().map(shared).collect()
    }

    fn link(self) -> LinkConfig {
        let of_packets = |packets| LinkConfig {
            queue_bytes: packets * 2000,
            queue_frames: Some(packets),
            ..self.place.link()
        };
        match self.queue {
            Queue::Packets(packets) => of_packets(packets),
            Queue::Codel => {
                LinkConfig { queue_discipline: QueueDiscipline::CODEL, ..of_packets(CODEL_PACKETS) }
            }
            Queue::Policer => LinkConfig {
                policer: Some(PolicerConfig {
                    rate: Bitrate::from_megabits_per_second(POLICED_MEGABITS),
                    burst_bytes: BURST_BYTES,
                }),
                ..of_packets(POLICED_PACKETS)
            },
        }
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, place: Place { loss_percent, round_trip_milliseconds } } = self;
        write!(f, "{queue}, loss {loss_percent}%, {round_trip_milliseconds} ms")
    }
}

fn controls(plan: &Plan) -> &'static [[Way; 2]] {
    plan.choose(&CONTROLS, &CONTROLS[..1], &CONTROLS)
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(shared: Shared, other: Way, form: Form) -> String {
    match form {
        Form::Packets => format!("fairness, bare beside {other}, {shared}"),
        _ => format!("fairness, bare beside {form}, {}, {shared}", other.control),
    }
}

fn needs(setting: &Setting<'_>, form: Form) -> Vec<Need> {
    let mut needs = Vec::new();
    for shared in Shared::of(&setting.plan) {
        for &[bare, tunnelled] in controls(&setting.plan) {
            let others = [(bare, Form::Packets), (tunnelled, form)].into_iter();
            needs.extend(
                others.map(|(other, form)| Need::Scenario(Box::new(scenario(setting, shared, other, form)))),
            );
        }
    }
    needs
}

fn scenario(setting: &Setting<'_>, shared: Shared, other: Way, form: Form) -> Scenario {
    let content = setting.testbed.lab_content(File::Long);
    let carrier = other.carrier();
    let link = shared.link();
    let downloads = [Carrier::Bare, carrier.clone()].into_iter().enumerate().flat_map(|(chain, carrier)| {
        let content = content.name.clone();
        (0..FILES).map(move |number| Download {
            place: STATION.to_owned(),
            from: Pair::server(&carrier),
            content: content.clone(),
            port: lab::HTTP_PORT,
            start: match number {
                0 => Start::AtSeconds(START_SECONDS),
                _ => Start::After(chain * FILES + number - 1),
            },
            stall_seconds: 60,
        })
    });
    let mut scenario = Scenario {
        name: name(shared, other, form),
        seeds: (1..=u64::from(seeds(&setting.plan))).collect(),
        topology: Pair::topology(&link, &link),
        parameters: other.parameters(),
        downloads: downloads.collect(),
        contents: vec![content.clone()],
        servers: vec![GATEWAY.to_owned()],
        daemons: setting.testbed.pair().daemons_with_repairs(&carrier),
        bound_seconds: START_SECONDS + SECONDS,
        ..Scenario::default()
    };
    form.configure(&mut scenario);
    scenario
}

/// Bytes of both downloads: the bare one, and the other one.
fn bytes(outcome: &Outcome) -> Option<[f64; 2]> {
    let (bare, other) = outcome.downloads.split_at_checked(FILES)?;
    Some([bare, other].map(|files| files.iter().map(|file| file.bytes as f64).sum()))
}

fn rows(results: &Results<'_>, form: Form) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for shared in Shared::of(&results.setting.plan) {
        for &[bare, tunnelled] in controls(&results.setting.plan) {
            let of = |other, form| -> Result<Vec<Option<[f64; 2]>>> {
                Ok(results.outcomes(&name(shared, other, form))?.iter().map(bytes).collect())
            };
            let pairs: Vec<([f64; 2], [f64; 2])> = of(tunnelled, form)?
                .into_iter()
                .zip(of(bare, Form::Packets)?)
                .filter_map(|(one, other)| Some((one?, other?)))
                .collect();
            for (what, index) in [("bare", 0), ("tunnelled", 1)] {
                let by_bare: Vec<(f64, f64)> =
                    pairs.iter().map(|(beside, bare)| (beside[index], bare[0].midpoint(bare[1]))).collect();
                let Place { loss_percent, round_trip_milliseconds } = shared.place;
                let control = bare.control;
                let series = format!("{what}, {round_trip_milliseconds} ms, loss {loss_percent}%: {control}");
                let figure = if form == Form::Packets { FIGURE.id } else { OF_STREAMS.id };
                let row = Row::new(figure, series, X::Name(shared.queue.to_string()), "ratio");
                let estimate = Estimate::paired_median(&by_bare);
                let row = row.measured(estimate, results.setting.driver, by_bare.len() as u32);
                rows.push(row.goal((index == 0).then_some(GOAL)));
            }
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
    fn one_download_is_always_bare_and_each_has_three_files_in_turn() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let needs: Vec<Need> =
            [Form::Packets, Form::Streams].into_iter().flat_map(|form| needs(&setting, form)).collect();
        assert_eq!(needs.len(), 20 * 8);
        for need in needs {
            let Need::Scenario(scenario) = need else { panic!("a scenario") };
            scenario.check().unwrap();
            let is_bare = |at: usize| scenario.downloads[at].from == Pair::server(&Carrier::Bare);
            assert!((0..FILES).all(is_bare));
            assert_eq!(is_bare(FILES), scenario.daemons.is_empty(), "{}", scenario.name);
            assert_eq!(scenario.downloads[2 * FILES - 1].start, Start::After(2 * FILES - 2));
        }
    }

    #[test]
    fn each_queue_is_a_link_of_its_own_and_the_oldest_keep_their_names() {
        let shared = |queue| Shared { queue, place: Place { loss_percent: 2, round_trip_milliseconds: 20 } };
        let links = Queue::ALL.map(|queue| shared(queue).link());
        for (at, link) in links.iter().enumerate() {
            link.validate().unwrap();
            assert!(!links[..at].contains(link), "{}", Queue::ALL[at]);
        }
        let name = name(shared(Queue::Packets(10)), Way::DEFAULT, Form::Packets);
        assert_eq!(name, "fairness, bare beside adaptive, cubic, 10 packets, loss 2%, 20 ms");
    }
}
