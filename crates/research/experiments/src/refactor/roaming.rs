//! Section 3.4: a station that goes from one gateway to another in the middle of a download, with real TCP.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use air::{Bitrate, LinkConfig, LossConfig};
use anyhow::Result;
use lab::{
    Action, Content, Daemon, Direction, Download, Event, Link, Medium, Outcome, Place, Scenario, Start,
    Topology,
};

use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::named_node::{self, NamedNode, gateway, peer};
use crate::report::Claim;
use crate::row::{Row, of};

/// Roaming.
pub const FIGURE: Figure = Figure {
    id: "roaming",
    title: "A station moves to another gateway in the middle of a download",
    x: "link",
    remark: "Two gateways of one operator, a wire between them, a server behind the first; a link of 8 Mbit/s from each to the \
             station. Two seconds after the download has begun the first gateway's link carries nothing any more. The station \
             notices that its gateway is silent after two seconds and goes to the other, with its address and its TCP \
             connection; the first gateway sends what comes for it through the tunnel between the two. How much longer the \
             download takes than where the link holds is what users notice: the silence and TCP's own timeouts.",
    needs,
    rows,
};

const SERVER: &str = "server";
const GATEWAYS: [&str; 2] = ["gateway0", "gateway1"];
const STATION: &str = "station";
const WIRE: &str = "wire";
const BETWEEN: &str = "between";
const RADIOS: [&str; 2] = ["radio0", "radio1"];
const BYTES: u64 = 5_000_000;
const START_SECONDS: f64 = 5.0;
const GONE_SECONDS: f64 = START_SECONDS + 2.0;
const STALL_SECONDS: u32 = 60;
const BOUND_SECONDS: f64 = 180.0;

/// Whether the first gateway's link holds, and how long the links' round trip is.
#[derive(Debug, Clone, Copy)]
struct Trial {
    round_trip_milliseconds: u32,
    moves: bool,
}

impl Trial {
    fn name(self) -> String {
        format!("roaming, {} ms{}", self.round_trip_milliseconds, if self.moves { ", moves" } else { "" })
    }

    fn radio(self, loss: LossConfig) -> LinkConfig {
        LinkConfig {
            rate: Some(Bitrate::from_bytes_per_second(1_000_000)),
            delay: Duration::from_micros(u64::from(self.round_trip_milliseconds) * 500),
            loss,
            ..LinkConfig::default()
        }
    }

    fn topology(self) -> Topology {
        let air = |config: LinkConfig| Medium::Air { forward: config.clone(), backward: config };
        let wire = || air(LinkConfig::default());
        let radio = || air(self.radio(LossConfig::None));
        let place = |name: &str| Place {
            name: name.to_owned(),
            forwards: GATEWAYS.contains(&name),
            ..Place::default()
        };
        let mut topology = Topology {
            places: [SERVER, GATEWAYS[0], GATEWAYS[1], STATION].map(place).into(),
            links: vec![
                Link::new(WIRE, SERVER, GATEWAYS[0], wire()),
                Link::new(BETWEEN, GATEWAYS[0], GATEWAYS[1], wire()),
                Link::new(RADIOS[0], GATEWAYS[0], STATION, radio()),
                Link::new(RADIOS[1], GATEWAYS[1], STATION, radio()),
            ],
            channels: Vec::new(),
            ..Topology::default()
        };
        topology.places[0].routes = topology.default_routes(WIRE, GATEWAYS[0]);
        // Traffic from stations uses the operator's wires like all other traffic.
        topology.places[2].routes = topology.default_routes(BETWEEN, GATEWAYS[0]);
        topology
    }

    fn scenario(self, setting: &Setting<'_>) -> Scenario {
        let topology = self.topology();
        let from = topology.ipv4(WIRE, SERVER).unwrap_or(Ipv4Addr::UNSPECIFIED);
        let nothing = self.radio(LossConfig::Bernoulli { probability: 1.0 });
        let ends = |direction| Event {
            at_seconds: GONE_SECONDS,
            action: Action::Configure { link: RADIOS[0].to_owned(), direction, config: nothing.clone() },
        };
        Scenario {
            name: self.name(),
            seeds: (1..=u64::from(seeds(setting))).collect(),
            parameters: [("net.ipv4.tcp_congestion_control".to_owned(), "cubic".to_owned())].into(),
            contents: vec![Content {
                name: "content".to_owned(),
                file: setting.testbed.lab_content(File::Long).file,
                skip_bytes: 0,
                length_bytes: Some(BYTES),
            }],
            servers: vec![SERVER.to_owned()],
            daemons: daemons(&topology, from),
            downloads: vec![Download {
                place: STATION.to_owned(),
                from: IpAddr::from(from),
                content: "content".to_owned(),
                port: lab::HTTP_PORT,
                start: Start::AtSeconds(START_SECONDS),
                stall_seconds: STALL_SECONDS,
            }],
            events: if self.moves {
                vec![ends(Direction::Forward), ends(Direction::Backward)]
            } else {
                Vec::new()
            },
            bound_seconds: BOUND_SECONDS,
            topology,
            ..Scenario::default()
        }
    }
}

/// Both gateways, which know each other, and the station, which knows both.
fn daemons(topology: &Topology, server: Ipv4Addr) -> Vec<Daemon> {
    let endpoint =
        |link: &str, place: &str| topology.ipv4(link, place).map(|address| format!("{address}:4780"));
    let node = |name: &str, role: &str, number: u8, tables: &str| {
        let config = format!(
            "{}[tunnel]\ninterface = \"oh0\"\naddresses = [\"10.80.0.{number}/24\"]\n{tables}[overhear]\n",
            named_node::beginning(name, role)
        );
        NamedNode { name, place: name, config }.daemon()
    };
    let mut daemons = Vec::new();
    for (number, (name, other)) in (1..).zip([(GATEWAYS[0], GATEWAYS[1]), (GATEWAYS[1], GATEWAYS[0])]) {
        let theirs = format!("\"10.80.0.{}/32\"", 3 - number);
        let tables = gateway(other, endpoint(BETWEEN, other).as_deref(), &theirs)
            + &peer(STATION, None, "\"10.80.0.3/32\"");
        daemons.push(node(name, "gateway", number, &tables));
    }
    let beyond = format!("\"10.80.0.0/24\", \"{server}/32\"");
    let first = gateway(GATEWAYS[0], endpoint(RADIOS[0], GATEWAYS[0]).as_deref(), &beyond);
    let second = gateway(GATEWAYS[1], endpoint(RADIOS[1], GATEWAYS[1]).as_deref(), "");
    daemons.push(node(STATION, "station", 3, &(first + &second)));
    daemons
}

fn seeds(setting: &Setting<'_>) -> u32 {
    setting.plan.seeds(10, 1, 2)
}

fn round_trips(setting: &Setting<'_>) -> &'static [u32] {
    setting.plan.choose(&[20, 100], &[20], &[20])
}

fn trial(round_trip_milliseconds: u32, moves: bool) -> Trial {
    Trial { round_trip_milliseconds, moves }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let both = |round_trip: &u32| [false, true].map(|moves| trial(*round_trip, moves));
    let trials = round_trips(setting).iter().flat_map(both);
    trials.map(|trial| Need::Scenario(Box::new(trial.scenario(setting)))).collect()
}

/// How much longer a download takes.
const PAUSE: &str = "longer where it moves";

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &round_trip in round_trips(&results.setting) {
        let place = format!("{round_trip} ms");
        let row = |series: &str| Row::new(FIGURE.id, series, place.as_str(), "s");
        let [stays, moves] = [false, true].map(|moves| {
            let outcomes = results.outcomes(&trial(round_trip, moves).name())?;
            anyhow::Ok(outcomes.iter().map(Outcome::first_seconds).collect::<Vec<_>>())
        });
        let (stays, moves) = (stays?, moves?);
        let driver = results.setting.driver;
        for (series, of) in [("time: the link holds", &stays), ("time: it moves", &moves)] {
            let whole: Vec<f64> = of.iter().copied().flatten().collect();
            let row = row(series).measured(Estimate::mean(&whole), driver, of.len() as u32);
            let broken = of.len() - whole.len();
            rows.push(if broken > 0 { row.note(format!("{broken} downloads did not end")) } else { row });
        }
        let longer = moves.iter().zip(&stays).filter_map(|(moves, stays)| Some((*moves)? - (*stays)?));
        let longer: Vec<f64> = longer.collect();
        rows.push(row(PAUSE).measured(Estimate::mean(&longer), driver, longer.len() as u32));
    }
    Ok(rows)
}

/// Holds rows against every claim.
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let of_figure: Vec<&Row> = of(rows, FIGURE.id).collect();
    let pauses: Vec<String> = of_figure
        .iter()
        .filter(|row| row.series == PAUSE)
        .filter_map(|row| Some(format!("{:.1} s", row.value?)))
        .collect();
    let holds = of_figure.iter().all(|row| !row.note.contains("did not end"));
    vec![Claim::judged(
        "roaming: the download ends, with every byte, over the connection it began with",
        pauses,
        holds,
    )]
}
