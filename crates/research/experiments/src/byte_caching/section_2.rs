//! Section II: a station moves in mid-download from one gateway to another, and then to a path without one.
//!
//! The station keeps its address everywhere, as the paper's client does by Mobile IP; routes at both ends
//! redirect its packets. With byte caching on IP packets, the end hosts' TCP survives both moves. A proxy
//! that ends TCP at the first gateway (socat behind a redirect, as transparent as the paper's) leaves the
//! station with a connection that no other node knows.

use anyhow::Result;
use lab::{Action, Daemon, Download, Event, Link, Medium, Place, Ready, Route, Scenario, Start, Topology};

use crate::cell::{File, Impairment, Path, Stack};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{Node, Pair, Program, Role};
use crate::row::{Driver, Row};

/// Section II.
pub const FIGURE: Figure = Figure {
    id: "section-2",
    title: "A station that moves in mid-download",
    x: "what carries TCP",
    remark: "A quarter of a second into the download of file 2 the station moves from the first gateway to the second, a quarter
             of a second later to a path without any. Shown is \
             the share of the file that arrived, and whether the connection survived. Each move loses what is under \
             way on the path it leaves.",
    needs,
    rows,
};

/// The series of connections that survived both moves.
pub(super) const SURVIVED: &str = "survived: connections";
/// The series of stations that moved while the download went on.
pub(super) const MOVED: &str = "moved: stations";
const FILE: File = File::Two;
/// Home addresses of the server and the station.
const SERVER: &str = "10.98.0.1";
const HOME: &str = "10.99.0.2";
/// When the download starts, and when the station moves.
const START_SECONDS: f64 = 5.0;
const MOVES_SECONDS: [f64; 2] = [5.25, 5.5];

/// What carries TCP's packets over the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Tunnels that cache bytes of IP packets.
    Packets,
    /// A proxy at the first gateway that ends TCP.
    Proxy,
}

impl Way {
    /// A download that ended before this move proves nothing. Through the proxy the first move is to end it.
    fn proving_move_seconds(self) -> f64 {
        match self {
            Self::Packets => MOVES_SECONDS[1],
            Self::Proxy => MOVES_SECONDS[0],
        }
    }

    const BOTH: [Self; 2] = [Self::Packets, Self::Proxy];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Packets => "byte caching on IP packets",
            Self::Proxy => "a proxy that ends TCP",
        }
    }
}

fn seeds(setting: &Setting<'_>) -> u32 {
    setting.plan.seeds(10, 2, 1)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    Way::BOTH.map(|way| Need::Scenario(Box::new(scenario(setting, way)))).into()
}

/// The links, in order: two wires from the server to the gateways, the air at each, and the path without a
/// gateway.
const LINKS: [(&str, [&str; 2]); 5] = [
    ("wire1", ["server", "gateway1"]),
    ("wire2", ["server", "gateway2"]),
    ("air1", ["gateway1", "station"]),
    ("air2", ["gateway2", "station"]),
    ("plain", ["server", "station"]),
];

fn topology() -> Topology {
    let [data, back] = Impairment::NONE.links(Path::PAPER);
    let link = |(name, [first, second]): (&str, [&str; 2])| Link {
        name: name.to_owned(),
        ends: [first.to_owned(), second.to_owned()],
        medium: if name.starts_with("wire") {
            Medium::Cable
        } else {
            Medium::Air { forward: data.clone(), backward: back.clone() }
        },
        mtu_bytes: 1500,
    };
    let place = |name: &str, forwards, address: Option<&str>| Place {
        name: name.to_owned(),
        forwards,
        addresses: address
            .map(|address| [address, "/32"].concat().parse().expect("an address"))
            .into_iter()
            .collect(),
        ..Place::default()
    };
    let towards = |to: &str, via: &str| Route {
        to: [to, "/32"].concat().parse().expect("an address"),
        via: via.parse().expect("an address"),
    };
    let gateway = |name, number: u8| Place {
        routes: vec![towards(SERVER, &format!("10.77.{number}.1"))],
        ..place(name, true, None)
    };
    Topology {
        places: vec![
            Place { routes: vec![towards(HOME, "10.77.0.2")], ..place("server", false, Some(SERVER)) },
            gateway("gateway1", 0),
            gateway("gateway2", 1),
            place("station", false, Some(HOME)),
        ],
        links: LINKS.map(link).into(),
        ..Topology::default()
    }
}

/// The two nodes of the tunnel between a gateway and the station. All of it but the station's routes, which
/// are the scenario's to change.
fn tunnel(pair: &Pair, number: u8) -> [Daemon; 2] {
    let (air, reduce) = (number + 1, "policy = \"acked\"");
    let tunnel = |interface: &str, host: u8, more: &str| {
        format!("interface = \"{interface}\"\naddresses = [\"10.80.{number}.{host}/32\"]\n{more}")
    };
    let gateway = pair.node(&Node {
        role: Role::Gateway,
        place: &format!("gateway{number}"),
        tunnel: &tunnel("oh0", 1, ""),
        endpoint: None,
        allowed_ips: &format!("\"{HOME}/32\""),
        reduce,
        program: Program::Shipped,
    });
    let station = pair.node(&Node {
        role: Role::Station,
        place: "station",
        tunnel: &tunnel(&format!("oh{number}"), 2, "routes = false"),
        endpoint: Some(&format!("10.77.{air}.1:4780")),
        allowed_ips: &format!("\"{SERVER}/32\""),
        reduce,
        program: Program::Shipped,
    });
    [gateway, Daemon { name: format!("station{number}"), ..station }]
}

/// socat at the first gateway, behind a redirect of everything that comes over the air for port 80.
fn proxy() -> Daemon {
    let command = format!("TCP-LISTEN:8080,fork,reuseaddr TCP:{SERVER}:80");
    Daemon {
        name: "proxy".to_owned(),
        place: "gateway1".to_owned(),
        command: std::iter::once("socat").chain(command.split(' ')).map(str::to_owned).collect(),
        config: String::new(),
        ready: Ready::Listening(8080),
        status: Vec::new(),
        later: false,
        within_seconds: None,
    }
}

fn command(at_seconds: f64, place: &str, command: &str) -> Event {
    let command = command.split(' ').map(str::to_owned).collect();
    Event { at_seconds, action: Action::Run { place: place.to_owned(), command } }
}

/// From `at_seconds` on, routes the station's packets, and packets for it, over this path.
fn move_to(at_seconds: f64, way: Way, path: u8) -> [Event; 2] {
    let (station, server) = match (path, way) {
        (3, _) => ("via 10.77.4.1".to_owned(), "10.77.4.2".to_owned()),
        (_, Way::Packets) => (format!("dev oh{path}"), format!("10.77.{}.2", path - 1)),
        (_, Way::Proxy) => (format!("via 10.77.{}.1", path + 1), format!("10.77.{}.2", path - 1)),
    };
    [
        command(at_seconds, "station", &format!("ip route replace {SERVER}/32 {station} src {HOME}")),
        command(at_seconds, "server", &format!("ip route replace {HOME}/32 via {server}")),
    ]
}

fn events(way: Way) -> Vec<Event> {
    let mut events = Vec::new();
    for (path, at) in (1..).zip([1.0].into_iter().chain(MOVES_SECONDS)) {
        events.extend(move_to(at, way, path));
    }
    if way == Way::Proxy {
        for number in [1, 2] {
            let via = format!("ip route replace {HOME}/32 via 10.77.{}.2", number + 1);
            events.push(command(1.0, &format!("gateway{number}"), &via));
        }
        for rule in [
            "nft add table ip overheard",
            "nft add chain ip overheard arriving { type nat hook prerouting priority -100 ; }",
            "nft add rule ip overheard arriving iifname air1 tcp dport 80 redirect to :8080",
        ] {
            events.push(command(1.0, "gateway1", rule));
        }
    }
    events
}

fn scenario(setting: &Setting<'_>, way: Way) -> Scenario {
    let pair = setting.testbed.pair();
    Scenario {
        name: format!("a moving station, {}", way.name()),
        seeds: (1..=u64::from(seeds(setting))).collect(),
        topology: topology(),
        parameters: Stack::Modern.parameters(),
        contents: vec![setting.testbed.lab_content(FILE)],
        servers: vec!["server".to_owned()],
        daemons: match way {
            Way::Packets => [1, 2].into_iter().flat_map(|number| tunnel(pair, number)).collect(),
            Way::Proxy => vec![proxy()],
        },
        downloads: vec![Download {
            place: "station".to_owned(),
            from: SERVER.parse().expect("an address"),
            content: FILE.slug().to_owned(),
            port: lab::HTTP_PORT,
            start: Start::AtSeconds(START_SECONDS),
            stall_seconds: 60,
        }],
        events: events(way),
        bound_seconds: 600.0,
        ..Scenario::default()
    }
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let (setting, seeds) = (&results.setting, seeds(&results.setting));
    let mut rows = Vec::new();
    if setting.driver == Driver::Sim {
        return Ok(rows); // there is no TCP
    }
    for way in Way::BOTH {
        let outcomes = results.outcomes(&scenario(setting, way).name)?;
        let downloads: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.downloads).collect();
        let survived = downloads.iter().filter(|it| it.came_whole()).count();
        let proving = way.proving_move_seconds() - START_SECONDS;
        let moved = downloads.iter().filter(|it| it.bytes > 0 && it.seconds > proving).count();
        let shares: Vec<f64> = downloads.iter().map(|it| it.bytes as f64 / it.whole_bytes as f64).collect();
        let note =
            format!("{survived} of {} survived; {moved} moved while they were under way", downloads.len());
        let row = |series: &str, estimate| {
            Row::new(FIGURE.id, series, way.name(), "share")
                .measured(estimate, setting.driver, seeds)
                .note(&note)
        };
        rows.push(row(SURVIVED, Estimate::share(survived as u64, downloads.len() as u64)));
        rows.push(row(MOVED, Estimate::share(moved as u64, downloads.len() as u64)));
        rows.push(row("arrived: share of the file", Estimate::mean(&shares)));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Contents;
    use crate::plan::{Extent, Plan, Traced};
    use crate::testbed::Testbed;

    #[test]
    fn both_ways_are_scenarios_that_make_sense() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Quick, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        Way::BOTH.into_iter().for_each(|way| scenario(&setting, way).check().unwrap());
    }
}
