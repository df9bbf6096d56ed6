//! Table 5: an access point, two stations, real daemons and real TCP.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};

use air::medium::{DirectedLoss, MediumConfig};
use air::timing::Standard;
use air::{Bitrate, LossConfig, RadioConfig};
use anyhow::{Context as _, Result};
use lab::{Channel, Content, Daemon, Download, Outcome, Place, Scenario, Start, Topology};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::named_node::{self, NamedNode, peer};
use crate::papers;
use crate::report::Claim;
use crate::row::{Row, of};

/// Table 5.
pub const FIGURE: Figure = Figure {
    id: "table-5",
    title: "C2's goodput over a real access point, by loss",
    x: "overhearing, %",
    remark: "One 802.11g channel at 12 Mbit/s; C1 stands beside the access point. C2 loses one try in ten, three or five of \
             what the access point sends to anybody. These are losses at one rate and no distances: the paper's stations at 3, \
             6 and 10 m have rates of their own, which it does not print. Its values stand beside the losses in its order. \
             REfactor as printed is not run here: the node has neither MAXP nor marked slots nor estimates by rates. Both \
             stations download by TCP at a time, and {refactor/section-5.3/trace-high/inter} of what C2 fetches has been on its way to C1 before, in stretches of 4 to 60 KB (the \
             high mix). Ours removes only chunks that \
             stations overheard and received; the default tunnel removes and compresses besides. The paper prints its two goodput columns the other way round: with \
             the larger one as REfactor's, its percentages are right.",
    needs,
    rows,
};

const GATEWAY: &str = "gateway";
const STATIONS: [&str; 2] = ["c1", "c2"];
const CELL: &str = "cell";
/// Percent of tries that C2 loses, and what the paper has at a distance. The heads of its two columns of
/// goodput are interchanged here: an improvement is printed between them that they have only so.
const DISTANCES: [(u32, Distance); 3] = [
    (
        10,
        Distance {
            name: "3 m",
            without: "table-5/refactor/3m",
            with: "table-5/no-re/3m",
            gain: "table-5/improvement/3m",
        },
    ),
    (
        30,
        Distance {
            name: "6 m",
            without: "table-5/refactor/6m",
            with: "table-5/no-re/6m",
            gain: "table-5/improvement/6m",
        },
    ),
    (
        50,
        Distance {
            name: "10 m",
            without: "table-5/refactor/10m",
            with: "table-5/no-re/10m",
            gain: "table-5/improvement/10m",
        },
    ),
];

/// A distance of the paper, with the ids of its goodput without RE and with, and of its gain.
#[derive(Debug, Clone, Copy)]
struct Distance {
    name: &'static str,
    without: &'static str,
    with: &'static str,
    gain: &'static str,
}

const RATE_MBPS: u64 = 12;
const BYTES: usize = 3_000_000;
/// The part of C2's content that C1 fetches, too, and how long a stretch of it is.
const SHARED: f64 = 0.49;
const STRETCH_BYTES: std::ops::Range<usize> = 4_000..60_000;
const START_SECONDS: f64 = 3.0;
/// How much earlier C1 begins.
const AHEAD_SECONDS: f64 = 1.0;
const STALL_SECONDS: u32 = 60;
const BOUND_SECONDS: f64 = 300.0;

/// What carries packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    Nothing,
    Refactor,
    Default,
}

impl Scheme {
    const ALL: [Self; 3] = [Self::Nothing, Self::Refactor, Self::Default];

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "no RE",
            Self::Refactor => "ours",
            Self::Default => "default tunnel",
        }
    }

    /// The tables of a node's configuration that differ.
    fn tables(self, listens: bool) -> String {
        let policy = if self == Self::Default { "adaptive" } else { "off" };
        let overhear = match (self, listens) {
            (Self::Nothing, _) => String::new(),
            (_, false) => format!("[overhear]\nrate_mbps = {RATE_MBPS}\n"),
            (_, true) => format!("[overhear]\nrate_mbps = {RATE_MBPS}\ninterface = \"{CELL}\"\n"),
        };
        format!("[reduce]\npolicy = \"{policy}\"\n{overhear}")
    }
}

/// One download of each station's.
#[derive(Debug, Clone, Copy)]
struct Trial {
    lost_percent: u32,
    scheme: Scheme,
}

impl Trial {
    fn name(self) -> String {
        format!("table 5, {}% lost, {}", self.lost_percent, self.scheme.name())
    }

    fn scenario(self, setting: &Setting<'_>) -> Result<Scenario> {
        let contents = contents(setting)?;
        let starts = [START_SECONDS, START_SECONDS + AHEAD_SECONDS];
        let downloads =
            STATIONS.iter().zip(&contents).zip(starts).map(|((place, content), start)| Download {
                place: (*place).to_owned(),
                from: IpAddr::from(inner(GATEWAY)),
                content: content.name.clone(),
                port: lab::HTTP_PORT,
                start: Start::AtSeconds(start),
                stall_seconds: STALL_SECONDS,
            });
        Ok(Scenario {
            name: self.name(),
            seeds: (1..=u64::from(seeds(setting))).collect(),
            topology: self.topology(),
            parameters: [("net.ipv4.tcp_congestion_control".to_owned(), "cubic".to_owned())].into(),
            downloads: downloads.collect(),
            contents: contents.into(),
            servers: vec![GATEWAY.to_owned()],
            daemons: self.daemons(),
            bound_seconds: BOUND_SECONDS,
            ..Scenario::default()
        })
    }

    fn topology(self) -> Topology {
        let names = || [GATEWAY, STATIONS[0], STATIONS[1]].map(str::to_owned);
        let probability = f64::from(self.lost_percent) / 100.0;
        let rate = Bitrate::from_megabits_per_second(RATE_MBPS);
        let medium = MediumConfig {
            stations: vec![[0.0, 0.0], [3.0, 0.0], [0.0, 10.0]],
            listeners: vec![1, 2],
            radio: RadioConfig { standard: Standard::G, rate, ..MediumConfig::default().radio },
            broadcast_rate: rate,
            directed_losses: vec![DirectedLoss {
                from: 0,
                to: 2,
                loss: LossConfig::Bernoulli { probability },
            }],
            ..MediumConfig::default()
        };
        let mut topology = Topology {
            places: names().map(|name| Place { name, ..Place::default() }).into(),
            links: Vec::new(),
            channels: vec![Channel { name: CELL.to_owned(), stations: names().into(), medium }],
            ..Topology::default()
        };
        for number in 0..topology.places.len() {
            let others = if number == 0 { &STATIONS[..] } else { &[GATEWAY] };
            topology.places[number].routes = topology.routes_on(CELL, others.iter().copied());
        }
        topology
    }

    fn daemons(self) -> Vec<Daemon> {
        let node = |name: &str, role: &str, peers: &str| {
            let config = format!(
                "{}[tunnel]\ninterface = \"oh0\"\naddresses = [\"{}/24\"]\n{peers}{}",
                named_node::beginning(name, role),
                inner(name),
                self.scheme.tables(role == "station")
            );
            NamedNode { name, place: name, config }.daemon()
        };
        let peers = STATIONS.map(|name| peer(name, None, &format!("\"{}/32\"", inner(name))));
        let gateway = peer(GATEWAY, Some("10.78.0.1:4780"), &format!("\"{}/32\"", inner(GATEWAY)));
        let stations = STATIONS.map(|name| node(name, "station", &gateway));
        [node(GATEWAY, "gateway", &peers.concat())].into_iter().chain(stations).collect()
    }
}

fn inner(name: &str) -> Ipv4Addr {
    let number = if name == GATEWAY {
        1
    } else if name == STATIONS[0] {
        2
    } else {
        3
    };
    Ipv4Addr::new(10, 80, 0, number)
}

/// What C1 fetches, and what C2 does: stretches that stand earlier in the first, among new ones.
fn contents(setting: &Setting<'_>) -> Result<[Content; 2]> {
    const SEED: u64 = 5;
    let rng = &mut ChaCha8Rng::seed_from_u64(SEED);
    let mut first = vec![0; BYTES];
    rng.fill_bytes(&mut first);
    let mut second = Vec::with_capacity(BYTES + STRETCH_BYTES.end);
    let mut shared_bytes = 0;
    while second.len() < BYTES {
        let (at, bytes) = (second.len(), rng.random_range(STRETCH_BYTES));
        if at >= bytes && (shared_bytes as f64) < SHARED * at as f64 {
            shared_bytes += bytes;
            let from = rng.random_range(0..=at - bytes);
            second.extend_from_slice(&first[from..from + bytes]);
        } else {
            second.resize(at + bytes, 0);
            rng.fill_bytes(&mut second[at..]);
        }
    }
    second.truncate(BYTES);
    let content = |name: &str, bytes: &[u8]| -> Result<Content> {
        let file = setting.testbed.folder().join(format!("table-5-{name}"));
        fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Content { name: name.to_owned(), file, skip_bytes: 0, length_bytes: None })
    };
    Ok([content(STATIONS[0], &first)?, content(STATIONS[1], &second)?])
}

fn seeds(setting: &Setting<'_>) -> u32 {
    setting.plan.seeds(10, 1, 3)
}

fn trials(setting: &Setting<'_>) -> Vec<Trial> {
    let distances = setting.plan.choose(&DISTANCES[..], &DISTANCES[..1], &DISTANCES[..1]);
    let of = |&(lost_percent, _): &(u32, _)| Scheme::ALL.map(|scheme| Trial { lost_percent, scheme });
    distances.iter().flat_map(of).collect()
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let scenario = |trial: Trial| trial.scenario(setting).map_err(|error| tracing::error!("{error:#}")).ok();
    trials(setting).into_iter().filter_map(scenario).map(|it| Need::Scenario(Box::new(it))).collect()
}

/// C2's goodput in Mbit/s, if all of it came as it was.
fn goodput(outcome: &Outcome) -> Option<f64> {
    let download = outcome.downloads.get(1)?;
    download.came_whole().then(|| download.whole_bytes as f64 * 8e-6 / download.seconds)
}

/// By how many percent C2's goodput is higher than without RE.
fn gain(scheme: Scheme) -> String {
    format!("gain: {}", scheme.name())
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for trial in trials(&results.setting) {
        let Some((lost, distance)) = DISTANCES.into_iter().find(|(lost, _)| *lost == trial.lost_percent)
        else {
            continue;
        };
        let stated = |id| papers::REFACTOR.value(id).number();
        let [paper_goodput, paper_gain] = match trial.scheme {
            Scheme::Nothing => [Some(stated(distance.without)), None],
            Scheme::Refactor => [distance.with, distance.gain].map(|id| Some(stated(id))),
            Scheme::Default => [None; 2],
        };
        let goodputs = |scheme| -> Result<Vec<Option<f64>>> {
            Ok(results.outcomes(&Trial { scheme, ..trial }.name())?.iter().map(goodput).collect())
        };
        let (ours, theirs) = (goodputs(trial.scheme)?, goodputs(Scheme::Nothing)?);
        let (driver, seeds) = (results.setting.driver, seeds(&results.setting));
        let row = |series: String, unit| Row::new(FIGURE.id, series, 100 - lost, unit);
        let whole: Vec<f64> = ours.iter().copied().flatten().collect();
        let measured = row(format!("goodput: {}", trial.scheme.name()), "Mbit/s")
            .paper(paper_goodput)
            .measured(Estimate::mean(&whole), driver, seeds)
            .note(format!("the paper at {}, its columns interchanged", distance.name));
        let broken = ours.len() - whole.len();
        rows.push(if broken > 0 {
            measured.note(format!("{broken} downloads did not end"))
        } else {
            measured
        });
        if trial.scheme != Scheme::Nothing {
            let pairs = ours.iter().zip(&theirs).filter_map(|(ours, theirs)| Some(((*ours)?, (*theirs)?)));
            let percent: Vec<f64> = pairs.map(|(ours, theirs)| (ours / theirs - 1.0) * 100.0).collect();
            let row = row(gain(trial.scheme), "%").paper(paper_gain);
            rows.push(row.measured(Estimate::mean(&percent), driver, seeds));
        }
    }
    Ok(rows)
}

/// Holds rows against every claim.
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let series = gain(Scheme::Refactor);
    let found: Vec<f64> =
        of(rows, FIGURE.id).filter(|row| row.series == series).filter_map(|row| row.value).collect();
    let texts = found.iter().map(|ours| format!("{ours:.0}%")).collect();
    let holds = found.iter().all(|ours| *ours > 0.0);
    vec![Claim::judged("table 5, ours: C2's goodput is higher at every loss", texts, holds)]
}
