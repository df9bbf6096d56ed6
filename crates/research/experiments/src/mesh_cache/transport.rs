//! Figures 4 to 6, per-hop against end-to-end transport (section 6.1): a content over a chain of hops by one
//! TCP connection, or by one a hop, each router between keeping the content as it passes.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use air::medium::MediumConfig;
use anyhow::Result;
use lab::{Channel, Content, Daemon, Download, Outcome, Place, Ready, Route, Scenario, Start, Topology};

use super::trial::MESH;
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Figure 4.
pub const FIGURE_4: Figure = Figure {
    id: "4",
    title: "Per-hop and end-to-end transport by the length of the way",
    x: "hops",
    remark: "500 KB by TCP Reno over a chain of routers 200 m apart, all on one channel, so that hops share the air with each \
             other. Sockets hold 16 KB of content, as the paper's. What is passed on segment by segment is not pushed, \
             and our own connections do not acknowledge in a hurry: otherwise each segment would be acknowledged. With \
             fading, Rayleigh's: a try over 200 m is received with probability .66, and tried four times.",
    needs: |setting| needs(setting, FIGURE_4.id),
    rows: |results| rows(results, FIGURE_4.id),
};

/// Figure 5.
pub const FIGURE_5: Figure = Figure {
    id: "5",
    title: "Per-hop and end-to-end transport by loss",
    x: "most loss of a link, %",
    remark: "As Figure 4; each link loses a part of its tries, drawn between nothing and what stands on the axis. A frame is \
             tried four times.",
    needs: |setting| needs(setting, FIGURE_5.id),
    rows: |results| rows(results, FIGURE_5.id),
};

/// Figure 6.
pub const FIGURE_6: Figure = Figure {
    id: "6",
    title: "Per-hop and end-to-end transport by the size of the download",
    x: "KB",
    remark: "As Figure 5, over four hops with at most 10% of tries lost.",
    needs: |setting| needs(setting, FIGURE_6.id),
    rows: |results| rows(results, FIGURE_6.id),
};

/// Port of each router's cache.
const CACHE_PORT: u16 = 8080;
/// The usual download.
const KILOBYTES: u64 = 500;
/// Distance of neighbouring routers.
const APART_METRES: f64 = 200.0;
/// The retries of 802.11b's long frames; with fewer than TCP would need, losses reach it.
const RETRIES: u8 = 3;

/// One chain and one download over it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    hops: usize,
    rayleigh: bool,
    /// Each link loses a part of its tries between nothing and this.
    most_loss: f64,
    kilobytes: u64,
}

/// A socket's buffer: the paper's holds 16 KB, and Linux keeps as much again for its own bookkeeping.
const BUFFER_BYTES: u32 = 32_768;

/// Transport of a content over the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    EndToEnd,
    PerHop,
}

impl Transport {
    const ALL: [Self; 2] = [Self::EndToEnd, Self::PerHop];

    fn name(self) -> &'static str {
        match self {
            Self::EndToEnd => "end-to-end",
            Self::PerHop => "per-hop",
        }
    }
}

/// What the quotient's series ends with.
pub(super) const QUOTIENT: &str = "per-hop by end-to-end";
pub(super) const THROUGHPUT: &str = "throughput";

/// The cells of a figure, each with its series and place on the axis.
fn cells(plan: &Plan, figure: &str) -> Vec<(String, f64, Cell)> {
    let usual = Cell { hops: 4, rayleigh: false, most_loss: 0.0, kilobytes: KILOBYTES };
    if figure == FIGURE_4.id {
        let hops = plan.choose(&[1, 2, 3, 4, 5, 6, 7, 8, 9][..], &[1, 4, 9], &[3]);
        let of = |name: &'static str, rayleigh| {
            hops.iter().map(move |&hops| (name.to_owned(), hops as f64, Cell { hops, rayleigh, ..usual }))
        };
        of("no fading", false).chain(of("fading", true)).collect()
    } else if figure == FIGURE_5.id {
        let losses = plan.choose(&[5, 10, 15, 20, 25, 30][..], &[30], &[20]);
        let of = |hops: usize| {
            let cell = move |loss: &u32| Cell { hops, most_loss: f64::from(*loss) / 100.0, ..usual };
            losses.iter().map(move |loss| (format!("{hops} hops"), f64::from(*loss), cell(loss)))
        };
        of(4).chain(of(6)).collect()
    } else {
        let sizes = plan.choose(&[50, 100, 500, 1000, 2000][..], &[100], &[200]);
        let cell = |kilobytes: u64| Cell { most_loss: 0.1, kilobytes, ..usual };
        sizes.iter().map(|&size| ("4 hops".to_owned(), size as f64, cell(size))).collect()
    }
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(cell: Cell, transport: Transport) -> String {
    let Cell { hops, rayleigh, most_loss, kilobytes } = cell;
    let fading = if rayleigh { ", fading" } else { "" };
    format!("meshcache: chain of {hops}{fading}, most loss {most_loss}, {kilobytes} KB, {}", transport.name())
}

fn needs(setting: &Setting<'_>, figure: &str) -> Vec<Need> {
    let cells = cells(&setting.plan, figure).into_iter();
    let of = |cell: Cell| {
        Transport::ALL.map(|transport| Need::Scenario(Box::new(scenario(setting, cell, transport))))
    };
    cells.flat_map(|(.., cell)| of(cell)).collect()
}

fn rows(results: &Results<'_>, figure: &str) -> Result<Vec<Row>> {
    let (driver, seeds) = (results.setting.driver, seeds(&results.setting.plan));
    let mut rows = Vec::new();
    for (series, x, cell) in cells(&results.setting.plan, figure) {
        for (measure, unit, what) in
            [(throughput as fn(&Outcome) -> f64, "Mbit/s", THROUGHPUT), (load, "packets", "network load")]
        {
            let mut both = Vec::new();
            for transport in Transport::ALL {
                let outcomes = results.outcomes(&name(cell, transport))?;
                let sample: Vec<f64> = outcomes.iter().map(measure).collect();
                let row = Row::new(figure, format!("{what}, {series}: {}", transport.name()), x, unit);
                rows.push(row.measured(Estimate::mean(&sample), driver, seeds));
                both.push(sample);
            }
            let pairs: Vec<(f64, f64)> = both[1].iter().copied().zip(both[0].iter().copied()).collect();
            let row = Row::new(figure, format!("{what}, {series}: {QUOTIENT}"), x, "ratio");
            rows.push(row.measured(Estimate::paired_ratio(&pairs), driver, seeds));
        }
    }
    Ok(rows)
}

/// Megabits a second of the download; 0 where it did not end.
fn throughput(outcome: &Outcome) -> f64 {
    let whole = outcome.downloads.first().filter(|download| download.came_whole());
    whole.map_or(0.0, |download| download.whole_bytes as f64 * 8.0 / 1e6 / download.seconds)
}

/// Packets that the network layer sent, each hop counted.
fn load(outcome: &Outcome) -> f64 {
    let stations = outcome.channels.iter().flat_map(|channel| &channel.stations);
    stations.map(|station| (station.offered.packets - station.queue_dropped.packets) as f64).sum()
}

fn place_name(number: usize) -> String {
    format!("m{number}")
}

/// The server, the routers between, and the client, in a row. Each routes by its neighbours.
fn topology(cell: Cell) -> Topology {
    let stations: Vec<String> = (0..=cell.hops).map(place_name).collect();
    let mut medium = MediumConfig {
        stations: (0..=cell.hops).map(|number| [number as f64 * APART_METRES, 0.0]).collect(),
        rayleigh: cell.rayleigh,
        most_loss: cell.most_loss,
        ..MediumConfig::default()
    };
    medium.radio.retry_limit = RETRIES;
    let mut topology = Topology {
        channels: vec![Channel { name: MESH.to_owned(), stations, medium }],
        ..Topology::default()
    };
    for own in 0..=cell.hops {
        let address = |number: usize| address(&topology, number);
        let others = (0..=cell.hops).filter(|other| *other != own);
        let routes = others.map(|other| {
            let neighbour = if other < own { own - 1 } else { own + 1 };
            Route { to: address(other).into(), via: address(neighbour) }
        });
        let place =
            Place { name: place_name(own), forwards: true, routes: routes.collect(), ..Place::default() };
        topology.places.push(place);
    }
    topology
}

fn address(topology: &Topology, number: usize) -> IpAddr {
    topology.address_on(MESH, &place_name(number)).unwrap_or(Ipv4Addr::UNSPECIFIED).into()
}

fn scenario(setting: &Setting<'_>, cell: Cell, transport: Transport) -> Scenario {
    let topology = topology(cell);
    let address = |number: usize| address(&topology, number);
    let content = format!("content{}", cell.kilobytes);
    let file = setting.testbed.lab_content(File::Long).file;
    let mut daemons = Vec::new();
    let mut from = (address(0), lab::HTTP_PORT);
    if transport == Transport::PerHop {
        for number in 1..cell.hops {
            let (upstream, port) = from;
            let mut config =
                format!("[cache]\nname = \"{}\"\nclients = [\"10.78.0.0/16\"]\n", place_name(number));
            let _ = write!(
                config,
                "[store]\nmemory_mib = 8\n[reverse]\nlisten = \"0.0.0.0:{CACHE_PORT}\"\n\
                 [[reverse.upstream]]\nurl = \"http://{upstream}:{port}/\"\n"
            );
            daemons.push(Daemon {
                name: place_name(number),
                place: place_name(number),
                command: ["{overheard}", "cache", "{config}", "--socket", "{socket}"]
                    .map(str::to_owned)
                    .to_vec(),
                config,
                ready: Ready::Listening(CACHE_PORT),
                status: Vec::new(),
                later: false,
                within_seconds: None,
            });
            from = (address(number), CACHE_PORT);
        }
    }
    let download = Download {
        place: place_name(cell.hops),
        from: from.0,
        content: content.clone(),
        port: from.1,
        start: Start::default(),
        stall_seconds: 60,
    };
    Scenario {
        name: name(cell, transport),
        seeds: (1..=u64::from(seeds(&setting.plan))).collect(),
        topology,
        parameters: [
            ("net.ipv4.tcp_congestion_control", "reno".to_owned()),
            ("net.ipv4.tcp_rmem", format!("4096 {BUFFER_BYTES} {BUFFER_BYTES}")),
            ("net.ipv4.tcp_wmem", format!("4096 {BUFFER_BYTES} {BUFFER_BYTES}")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into(),
        contents: vec![Content {
            name: content,
            file,
            skip_bytes: 0,
            length_bytes: Some(cell.kilobytes * 1000),
        }],
        servers: vec![place_name(0)],
        daemons,
        downloads: vec![download],
        bound_seconds: 600.0,
        ..Scenario::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_of_a_chain_reaches_each_other_by_the_neighbour_on_that_side() {
        let topology = topology(Cell { hops: 3, rayleigh: false, most_loss: 0.0, kilobytes: 1 });
        let via: Vec<IpAddr> = topology.places[1].routes.iter().map(|route| route.via).collect();
        assert_eq!(via, [0, 2, 2].map(|number| address(&topology, number)));
    }
}
