//! Per-hop against end-to-end transport (section 6.1): a content over a chain of hops by one TCP connection, or by one a
//! hop, each router between keeping the content as it passes.

use std::fmt::Write as _;
use std::net::IpAddr;

use air::timing::Standard;
use air::{Bitrate, LinkConfig, LossConfig, RadioConfig};
use anyhow::{Context as _, Result};
use indicatif::ProgressBar;
use lab::{Content, Daemon, Download, Link, Medium, Outcome, Place, Ready, Route, Scenario, Start, Topology};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::estimate::Estimate;
use crate::row::Row;
use crate::run::Runner;

/// The figures, by the paper's numbers.
pub const FIGURES: [&str; 3] = ["4", "5", "6"];
/// Where each router's cache is.
const CACHE_PORT: u16 = 8080;
/// Seeds of a cell unless told otherwise.
const SEEDS: u32 = 5;
/// The usual download.
const KILOBYTES: usize = 500;
/// A try fails as often as this where the paper has Rayleigh fading.
const FADING: f64 = 0.15;
/// The retries of 802.11b's long frames; with fewer than TCP would need, losses reach it.
const RETRIES: u8 = 3;

/// One chain and one download over it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    hops: usize,
    /// Each link loses a part of its tries between nothing and this.
    most_loss: f64,
    kilobytes: usize,
}

/// How a content comes over the chain.
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

/// The cells of a figure, each with its series and place on the axis.
fn cells(figure: &str, quick: bool) -> Vec<(String, f64, Cell)> {
    let cell = |hops, most_loss, kilobytes| Cell { hops, most_loss, kilobytes };
    let some = |values: &[usize]| -> Vec<usize> {
        if quick { [values[0], values[values.len() - 1]].to_vec() } else { values.to_vec() }
    };
    match figure {
        "4" => {
            let hops = some(&[1, 2, 3, 4, 5, 6, 7, 8, 9]);
            let of = |name: &str, loss: f64| -> Vec<(String, f64, Cell)> {
                hops.iter()
                    .map(|hops| (name.to_owned(), *hops as f64, cell(*hops, loss, KILOBYTES)))
                    .collect()
            };
            [of("no fading", 0.0), of("fading", FADING)].concat()
        }
        "5" => {
            let losses = some(&[5, 10, 15, 20, 25, 30]);
            let of = |hops: usize| -> Vec<(String, f64, Cell)> {
                let one = |loss: &usize| {
                    (format!("{hops} hops"), *loss as f64, cell(hops, *loss as f64 / 100.0, KILOBYTES))
                };
                losses.iter().map(one).collect()
            };
            [of(4), of(6)].concat()
        }
        _ => {
            let sizes = some(&[50, 100, 500, 1000, 2000]);
            sizes.iter().map(|size| ("4 hops".to_owned(), *size as f64, cell(4, 0.1, *size))).collect()
        }
    }
}

/// Runs the figures that are named, and gives throughput, network load and their quotients.
///
/// # Errors
///
/// When a scenario could not be run to its end.
pub fn run(
    figures: &[&str],
    seeds: Option<u32>,
    quick: bool,
    runner: &Runner,
    progress: &ProgressBar,
) -> Result<Vec<Row>> {
    let folder = tempfile::tempdir().context("cannot make a folder for the contents")?;
    let seeds = seeds.unwrap_or(if quick { 2 } else { SEEDS });
    let mut scenarios = Vec::new();
    let mut asked = Vec::new();
    for figure in figures {
        for (series, x, cell) in cells(figure, quick) {
            let file = folder.path().join(format!("{}.bin", cell.kilobytes));
            if !file.exists() {
                let mut bytes = vec![0; cell.kilobytes * 1000];
                ChaCha8Rng::seed_from_u64(cell.kilobytes as u64).fill_bytes(&mut bytes);
                std::fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))?;
            }
            for transport in Transport::ALL {
                // losses differ from seed to seed by more than the frames that they hit: by their rates on each link
                for seed in 1..=u64::from(seeds) {
                    let name = format!("{figure} {series} {x} {} {seed}", transport.name());
                    scenarios.push(scenario(&name, cell, transport, seed, &file));
                }
            }
            asked.push((*figure, series, x));
        }
    }
    let outcomes = runner.run(scenarios, progress)?;
    let mut rows = Vec::new();
    for (figure, series, x) in asked {
        let of = |transport: Transport, measure: &dyn Fn(&Outcome) -> f64| -> Vec<f64> {
            let names = (1..=seeds).map(|seed| format!("{figure} {series} {x} {} {seed}", transport.name()));
            names.filter_map(|name| outcomes.get(&name)?.first().map(measure)).collect()
        };
        for (measure, unit, name) in
            [(throughput as fn(&Outcome) -> f64, "Mbit/s", "throughput"), (load, "packets", "network load")]
        {
            let both = Transport::ALL.map(|transport| of(transport, &measure));
            for (transport, sample) in Transport::ALL.into_iter().zip(&both) {
                let series = format!("{name}, {series}: {}", transport.name());
                rows.push(Row::new(figure, series, x, unit).measured(
                    Estimate::mean(sample),
                    runner.driver,
                    seeds,
                ));
            }
            let [direct, per_hop] = &both;
            let pairs: Vec<(f64, f64)> = per_hop.iter().copied().zip(direct.iter().copied()).collect();
            let ratio = Estimate::paired_ratio(&pairs);
            let series = format!("{name}, {series}: per-hop by end-to-end");
            rows.push(Row::new(figure, series, x, "ratio").measured(ratio, runner.driver, seeds));
        }
    }
    Ok(rows)
}

/// Megabits a second of the download; 0 where it did not end.
fn throughput(outcome: &Outcome) -> f64 {
    let download = outcome.downloads.first();
    let whole = download.filter(|download| download.ending == lab::Ending::Complete && download.intact);
    whole.map_or(0.0, |download| download.whole_bytes as f64 * 8.0 / 1e6 / download.seconds)
}

/// Packets that the routers sent, each hop counted.
fn load(outcome: &Outcome) -> f64 {
    let links = outcome.links.iter().flat_map(|link| [&link.forward, &link.backward]);
    links.map(|count| count.offered.packets as f64).sum()
}

fn place_name(number: usize) -> String {
    format!("m{number}")
}

fn link_name(number: usize) -> String {
    format!("hop{number}")
}

/// The server, the routers between, and the client, in a row; link `n` goes from place `n` to place `n + 1`.
fn topology(cell: Cell, seed: u64) -> Topology {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut topology = Topology::default();
    for number in 0..=cell.hops {
        topology.places.push(Place { name: place_name(number), forwards: true, ..Place::default() });
    }
    for number in 0..cell.hops {
        let loss = cell.most_loss * random.random::<f64>();
        let link = LinkConfig {
            radio: Some(RadioConfig {
                standard: Standard::B,
                rate: Bitrate::from_megabits_per_second(11),
                retry_limit: RETRIES,
            }),
            loss: if loss > 0.0 { LossConfig::Bernoulli { probability: loss } } else { LossConfig::None },
            ..LinkConfig::default()
        };
        let medium = Medium::Air { forward: link.clone(), backward: link };
        topology.links.push(Link::new(
            &link_name(number),
            &place_name(number),
            &place_name(number + 1),
            medium,
        ));
    }
    for number in 0..=cell.hops {
        let mut routes = Vec::new();
        for other in 0..cell.hops {
            // link `other` lies before this place, or behind it
            let (link, neighbour) = match () {
                () if other + 1 < number => (number - 1, number - 1),
                () if other > number => (number, number + 1),
                () => continue,
            };
            let via = topology.ipv4(&link_name(link), &place_name(neighbour)).map(IpAddr::from);
            let to = topology.ipv4(&link_name(other), &place_name(other));
            if let (Some(via), Some(to)) = (via, to) {
                let to = format!("{to}/24").parse().map(|net: ipnet::IpNet| net.trunc());
                routes.extend(to.map(|to| Route { to, via }));
            }
        }
        topology.places[number].routes = routes;
    }
    topology
}

fn scenario(name: &str, cell: Cell, transport: Transport, seed: u64, file: &std::path::Path) -> Scenario {
    let topology = topology(cell, seed);
    // a place's address on the side of the client: the nearer one
    let address = |number: usize| topology.ipv4(&link_name(number), &place_name(number)).map(IpAddr::from);
    let content = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut daemons = Vec::new();
    let mut from = (address(0), lab::HTTP_PORT);
    if transport == Transport::PerHop {
        for number in 1..cell.hops {
            let (Some(upstream), port) = from else { continue };
            let port = if port == lab::HTTP_PORT { String::new() } else { format!(":{port}") };
            let mut config =
                format!("[cache]\nname = \"{}\"\nclients = [\"10.77.0.0/16\"]\n", place_name(number));
            let _ = write!(
                config,
                "[store]\nmemory_mib = 8\n[reverse]\nlisten = \"0.0.0.0:{CACHE_PORT}\"\n\
                 [[reverse.upstream]]\nurl = \"http://{upstream}{port}/\"\n"
            );
            daemons.push(Daemon {
                name: place_name(number),
                place: place_name(number),
                command: ["{exe}", "cache", "{config}", "--socket", "{socket}"].map(str::to_owned).to_vec(),
                config,
                ready: Ready::Listening(CACHE_PORT),
                status: Vec::new(),
                later: false,
            });
            from = (address(number), CACHE_PORT);
        }
    }
    let download = Download {
        place: place_name(cell.hops),
        from: from.0.unwrap_or(IpAddr::from([127, 0, 0, 1])),
        content: content.clone(),
        port: from.1,
        start: Start::default(),
        stall_seconds: 60,
    };
    Scenario {
        name: name.to_owned(),
        seeds: vec![seed],
        topology,
        parameters: [("net.ipv4.tcp_congestion_control".to_owned(), "reno".to_owned())].into(),
        contents: vec![Content { name: content, file: file.to_owned(), skip_bytes: 0, length_bytes: None }],
        servers: vec![place_name(0)],
        daemons,
        downloads: vec![download],
        clients: Vec::new(),
        fresh_seconds: None,
        streams: Vec::new(),
        events: Vec::new(),
        bound_seconds: 600.0,
    }
}
