//! The paper's nine pairs on one channel (section V-D): base stations in a grid of 400 m, a station 50 m from
//! each, and behind each base station a wire of its own to the server.
//!
//! The channel is 802.11b's at 2 Mbit/s without retries, so collided frames are lost. Diagonal base stations
//! do not sense each other, and stations between them sense both. As in the paper's simulator, a receiver
//! that senses one frame does not switch to a stronger, later one; that is the source of collisions.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use air::medium::{DirectedLoss, MediumConfig};
use air::timing::Standard;
use air::{Bitrate, LinkConfig, RadioConfig};
use anyhow::Result;
use lab::{Action, Channel, Daemon, Download, Event, Link, Medium, Outcome, Place, Route, Scenario};
use lab::{Start, Topology};

use super::bursts::{Losses, PACKET_BITS};
use super::path::{Repair, START_SECONDS, parameters};
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Results, Setting};
use crate::pair::{Node, Program, Role, SERVER};

const PAIRS: u8 = 9;
/// Base stations of a row, from one to the next, and from the edge of the square kilometre to the first.
const ROW: u8 = 3;
const APART_METRES: f64 = 400.0;
const MARGIN_METRES: f64 = 100.0;
/// Distance from a base station to its station in the east.
const STATION_METRES: f64 = 50.0;
/// The channel's name, and its interfaces'.
const CHANNEL: &str = "cell";
/// Handshakes collide too: time enough for all of them.
const ROUTE_SECONDS: f64 = 8.0;

/// Nine downloads at once, each from the server to its station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grid {
    pub repair: Repair,
    pub buffer_packets: u32,
    /// Losses of the base stations' frames.
    pub losses: Losses,
    pub seconds: u32,
}

fn base(pair: u8) -> String {
    format!("base{pair}")
}

fn station(pair: u8) -> String {
    format!("station{pair}")
}

fn wire(pair: u8) -> String {
    format!("wire{pair}")
}

/// Address of the server at the end of a pair's wire.
fn server(pair: u8) -> IpAddr {
    IpAddr::from([10, 77, pair, 1])
}

/// Inside a pair's tunnel: 1 is the base station, 2 the station.
fn inner(pair: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 80, pair, host)
}

/// On the channel.
fn radio(pair: u8, host: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, 0, pair * 2 + host)
}

impl Grid {
    pub(super) fn name(&self) -> String {
        let Self { repair, buffer_packets, losses, seconds } = self;
        format!("xbc: grid, {repair}, buffer {buffer_packets}, {losses}, {seconds} s")
    }

    fn medium(&self) -> MediumConfig {
        let places = (0..PAIRS).flat_map(|pair| {
            let [x, y] = [pair % ROW, pair / ROW].map(|at| MARGIN_METRES + f64::from(at) * APART_METRES);
            [[x, y], [x + STATION_METRES, y]]
        });
        let lossy = (0..usize::from(PAIRS)).map(|pair| DirectedLoss {
            from: pair * 2,
            to: pair * 2 + 1,
            loss: self.losses.on_air(PACKET_BITS),
        });
        MediumConfig {
            radio: RadioConfig {
                standard: Standard::B,
                rate: Bitrate::from_megabits_per_second(2),
                retry_limit: 0,
            },
            turns_to_stronger: false,
            stations: places.collect(),
            directed_losses: lossy.collect(),
            ..MediumConfig::default()
        }
    }

    fn topology(&self) -> Topology {
        let wire_config = LinkConfig {
            rate: Some(Bitrate::from_bits_per_second(10_000_000)),
            delay: Duration::from_millis(50),
            ..LinkConfig::default()
        };
        let to = |host: Ipv4Addr, via: IpAddr| Route { to: IpAddr::from(host).into(), via };
        let mut server_place = Place { name: SERVER.to_owned(), ..Place::default() };
        let (mut places, mut links) = (Vec::new(), Vec::new());
        for pair in 0..PAIRS {
            let [own, other] = [radio(pair, 1), radio(pair, 2)];
            server_place.routes.push(to(inner(pair, 2), [10, 77, pair, 2].into()));
            places.push(Place {
                name: base(pair),
                forwards: true,
                routes: vec![to(other, other.into())],
                ..Place::default()
            });
            places.push(Place { name: station(pair), routes: vec![to(own, own.into())], ..Place::default() });
            let medium = Medium::Air { forward: wire_config.clone(), backward: wire_config.clone() };
            links.push(Link::new(&wire(pair), SERVER, &base(pair), medium));
        }
        let stations = places.iter().map(|place| place.name.clone()).collect();
        places.push(server_place);
        let channel = Channel { name: CHANNEL.to_owned(), stations, medium: self.medium() };
        Topology { places, links, channels: vec![channel], ..Topology::default() }
    }

    fn daemons(&self, setting: &Setting<'_>, pair: u8) -> [Daemon; 2] {
        let keys = setting.testbed.pair();
        let node = |role, place: &str, own: u8, other: u8, endpoint: Option<&str>, beyond: &str| {
            keys.node(&Node {
                role,
                place,
                tunnel: &format!("interface = \"oh0\"\naddresses = [\"{}/30\"]", inner(pair, own)),
                endpoint,
                allowed_ips: &format!("{beyond}\"{}/32\"", inner(pair, other)),
                reduce: "policy = \"off\"\n",
                program: Program::Shipped,
            })
        };
        let mut gateway = node(Role::Gateway, &base(pair), 1, 2, None, "");
        gateway.config += &self.repair.config(self.buffer_packets);
        let endpoint = format!("{}:4780", radio(pair, 1));
        let beyond = format!("\"{}/32\", ", server(pair));
        [gateway, node(Role::Station, &station(pair), 2, 1, Some(&endpoint), &beyond)]
    }

    pub(super) fn scenario(&self, setting: &Setting<'_>, seeds: u32) -> Scenario {
        let route = |pair: u8| Event {
            at_seconds: ROUTE_SECONDS,
            action: Action::Run { place: station(pair), command: super::path::route(server(pair)) },
        };
        let download = |pair: u8| Download {
            place: station(pair),
            from: server(pair),
            content: File::Long.slug().to_owned(),
            port: lab::HTTP_PORT,
            start: Start::AtSeconds(ROUTE_SECONDS + START_SECONDS),
            stall_seconds: 600,
        };
        Scenario {
            name: self.name(),
            seeds: (1..=u64::from(seeds)).collect(),
            topology: self.topology(),
            parameters: parameters("reno", true, Some(super::path::WINDOW_PACKETS)),
            contents: vec![setting.testbed.lab_content(File::Long)],
            servers: vec![SERVER.to_owned()],
            daemons: (0..PAIRS).flat_map(|pair| self.daemons(setting, pair)).collect(),
            downloads: (0..PAIRS).map(download).collect(),
            events: (0..PAIRS).map(route).collect(),
            bound_seconds: ROUTE_SECONDS + START_SECONDS + f64::from(self.seconds),
            ..Scenario::default()
        }
    }

    /// The mean of the nine downloads' Mbit/s, over the seeds.
    pub(super) fn throughput(&self, results: &Results<'_>) -> Result<Option<Estimate>> {
        let mean = |outcome: &Outcome| {
            let rates = outcome.downloads.iter().map(|it| it.bytes as f64 * 8e-6 / f64::from(self.seconds));
            rates.sum::<f64>() / f64::from(PAIRS)
        };
        let outcomes = results.outcomes(&self.name())?;
        Ok(Estimate::mean(&outcomes.iter().map(mean).collect::<Vec<_>>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Contents;
    use crate::plan::{Extent, Plan, Traced};
    use crate::row::Driver;
    use crate::testbed::Testbed;

    const GRID: Grid =
        Grid { repair: Repair::Adaptive, buffer_packets: 4, losses: Losses::Random(256), seconds: 10 };

    #[test]
    fn base_stations_sense_their_neighbours_and_not_those_on_the_diagonal() {
        let propagation = GRID.medium().propagation();
        let [corner, beside, centre] = [0, 2, 8];
        assert!(propagation.is_sensed(corner, beside) && propagation.is_sensed(beside, centre));
        assert!(!propagation.is_sensed(corner, centre));
        assert!(
            propagation.is_sensed(centre, corner + 1),
            "what is hidden from the sender its station senses"
        );
        assert!(propagation.delivery(corner, corner + 1, 0.0) == 1.0);
        assert!(GRID.medium().stations.iter().flatten().all(|metres| (0.0..=1000.0).contains(metres)));
    }

    #[test]
    fn the_grid_is_a_scenario_that_makes_sense() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Quick, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let scenario = GRID.scenario(&setting, 1);
        scenario.check().unwrap();
        assert_eq!((scenario.downloads.len(), scenario.daemons.len()), (9, 18));
        let address = |place: &str| scenario.topology.address_on(CHANNEL, place);
        assert_eq!(address("base3"), Some(radio(3, 1)));
        assert_eq!(address("station8"), Some(radio(8, 2)));
    }
}
