//! Figure 1d: two stations that send to each other by a relay, with real TCP.

use std::net::{IpAddr, Ipv4Addr};

use air::medium::MediumConfig;
use anyhow::Result;
use lab::{
    Action, Channel, Content, Daemon, Download, Event, Outcome, Place, Scenario, Start, Stream, Topology,
};

use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::named_node::{self, NamedNode, peer};
use crate::report::Claim;
use crate::row::{Row, of, value};

/// Figure 1d.
pub const FIGURE: Figure = Figure {
    id: "1d",
    title: "Two stations that download from each other by a relay: coded by not coded",
    x: "megabytes each way",
    remark: "One 802.11b channel at 11 Mbit/s; the stations hear the relay and not each other. What waits for both at the relay leaves \
             as one frame, addressed to one of them and heard by the other, each of which takes out what it sent itself (COPE). In \
             packets that all meet it is three transmissions instead of four. TCP's acknowledgments go both ways besides, are too \
             short to be combined, and packets meet only where both wait: in the relay, whose interface sends 1.8 Mbit/s at most, about its \
             share of the channel, as a radio's driver takes no more than it can send soon. This is the product's coding and its codec: \
             REfactor as printed, with COPE, runs in Table 6, without TCP. Ratios of what all stations were on the air, and of when \
             the last byte of both downloads came.",
    needs,
    rows,
};

pub(super) const RELAY: &str = "relay";
pub(super) const STATIONS: [&str; 2] = ["alice", "bob"];
const CELL: &str = "cell";
const MEGABYTES: u32 = 3;
/// A little less than a third of what the channel carries, which is what each of three stations has of it.
const RELAY_RATE: &str = "1800kbit";
const SHAPED_SECONDS: f64 = 4.0;
const START_SECONDS: f64 = 5.0;
const STALL_SECONDS: u32 = 60;
const BOUND_SECONDS: f64 = 300.0;
/// Datagrams that each station sends, their payload, and the time between two of them: together a little less
/// than twice what the relay's interface sends.
const DATAGRAMS: u64 = 2000;
const DATAGRAM_BYTES: usize = 1200;
const DATAGRAM_MILLISECONDS: f64 = 6.0;

/// What the two stations send each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Traffic {
    /// A download each way.
    Tcp,
    /// Datagrams at a constant rate each way.
    Udp,
}

pub(super) fn name(traffic: Traffic, codes: bool) -> String {
    let traffic = if traffic == Traffic::Udp { ", datagrams" } else { "" };
    format!("figure 1d{traffic}, {}", if codes { "coded" } else { "not coded" })
}

fn inner(name: &str) -> Ipv4Addr {
    let number = if name == RELAY {
        2
    } else if name == STATIONS[0] {
        1
    } else {
        3
    };
    Ipv4Addr::new(10, 80, 0, number)
}

fn topology() -> Topology {
    let names = || [STATIONS[0], RELAY, STATIONS[1]].map(str::to_owned);
    let medium = MediumConfig {
        stations: vec![[0.0, 0.0], [180.0, 0.0], [360.0, 0.0]],
        listeners: vec![0, 2],
        ..MediumConfig::default()
    };
    let mut topology = Topology {
        places: names().map(|name| Place { name, ..Place::default() }).into(),
        links: Vec::new(),
        channels: vec![Channel { name: CELL.to_owned(), stations: names().into(), medium }],
        ..Topology::default()
    };
    for number in 0..topology.places.len() {
        let others = if number == 1 { &STATIONS[..] } else { &[RELAY] };
        topology.places[number].routes = topology.routes_on(CELL, others.iter().copied());
    }
    topology
}

fn daemons(codes: bool) -> Vec<Daemon> {
    let node = |name: &str, role: &str, peers: &str| {
        let ear = if name == RELAY { String::new() } else { format!("interface = \"{CELL}\"\n") };
        let config = format!(
            "{}[tunnel]\ninterface = \"oh0\"\naddresses = [\"{}/32\"]\n{peers}[overhear]\nrate_mbps = 11\ncode = {codes}\n{ear}",
            named_node::beginning(name, role),
            inner(name),
        );
        NamedNode { name, place: name, config }.daemon()
    };
    let to = |name: &str| format!("\"{}/32\"", inner(name));
    let stations = [(STATIONS[0], STATIONS[1]), (STATIONS[1], STATIONS[0])].map(|(own, other)| {
        let reached = format!("{}, {}", to(RELAY), to(other));
        node(own, "station", &(peer(RELAY, Some("10.78.0.2:4780"), &reached) + "relays = true\n"))
    });
    let peers = STATIONS.map(|name| peer(name, None, &to(name)));
    [node(RELAY, "relay", &peers.concat())].into_iter().chain(stations).collect()
}

/// What the relay sends waits in the relay and not behind it: a radio's driver takes no more than it can send
/// soon, and the emulated one takes all.
fn shape() -> Action {
    let command = format!("tc qdisc add dev {CELL} root tbf rate {RELAY_RATE} burst 3000 limit 1000000");
    Action::Run { place: RELAY.to_owned(), command: command.split(' ').map(str::to_owned).collect() }
}

pub(super) fn seeds(setting: &Setting<'_>) -> u32 {
    setting.plan.seeds(10, 6, 2)
}

pub(super) fn scenario(setting: &Setting<'_>, traffic: Traffic, codes: bool) -> Scenario {
    let bytes = u64::from(MEGABYTES) * 1_000_000;
    let contents = (0..).zip(STATIONS).map(|(number, from)| Content {
        name: from.to_owned(),
        file: setting.testbed.lab_content(File::Long).file,
        skip_bytes: number * bytes,
        length_bytes: Some(bytes),
    });
    let ways = [(STATIONS[0], STATIONS[1]), (STATIONS[1], STATIONS[0])];
    let downloads = ways.map(|(to, from)| Download {
        place: to.to_owned(),
        from: IpAddr::from(inner(from)),
        content: from.to_owned(),
        port: lab::HTTP_PORT,
        start: Start::AtSeconds(START_SECONDS),
        stall_seconds: STALL_SECONDS,
    });
    let streams = ways.map(|(to, from)| Stream {
        from: from.to_owned(),
        to: to.to_owned(),
        address: IpAddr::from(inner(to)),
        datagrams: DATAGRAMS,
        payload_bytes: DATAGRAM_BYTES,
        interval_milliseconds: DATAGRAM_MILLISECONDS,
        content: Some(from.to_owned()),
        start_seconds: START_SECONDS,
        keeps_delays: false,
    });
    let (downloads, streams) = match traffic {
        Traffic::Tcp => (downloads.to_vec(), Vec::new()),
        Traffic::Udp => (Vec::new(), streams.to_vec()),
    };
    Scenario {
        name: name(traffic, codes),
        seeds: (1..=u64::from(seeds(setting))).collect(),
        topology: topology(),
        parameters: [("net.ipv4.tcp_congestion_control".to_owned(), "cubic".to_owned())].into(),
        contents: contents.collect(),
        servers: STATIONS.map(str::to_owned).into(),
        daemons: daemons(codes),
        downloads,
        streams,
        events: vec![Event { at_seconds: SHAPED_SECONDS, action: shape() }],
        bound_seconds: BOUND_SECONDS,
        ..Scenario::default()
    }
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    [false, true].map(|codes| Need::Scenario(Box::new(scenario(setting, Traffic::Tcp, codes)))).into()
}

/// When both downloads had come whole, in seconds; and how long all stations were on the air.
fn reading(outcome: &Outcome) -> Option<[f64; 2]> {
    let last = outcome.downloads.iter().map(|it| it.seconds).fold(0.0, f64::max);
    let air = outcome.air_seconds()?;
    outcome.all_came_whole().then_some([air, last])
}

/// The series: values with coding relative to values without.
const SERIES: [&str; 2] = ["air time", "time"];

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let [plain, coded] = [false, true].map(|codes| results.outcomes(&name(Traffic::Tcp, codes)));
    let (plain, coded) = (plain?, coded?);
    let both: Vec<_> = coded
        .iter()
        .zip(plain)
        .filter_map(|(coded, plain)| Some((reading(coded)?, reading(plain)?)))
        .collect();
    let (driver, count) = (results.setting.driver, seeds(&results.setting));
    let row = |(number, series): (usize, &str)| {
        let pairs: Vec<(f64, f64)> =
            both.iter().map(|(coded, plain)| (coded[number], plain[number])).collect();
        let row = Row::new(FIGURE.id, series, MEGABYTES, "ratio");
        row.measured(Estimate::paired_ratio(&pairs), driver, count)
            .note(format!("{} of {count} pairs came whole", both.len()))
    };
    Ok(SERIES.into_iter().enumerate().map(row).collect())
}

/// Holds rows against every claim.
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let found: Vec<f64> =
        SERIES.iter().filter_map(|series| value(rows, FIGURE.id, series, MEGABYTES)).collect();
    let holds = found.iter().all(|it| *it < 1.0) && of(rows, FIGURE.id).all(|row| !row.note.starts_with('0'));
    let texts = found.iter().map(|it| format!("{it:.3}")).collect();
    vec![Claim::judged("figure 1d: coded, two downloads take less air and less time", texts, holds)]
}
