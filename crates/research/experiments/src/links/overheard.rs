//! Two stations fetch the same over one lossy channel: overhearing, and repairs ahead of the loss.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use air::medium::MediumConfig;
use anyhow::Result;
use lab::{Channel, Content, Daemon, Download, Outcome, Place, Scenario, Start, Topology};

use super::downloads::{self, SECONDS};
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::named_node::{self, NamedNode, peer};
use crate::pair::{GATEWAY, Program, with_repairs};
use crate::plan::Plan;
use crate::row::Row;

/// Overhearing and repairs.
pub const FIGURE: Figure = Figure {
    id: "overheard",
    title: "Two stations fetch the same in turn, with overhearing and with repairs",
    x: "frames lost, %",
    remark: "A gateway and two stations on one channel of 802.11b at 11 Mbit/s, without retries by the radio. One station \
             fetches 8 MB of random bytes, then the other fetches the same. A link with overhearing has no repairs ahead of the \
             loss: its frames are sealed for the whole group. It repairs after the loss alone. Time is the sum of both, and \
             air time is that of all three. Ratios are by the tunnel with neither, as medians.",
    needs,
    rows,
};

const CELL: &str = "cell";
const STATIONS: [&str; 2] = ["first", "second"];
/// Places on the channel in metres; a frame reaches 250.
const ON_CHANNEL: [(&str, [f64; 2]); 3] =
    [(GATEWAY, [0.0, 0.0]), (STATIONS[0], [60.0, 60.0]), (STATIONS[1], [60.0, -60.0])];
const CONTENT_BYTES: u64 = 8_000_000;
const START_SECONDS: f64 = 20.0;
const STALL_SECONDS: u32 = 120;
const BOUND_SECONDS: f64 = 900.0;

/// Series of times by the tunnel's with neither.
const TIME_BY_NEITHER: &str = "time by neither's";
/// Series of air times by the tunnel's with neither.
const AIR_BY_NEITHER: &str = "air time by neither's";

/// The mechanism that helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Help {
    Neither,
    Repairs,
    Overhearing,
}

impl Help {
    const ALL: [Self; 3] = [Self::Neither, Self::Repairs, Self::Overhearing];
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Neither => "neither",
            Self::Repairs => "repairs ahead",
            Self::Overhearing => "overhearing",
        })
    }
}

fn losses(plan: &Plan) -> &'static [u32] {
    plan.choose(&[0, 10], &[10], &[10])
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(loss_percent: u32, help: Help) -> String {
    format!("overheard, {help}, loss {loss_percent}%")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let losses = losses(&setting.plan).iter();
    let runs = losses.flat_map(|&loss| Help::ALL.map(|help| scenario(setting, loss, help)));
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn scenario(setting: &Setting<'_>, loss_percent: u32, help: Help) -> Scenario {
    let content = Content { length_bytes: Some(CONTENT_BYTES), ..setting.testbed.lab_content(File::Long) };
    let downloads = STATIONS.into_iter().enumerate().map(|(number, station)| Download {
        place: station.to_owned(),
        from: IpAddr::from(inner(0)),
        content: content.name.clone(),
        port: lab::HTTP_PORT,
        start: number.checked_sub(1).map_or(Start::AtSeconds(START_SECONDS), Start::After),
        stall_seconds: STALL_SECONDS,
    });
    Scenario {
        name: name(loss_percent, help),
        seeds: (1..=u64::from(seeds(&setting.plan))).collect(),
        topology: topology(loss_percent),
        parameters: [("net.ipv4.tcp_congestion_control".to_owned(), "cubic".to_owned())].into(),
        downloads: downloads.collect(),
        contents: vec![content.clone()],
        servers: vec![GATEWAY.to_owned()],
        daemons: daemons(help),
        bound_seconds: BOUND_SECONDS,
        ..Scenario::default()
    }
}

fn topology(loss_percent: u32) -> Topology {
    let loss = f64::from(loss_percent) / 100.0;
    let mut medium = MediumConfig {
        stations: ON_CHANNEL.iter().map(|(_, place)| *place).collect(),
        least_loss: loss,
        most_loss: loss,
        listeners: vec![1, 2],
        takes_turns: true,
        ..MediumConfig::default()
    };
    medium.radio.retry_limit = 0;
    let stations = ON_CHANNEL.iter().map(|(name, _)| (*name).to_owned()).collect();
    let place = |(name, _): &(&str, _)| Place { name: (*name).to_owned(), ..Place::default() };
    let mut topology = Topology {
        places: ON_CHANNEL.iter().map(place).collect(),
        channels: vec![Channel { name: CELL.to_owned(), stations, medium }],
        ..Topology::default()
    };
    topology.places[0].routes = topology.routes_on(CELL, STATIONS);
    for station in 1..ON_CHANNEL.len() {
        topology.places[station].routes = topology.routes_on(CELL, [GATEWAY]);
    }
    topology
}

/// The gateway's node, then the stations'.
fn daemons(help: Help) -> Vec<Daemon> {
    let peers: String = STATIONS
        .iter()
        .zip(1..)
        .map(|(name, number)| peer(name, None, &format!("\"{}/32\"", inner(number))))
        .collect();
    let gateway = peer(GATEWAY, Some("10.78.0.1:4780"), &format!("\"{}/32\"", inner(0)));
    let stations =
        STATIONS.into_iter().zip(1..).map(|(name, number)| node(name, number, "station", &gateway, help));
    let all = [node(GATEWAY, 0, "gateway", &peers, help)].into_iter().chain(stations).collect();
    if help == Help::Neither { all } else { all.into_iter().map(with_repairs).collect() }
}

fn node(name: &str, number: u8, role: &str, peers: &str, help: Help) -> Daemon {
    let mut config = named_node::beginning(name, role);
    config
        .push_str(&format!("[tunnel]\ninterface = \"oh0\"\naddresses = [\"{}/24\"]\n{peers}", inner(number)));
    if help == Help::Overhearing {
        config.push_str("[overhear]\nrate_mbps = 11\n");
        if role == "station" {
            config.push_str(&format!("interface = \"{CELL}\"\n"));
        }
    }
    NamedNode { name, place: name, config }.run_by(Program::Shipped)
}

/// An address in the tunnel: the gateway's for 0.
fn inner(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 80, 0, number + 1)
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let note = results.content_note(File::Long);
    for &loss in losses(&results.setting.plan) {
        let neither = results.outcomes(&name(loss, Help::Neither))?;
        for help in Help::ALL {
            let row = |what: &str, unit: &str, estimate, seeds: usize| {
                let row = Row::new(FIGURE.id, format!("{what}: {help}"), loss, unit);
                row.measured(estimate, results.setting.driver, seeds as u32).note(&note)
            };
            let outcomes = results.outcomes(&name(loss, help))?;
            let times: Vec<f64> = outcomes.iter().filter_map(Outcome::waited_seconds).collect();
            rows.push(row(SECONDS, "s", Estimate::median(&times), times.len()));
            if help == Help::Neither {
                continue;
            }
            let times = downloads::pairs(outcomes, neither, Outcome::waited_seconds);
            rows.push(row(TIME_BY_NEITHER, "ratio", Estimate::paired_median(&times), times.len()));
            let air = downloads::pairs(outcomes, neither, Outcome::air_seconds);
            rows.push(row(AIR_BY_NEITHER, "ratio", Estimate::paired_median(&air), air.len()));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Contents;
    use crate::pair::WITHOUT_REPAIRS;
    use crate::plan::{Extent, Traced};
    use crate::row::Driver;
    use crate::testbed::Testbed;

    #[test]
    fn each_help_is_in_the_configuration_and_the_other_is_not() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let needs = needs(&setting);
        assert_eq!(needs.len(), 2 * 3);
        for need in needs {
            let Need::Scenario(scenario) = need else { panic!("a scenario") };
            scenario.check().unwrap();
        }
        let has = |help: Help, line: &str| daemons(help).iter().all(|daemon| daemon.config.contains(line));
        assert!(has(Help::Neither, WITHOUT_REPAIRS) && !has(Help::Neither, "[overhear]"));
        assert!(!has(Help::Repairs, "[link]") && !has(Help::Repairs, "[overhear]"));
        assert!(has(Help::Overhearing, "[overhear]"));
    }
}
