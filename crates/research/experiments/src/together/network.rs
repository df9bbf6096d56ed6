//! The network: its places, its nodes, its cache, and what its users fetch.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use air::LinkConfig;
use air::medium::MediumConfig;

use lab::{Channel, Content, Daemon, Download, Link, Medium, Place, Ready, Scenario, Start, Topology};

use super::combination::{Combination, Mechanism};
use crate::cell::File;
use crate::figure::Setting;
use crate::named_node::{self, NamedNode, peer};
use crate::pair::Carrier;
use crate::scheme::Scheme;

const CELL: &str = "cell";
const WIRE: &str = "wire";
const SERVER: &str = "server";
const GATEWAY: &str = "gateway";
const RELAY: &str = "relay";
/// The stations in the gateway's range, then the one behind the relay.
const STATIONS: [&str; 3] = ["near1", "near2", "far"];
/// The stations of the channel with their positions in metres; a frame reaches 250.
const ON_CHANNEL: [(&str, [f64; 2]); 5] = [
    (GATEWAY, [0.0, 0.0]),
    (RELAY, [180.0, 0.0]),
    (STATIONS[0], [60.0, 60.0]),
    (STATIONS[1], [60.0, -60.0]),
    (STATIONS[2], [340.0, 0.0]),
];
/// Sender and receiver of each hop.
const HOPS: [(&str, &str); 4] =
    [(GATEWAY, RELAY), (GATEWAY, STATIONS[0]), (GATEWAY, STATIONS[1]), (RELAY, STATIONS[2])];
/// Retries of a frame. There is one, so that losses reach the hop, as with radios that give up early.
const RETRIES: u8 = 1;
const CACHE_PORT: u16 = 8080;
/// What all fetch, and what each fetches beside that.
const SHARED_BYTES: u64 = 400_000;
const OWN_BYTES: u64 = 200_000;
const START_SECONDS: f64 = 3.0;
const STALL_SECONDS: u32 = 60;
const BOUND_SECONDS: f64 = 600.0;

/// Position on the grid, and active mechanisms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// Percent of tries that each pair of stations loses.
    pub loss_percent: u32,
    /// The round trip of the wire behind the gateway.
    pub wire_milliseconds: u32,
    /// Active mechanisms.
    pub combination: Combination,
    /// Whether nodes without redundancy elimination compress each packet and repair the hop's losses.
    pub is_repaired: bool,
}

impl Trial {
    /// Its scenario's name.
    pub fn name(&self) -> String {
        let Self { loss_percent, wire_milliseconds, combination, is_repaired } = self;
        let repaired = if *is_repaired { ", zstd and ARQ" } else { "" };
        format!("together, {loss_percent}% of tries, {wire_milliseconds} ms, {combination}{repaired}")
    }

    /// The scenario, with the seeds from 1 on.
    pub fn scenario(&self, setting: &Setting<'_>, seeds: u32) -> Scenario {
        let (contents, downloads) = self.fetches(setting);
        Scenario {
            name: self.name(),
            seeds: (1..=u64::from(seeds)).collect(),
            topology: self.topology(),
            parameters: [("net.ipv4.tcp_congestion_control".to_owned(), "cubic".to_owned())].into(),
            contents,
            servers: vec![SERVER.to_owned()],
            daemons: self.daemons(),
            downloads,
            fresh_seconds: Some(3600),
            bound_seconds: BOUND_SECONDS,
            ..Scenario::default()
        }
    }

    fn topology(&self) -> Topology {
        let loss = f64::from(self.loss_percent) / 100.0;
        let mut medium = MediumConfig {
            stations: ON_CHANNEL.iter().map(|(_, place)| *place).collect(),
            least_loss: loss,
            most_loss: loss,
            listeners: (1..ON_CHANNEL.len()).collect(),
            takes_turns: true,
            ..MediumConfig::default()
        };
        medium.radio.retry_limit = RETRIES;
        let delay = Duration::from_micros(u64::from(self.wire_milliseconds) * 500);
        let wire = LinkConfig { delay, ..LinkConfig::default() };
        let wire = Medium::Air { forward: wire.clone(), backward: wire };
        let stations = ON_CHANNEL.iter().map(|(name, _)| (*name).to_owned()).collect();
        let place = |name: &str| Place {
            name: name.to_owned(),
            forwards: [GATEWAY, RELAY].contains(&name),
            ..Place::default()
        };
        let names = ON_CHANNEL.iter().map(|(name, _)| *name).chain([SERVER]);
        let mut topology = Topology {
            places: names.map(place).collect(),
            links: vec![Link::new(WIRE, SERVER, GATEWAY, wire)],
            channels: vec![Channel { name: CELL.to_owned(), stations, medium }],
            ..Topology::default()
        };
        for number in 0..topology.places.len() {
            let routes = match topology.places[number].name.as_str() {
                SERVER => topology.default_routes(WIRE, GATEWAY),
                name => {
                    let ends = HOPS.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]);
                    let others = ends.filter(|(own, _)| *own == name).map(|(_, other)| other);
                    topology.routes_on(CELL, others)
                }
            };
            topology.places[number].routes = routes;
        }
        topology
    }

    /// All want the same, one after the other; each fetches something of its own meanwhile.
    fn fetches(&self, setting: &Setting<'_>) -> (Vec<Content>, Vec<Download>) {
        let (from, port) = match self.combination.has(Mechanism::Cache) {
            true => (inner(GATEWAY), CACHE_PORT),
            false => (Ipv4Addr::new(10, 77, 0, 1), lab::HTTP_PORT),
        };
        let content = |name: &str, file: File, skip_bytes: u64, length_bytes: u64| Content {
            name: name.to_owned(),
            file: setting.testbed.lab_content(file).file,
            skip_bytes,
            length_bytes: Some(length_bytes),
        };
        let mut contents = vec![content("shared", File::One, 0, SHARED_BYTES)];
        let mut downloads = Vec::new();
        let download = |place: &str, content: &str, start: Start| Download {
            place: place.to_owned(),
            from: IpAddr::from(from),
            content: content.to_owned(),
            port,
            start,
            stall_seconds: STALL_SECONDS,
        };
        for (number, station) in STATIONS.into_iter().enumerate() {
            let before = number.checked_sub(1).map(|before| Start::After(2 * before));
            let own = format!("own{number}");
            contents.push(content(&own, File::Documents, number as u64 * OWN_BYTES, OWN_BYTES));
            downloads.push(download(station, "shared", before.unwrap_or(Start::AtSeconds(START_SECONDS))));
            downloads.push(download(station, &own, Start::After(2 * number)));
        }
        (contents, downloads)
    }

    /// The gateway's node, those of the stations in its range, the relay's two, the far station's; and the
    /// cache.
    fn daemons(&self) -> Vec<Daemon> {
        let beyond = "\"10.80.0.1/32\", \"10.77.0.1/32\"";
        let near = [RELAY, STATIONS[0], STATIONS[1]];
        let peers = near.map(|name| {
            let behind = if name == RELAY { ", \"10.81.0.0/24\"" } else { "" };
            peer(name, None, &format!("\"{}/32\"{behind}", inner(name)))
        });
        let mut daemons = vec![self.node(GATEWAY, GATEWAY, "gateway", &peers.concat(), false)];
        for name in near {
            let gateway = peer(GATEWAY, Some("10.78.0.1:4780"), beyond);
            daemons.push(self.node(name, name, "station", &gateway, true));
        }
        let far = peer(STATIONS[2], None, "\"10.81.0.3/32\"");
        daemons.push(self.node("relay-down", RELAY, "gateway", &far, false));
        let relay = peer("relay-down", Some("10.78.0.2:4780"), beyond);
        daemons.push(self.node(STATIONS[2], STATIONS[2], "station", &relay, true));
        if self.combination.has(Mechanism::Cache) {
            daemons.push(cache());
        }
        daemons
    }

    /// A node with the keys of its name.
    fn node(&self, name: &str, place: &str, role: &str, peers: &str, listens: bool) -> Daemon {
        let has = |mechanism| self.combination.has(mechanism);
        let (interface, address) = match name {
            "relay-down" => ("oh1", Ipv4Addr::new(10, 81, 0, 1)),
            _ => ("oh0", inner(name)),
        };
        let mut config = format!(
            "{}[tunnel]\ninterface = \"{interface}\"\naddresses = [\"{address}/24\"]\n",
            named_node::beginning(name, role),
        );
        if has(Mechanism::Boost) && role == "gateway" {
            config.push_str("boost = true\n");
        }
        config.push_str(peers);
        let scheme = match (has(Mechanism::Reduce), self.is_repaired) {
            (true, _) => Scheme::ADAPTIVE,
            (false, false) => Scheme::OFF,
            (false, true) => Scheme::OFF_ZSTD_ARQ,
        };
        let carrier = Carrier::from(scheme);
        if let Carrier::Tunnel { policy, settings } = &carrier {
            let _ = writeln!(config, "[reduce]\npolicy = \"{policy}\"\n{settings}");
        }
        if has(Mechanism::Recover) {
            config.push_str("[snoop]\n");
        }
        if has(Mechanism::Overhear) {
            config.push_str("[overhear]\nrate_mbps = 11\n");
            if listens {
                let _ = writeln!(config, "interface = \"{CELL}\"");
            }
        }
        NamedNode { name, place, config }.run_by(carrier.program())
    }
}

/// The gateway's.
fn cache() -> Daemon {
    Daemon {
        name: "cache".to_owned(),
        place: GATEWAY.to_owned(),
        command: ["{overheard}", "cache", "{config}", "--socket", "{socket}"].map(str::to_owned).to_vec(),
        config: format!(
            "[cache]\nname = \"gateway\"\nclients = [\"10.80.0.0/15\"]\ngateway = true\n[store]\nmemory_mib = 16\n\
             [reverse]\nlisten = \"0.0.0.0:{CACHE_PORT}\"\n[[reverse.upstream]]\nurl = \"http://10.77.0.1/\"\n"
        ),
        ready: Ready::Listening(CACHE_PORT),
        status: Vec::new(),
        later: false,
        within_seconds: None,
    }
}

/// A place's address in the tunnel.
fn inner(name: &str) -> Ipv4Addr {
    match name {
        GATEWAY => Ipv4Addr::new(10, 80, 0, 1),
        RELAY => Ipv4Addr::new(10, 80, 0, 2),
        _ if name == STATIONS[0] => Ipv4Addr::new(10, 80, 0, 3),
        _ if name == STATIONS[1] => Ipv4Addr::new(10, 80, 0, 4),
        _ => Ipv4Addr::new(10, 81, 0, 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_that_differ_have_names_that_differ_and_nodes_that_say_so() {
        let trial =
            |combination| Trial { loss_percent: 10, wire_milliseconds: 20, combination, is_repaired: false };
        let (none, all) = (trial(Combination::NOTHING), trial(Combination::all_of_first(5)));
        assert_ne!(none.name(), all.name());
        let config = |trial: Trial| trial.daemons()[0].config.clone();
        for (line, mechanism) in [
            ("policy = \"adaptive\"", Mechanism::Reduce),
            ("[overhear]", Mechanism::Overhear),
            ("[snoop]", Mechanism::Recover),
            ("boost = true", Mechanism::Boost),
        ] {
            assert!(config(all).contains(line) && !config(none).contains(line), "{line}");
            assert!(!config(trial(all.combination.switched(mechanism))).contains(line), "{line}");
        }
        assert_eq!(all.daemons().len(), none.daemons().len() + 1, "the cache");
        let repaired = Trial { is_repaired: true, ..none };
        assert_ne!(repaired.name(), none.name());
        assert!(config(repaired).contains("arq-only") && config(repaired).contains("literals = true"));
    }
}
