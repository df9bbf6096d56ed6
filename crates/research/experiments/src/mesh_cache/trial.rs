//! One mesh under one protocol: babeld and `overheard cache` on routers, clients that browse.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use lab::{Channel, Client, Daemon, Link, Medium, Ready, Route, Scenario, Topology};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use super::log::Log;
use super::network::{Network, Place};
use super::protocol::{Form, Protocol, Variant};
use super::workload::{self, Popular, Popularity, Recorded, Wants};
use crate::figure::Setting;

/// The channel, and the link behind the gateway.
pub(super) const MESH: &str = "mesh";
pub(super) const WIRE: &str = "wire";
const SERVER: &str = "server";
/// Freshness of contents (section 5).
const FRESH_SECONDS: u32 = 5000;
/// Time without requests, until babeld has counted enough hellos.
const QUIET_SECONDS: f64 = 90.0;
/// babeld's local socket.
const ROUTING_PORT: u16 = 3300;
/// Interval of a cache's queries: a router in a mesh of 50 has hundreds of routes, each of which takes a
/// write, and they change slowly.
const REFRESH_SECONDS: u32 = 10;
/// Bounds of lengths in logs: some entries have no length, and a few exceed a minute of the mesh.
const SHORTEST_BYTES: u64 = 100;
const LONGEST_BYTES: u64 = 1_000_000;
/// Installs the interception rules without the one that passes packets for the router itself. The
/// virtual-time kernel may lack nft_fib, and no such packet is intercepted here.
const RULES: &str = "{overheard} cache {config} --print-nft > {config}.rules; \
                     sed '/fib daddr type local/d; /^# and/,$d' {config}.rules | nft -f - || exit; \
                     sed '1,/^# and/d' {config}.rules | sh || exit; ";
/// The paper's search timeout.
pub(super) const SEARCH_MILLISECONDS: u64 = 25;

/// One run. Equal trials have equal names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trial {
    pub place: Place,
    pub protocol: Protocol,
    pub form: Form,
    /// The exponent of popularity.
    pub zipf: f64,
    /// What clients ask for in place of that: a log, by file and name.
    pub log: Option<(&'static str, &'static str)>,
    pub search_milliseconds: u64,
    /// For how long clients browse.
    pub seconds: f64,
    /// Seed of the mesh, the requests, and the air.
    pub seed: u64,
}

impl Trial {
    pub(super) fn new(place: Place, protocol: Protocol, seconds: f64, seed: u64) -> Self {
        Self {
            place,
            protocol,
            form: Form::AsPrinted,
            zipf: 0.8,
            log: None,
            search_milliseconds: SEARCH_MILLISECONDS,
            seconds,
            seed,
        }
    }

    /// The same in another form.
    pub(super) fn of(self, Variant(protocol, form): Variant) -> Self {
        Self { protocol, form, ..self }
    }

    pub(super) fn name(&self) -> String {
        let Self { place, protocol, form, zipf, log, search_milliseconds, seconds, seed } = self;
        let variant = Variant(*protocol, *form);
        let wanted = log.map_or_else(|| format!("zipf {zipf}"), |(_, name)| name.to_owned());
        format!(
            "meshcache: {place}, {variant}, {wanted}, search {search_milliseconds} ms, {seconds} s, draw {seed}"
        )
    }

    pub(super) fn scenario(&self, setting: &Setting<'_>) -> Scenario {
        // A figure asks for no log that is not there.
        let log = self.log.and_then(|(file, _)| Log::take(setting.contents, file).ok().flatten());
        let network = Network::draw(self.place, self.seed);
        let topology = topology(&network);
        let server = topology.ipv4(WIRE, SERVER).unwrap_or(Ipv4Addr::LOCALHOST);
        let routers = 0..network.medium.stations.len();
        let mut daemons: Vec<Daemon> = routers.clone().map(|router| babeld(&network, router)).collect();
        let with_cache = |router: &usize| {
            let active = network.active.contains(router) && self.protocol != Protocol::Default;
            *router == network.gateway || active || self.protocol.is_everywhere()
        };
        daemons.extend(routers.filter(with_cache).map(|router| self.cache(&network, &topology, router)));
        Scenario {
            name: self.name(),
            seeds: vec![self.seed],
            topology,
            parameters: [("net.ipv4.tcp_congestion_control".to_owned(), "reno".to_owned())].into(),
            contents: workload::contents(
                setting.testbed,
                log.as_ref().map_or_else(workload::lengths, lengths),
            ),
            servers: vec![SERVER.to_owned()],
            daemons,
            clients: self.clients(&network, log.as_ref(), server.into()),
            fresh_seconds: Some(FRESH_SECONDS),
            bound_seconds: QUIET_SECONDS + self.seconds,
            ..Scenario::default()
        }
    }

    fn clients(&self, network: &Network, log: Option<&Log>, from: IpAddr) -> Vec<Client> {
        let all = network.active.len() * network.clients_each;
        let popularity = Popularity::zipf(self.zipf);
        let mut clients = Vec::new();
        for &router in &network.active {
            for number in 0..network.clients_each {
                // Equal for all protocols.
                let seed = self.seed * 1_000_000 + (router * 100 + number) as u64;
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let mut pages = |wants: &mut dyn Wants| {
                    workload::pages(wants, network.requests_an_hour, QUIET_SECONDS, self.seconds, &mut random)
                };
                let pages = match log {
                    // The log's clients are dealt out, each to one of ours.
                    Some(log) => {
                        let own = clients.len();
                        let requests = log.requests.iter().filter(|it| it.client % all == own);
                        pages(&mut Recorded(requests.filter_map(|it| it.object).cycle()))
                    }
                    None => pages(&mut Popular {
                        popularity: &popularity,
                        place: network.medium.stations[router],
                    }),
                };
                clients.push(Client { place: home(router), from, pages });
            }
        }
        clients
    }

    fn cache(&self, network: &Network, topology: &Topology, router: usize) -> Daemon {
        let name = Network::name(router);
        let address = |router: usize| {
            topology.address_on(MESH, &Network::name(router)).unwrap_or(Ipv4Addr::UNSPECIFIED)
        };
        let gateway = router == network.gateway;
        let mut config = format!(
            "[cache]\nname = \"{name}\"\nclients = [\"10.77.0.0/16\", \"10.78.0.0/16\"]\ngateway = {gateway}\n{}\
             [store]\nmemory_mib = 2\npolicy = \"{}\"\n",
            self.protocol.lines(),
            self.form.policy()
        );
        let mut before = "";
        let taken_from = match self.protocol {
            Protocol::Default if gateway => Some(MESH.to_owned()),
            _ if network.active.contains(&router) => Some(cable(router)),
            _ => None,
        };
        if let Some(interface) = taken_from {
            let _ = writeln!(config, "[transparent]\ninterfaces = [\"{interface}\"]\nrules = false");
            before = RULES;
        }
        if self.protocol != Protocol::Default {
            let positions = network.medium.stations.iter().enumerate();
            let positions =
                positions.map(|(other, [x, y])| format!("\"{}\" = [{x:.1}, {y:.1}]", address(other)));
            let _ = writeln!(
                config,
                "[peers]\naddress = \"{}\"\nnetworks = [\"10.78.0.0/16\"]\nnetwork_key_file = \"{{folder}}/network.key\"\n\
                 search_timeout_milliseconds = {}\nuplink_hops = {}\nbroadcast = [\"10.78.0.255\"]\npositions = {{ {} }}\n\
                 [routing]\nsource = \"babeld\"\nsocket = \"{ROUTING_PORT}\"\nrefresh_seconds = {REFRESH_SECONDS}\ngateways = [\"{}\"]",
                address(router),
                self.search_milliseconds,
                if self.form.counts_uplink() { network.uplink_hops } else { 0.0 },
                positions.collect::<Vec<_>>().join(", "),
                address(network.gateway),
            );
        }
        // All routers share a key; the first one makes it.
        let command = format!(
            "test -e {{folder}}/network.key || echo 'the key of a mesh that is no secret' > {{folder}}/network.key; \
             {before}exec {} {{config}} --socket {{socket}}",
            self.form.program(),
        );
        Daemon {
            name: cache_name(router),
            place: name,
            command: ["sh", "-c", &command].map(str::to_owned).to_vec(),
            config,
            ready: Ready::Path("{socket}".to_owned()),
            status: ["socat", "-u", "UNIX-CONNECT:{socket}", "-"].map(str::to_owned).to_vec(),
            later: false,
            within_seconds: None,
        }
    }
}

/// Lengths of a log's contents: the longest answer for each, within bounds.
fn lengths(log: &Log) -> Vec<u64> {
    let mut lengths = Vec::new();
    for request in &log.requests {
        let Some(object) = request.object else { continue };
        if object >= lengths.len() {
            lengths.resize(object + 1, SHORTEST_BYTES);
        }
        lengths[object] = request.bytes.clamp(lengths[object], LONGEST_BYTES);
    }
    lengths
}

/// The name of a router's cache.
pub(super) fn cache_name(router: usize) -> String {
    format!("cache-{}", Network::name(router))
}

/// Place of a router's clients.
fn home(router: usize) -> String {
    format!("home{}", router + 1)
}

/// The cable between a router and its clients.
fn cable(router: usize) -> String {
    format!("to{}", router + 1)
}

/// The server behind the gateway; routers on the channel; clients behind routers.
fn topology(network: &Network) -> Topology {
    let place =
        |name: &str, forwards: bool| lab::Place { name: name.to_owned(), forwards, ..Default::default() };
    let stations: Vec<String> = (0..network.medium.stations.len()).map(Network::name).collect();
    let mut topology = Topology {
        places: vec![place(SERVER, false)],
        links: vec![Link::new(
            WIRE,
            SERVER,
            &stations[network.gateway],
            Medium::Air { forward: network.wire.clone(), backward: network.wire.clone() },
        )],
        channels: vec![Channel {
            name: MESH.to_owned(),
            stations: stations.clone(),
            medium: network.medium.clone(),
        }],
        ..Topology::default()
    };
    topology.places.extend(stations.iter().map(|name| place(name, true)));
    for &router in &network.active {
        topology.places.push(place(&home(router), false));
        topology.links.push(Link::new(&cable(router), &stations[router], &home(router), Medium::Cable));
    }
    let mut ways: Vec<(String, Vec<Route>)> =
        vec![(SERVER.to_owned(), topology.default_routes(WIRE, &stations[network.gateway]))];
    for &router in &network.active {
        ways.push((home(router), topology.default_routes(&cable(router), &stations[router])));
    }
    for (name, routes) in ways {
        if let Some(place) = topology.places.iter_mut().find(|place| place.name == name) {
            place.routes = routes;
        }
    }
    topology
}

/// A router's routing: its address in the mesh, its prefix, and ETX over a wireless interface.
fn babeld(network: &Network, router: usize) -> Daemon {
    let name = Network::name(router);
    let behind = match router {
        _ if router == network.gateway => "ip 10.77.0.0/24",
        _ => "ip 10.77.0.0/16 ge 24",
    };
    let file = |ending: &str| format!("{{folder}}/babeld-{name}.{ending}");
    let port = ROUTING_PORT.to_string();
    let (pid, state) = (file("pid"), file("state"));
    // The first rule that fits counts.
    let connected = format!("redistribute {behind} proto 2 allow");
    let command = [
        "babeld",
        "-G",
        &port,
        "-I",
        &pid,
        "-S",
        &state,
        "-C",
        "default type wireless",
        "-C",
        "redistribute local ip 10.78.0.0/16 allow",
        "-C",
        &connected,
        "-C",
        "redistribute local deny",
        MESH,
    ];
    Daemon {
        name: format!("babeld-{name}"),
        place: name.clone(),
        command: command.map(str::to_owned).to_vec(),
        config: String::new(),
        ready: Ready::AtOnce,
        status: Vec::new(),
        later: false,
        within_seconds: None,
    }
}
