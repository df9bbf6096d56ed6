//! `overheard-lab demo`: the main job on real input, shown live and then as a table.
//!
//! A gateway and a station in network namespaces, joined by an emulated lossy link; real files, fetched by
//! curl from nginx, each by one device and then by a second one behind the same station; once over the bare
//! link, once through the tunnel with nothing removed, once with Overheard, and once with a preset if one is
//! asked for.

mod content;
mod show;

use crate::programs;
use anyhow::{Context, bail};
use daemon::config::{Kind, Mistake};
use experiments::pair::{AIR, Carrier, Pair, STATION};
use lab::virtual_time::Kernel;
use lab::{Daemon, Download, Driver, Outcome, Programs, Scenario, Start, Virtual};
use show::{Run, Screen};
use std::path::PathBuf;

/// Downloads begin after this time in every run. Nodes have a session then, as on a link in use.
const START_SECONDS: f64 = 3.0;

/// Show the effect of Overheard on real downloads over a lossy link
#[derive(clap::Args)]
pub struct Args {
    /// Fetch the files in this folder; without it, some files of every Debian machine
    #[arg(long, value_name = "DIR")]
    content: Option<PathBuf>,
    /// The link: clean, lossy-wifi, rural, satellite, lte or packet-radio
    #[arg(long, value_name = "PRESET", default_value = "lossy-wifi")]
    link: String,
    /// The kernel: `lab` is this kernel and needs root; `virtual` is the virtual-time kernel and needs no
    /// rights
    #[arg(long, value_name = "DRIVER")]
    driver: Option<DriverName>,
    /// Fetch each file once, as content that the tunnel never carried
    #[arg(long)]
    once: bool,
    /// Run Overheard once more with both nodes' `[link] kind`: satellite, lte, mesh or wifi
    #[arg(long, value_name = "KIND")]
    preset: Option<Kind>,
    /// The seed of the losses on the air
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the outcomes as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DriverName {
    Lab,
    Virtual,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let contents = content::choose(args.content.as_deref())?;
    let Some(link) = air::presets::by_name(&args.link) else {
        let known: Vec<_> = air::presets::all().iter().map(|preset| preset.name).collect();
        return Err(Mistake::new(format!(
            "there is no link {:?}; there are {}",
            args.link,
            known.join(", ")
        ))
        .into());
    };
    let programs = programs::find()?;
    let root = rustix::process::geteuid().is_root();
    let driver = match args.driver.unwrap_or(if root { DriverName::Lab } else { DriverName::Virtual }) {
        DriverName::Lab if !root => bail!("the driver `lab` makes network namespaces: run it as root (sudo)"),
        DriverName::Lab => None,
        DriverName::Virtual => {
            let guest = programs::guest(&programs);
            let kernel = Kernel::find().context("without root the demo needs the virtual-time kernel")?;
            Some(Driver::Virtual(Virtual::new(kernel, programs.clone(), guest)))
        }
    };

    let pair = Pair::new(args.seed)?;
    let devices = if args.once { 1 } else { 2 };
    let screen = Screen::new(args.json, &contents, devices as u64, link.about)?;
    let mut runs = Vec::new();
    let ways = [
        ("bare link".to_owned(), Carrier::Bare, None),
        ("tunnel, nothing removed".to_owned(), Carrier::tunnel("off"), None),
        ("Overheard".to_owned(), Carrier::tunnel("adaptive"), None),
    ];
    let preset = args.preset.map(|kind| (format!("preset {kind}"), Carrier::tunnel("adaptive"), Some(kind)));
    for (name, carrier, preset) in ways.into_iter().chain(preset) {
        let scenario = Scenario {
            name: name.clone(),
            seeds: vec![args.seed],
            topology: Pair::topology(&link.down, &link.up),
            parameters: Default::default(),
            contents: contents.clone(),
            servers: vec![experiments::pair::GATEWAY.to_owned()],
            daemons: daemons(&pair, &carrier, preset),
            downloads: downloads(&carrier, devices, contents.iter().map(|content| &content.name)),
            bound_seconds: 3600.0,
            ..Scenario::default()
        };
        let outcome = match &driver {
            None => watched(&scenario, &programs, &screen)?,
            Some(driver) => {
                let bar = screen.begin(&name);
                let outcome = lab::run(driver, &[scenario])?.pop().context("the kernel reported nothing")?;
                bar.finish_and_clear();
                outcome
            }
        };
        let run = Run::new(&name, &outcome, contents.len())?;
        screen.done(&run)?;
        runs.push((run, outcome));
    }
    if args.json {
        let outcomes: Vec<&Outcome> = runs.iter().map(|(_, outcome)| outcome).collect();
        console::say!("{}", serde_json::to_string_pretty(&outcomes)?)?;
    } else {
        show::table(&runs.iter().map(|(run, _)| run).collect::<Vec<_>>())?;
    }
    let mut downloads = runs.iter().flat_map(|(_, outcome)| &outcome.downloads);
    if let Some(broken) = downloads.find(|it| !it.came_whole()) {
        let (bytes, whole) = (broken.bytes, broken.whole_bytes);
        bail!("not every download arrived whole: {bytes} bytes of {whole} {}", broken.complaint);
    }
    Ok(())
}

/// The nodes. A preset also has the repairs that nodes have by default.
fn daemons(pair: &Pair, carrier: &Carrier, preset: Option<Kind>) -> Vec<Daemon> {
    let Some(kind) = preset else { return pair.daemons(carrier) };
    let mut daemons = pair.daemons_with_repairs(carrier);
    for daemon in &mut daemons {
        daemon.config.insert_str(0, &format!("[link]\nkind = \"{kind}\"\n"));
    }
    daemons
}

/// Every file, one after the other, for each device in turn.
fn downloads<'a>(
    carrier: &Carrier,
    devices: usize,
    names: impl Iterator<Item = &'a String> + Clone,
) -> Vec<Download> {
    let all = std::iter::repeat_n(names, devices).flatten().enumerate();
    let download = |(index, content): (usize, &String)| Download {
        place: STATION.to_owned(),
        from: Pair::server(carrier),
        content: content.clone(),
        port: lab::HTTP_PORT,
        start: index.checked_sub(1).map_or(Start::AtSeconds(START_SECONDS), Start::After),
        stall_seconds: 60,
    };
    all.map(download).collect()
}

/// Runs a scenario on this kernel, shown as it goes.
fn watched(scenario: &Scenario, programs: &Programs, screen: &Screen) -> anyhow::Result<Outcome> {
    let bar = screen.begin(&scenario.name);
    let mut outcome = None;
    let watch = |glimpse: &lab::Progress| {
        let sent = glimpse
            .links
            .iter()
            .find(|link| link.name == AIR)
            .map_or(0, |link| link.forward.transmitted.bytes + link.backward.transmitted.bytes);
        screen.progress(&bar, glimpse.downloads.iter().sum(), sent);
    };
    lab::run_watched(scenario, programs, Some(&watch), &mut |finished| {
        outcome = Some(finished);
        Ok(())
    })?;
    bar.finish_and_clear();
    outcome.context("the lab reported nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_is_the_only_thing_that_nodes_are_told_of_their_link() {
        let (pair, carrier) = (Pair::new(1).unwrap(), Carrier::tunnel("adaptive"));
        let daemons = daemons(&pair, &carrier, Some(Kind::Satellite));
        assert_eq!(daemons.len(), 2);
        for daemon in daemons {
            assert!(daemon.config.starts_with("[link]\nkind = \"satellite\"\n"), "{}", daemon.config);
            assert_eq!(daemon.config.matches("[link]").count(), 1, "{}", daemon.config);
        }
    }
}
