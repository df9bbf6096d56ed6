//! `overheard-lab experiment all`: every experiment by everything that runs it, into one folder of pages.

use super::claims;
use crate::programs::runner;
use anyhow::bail;
use console::doctor::{self, State};
use console::say;
use experiments::contents::Contents;
use experiments::experiment::Experiment;
use experiments::kept_claims::{Judged, KeptClaims};
use experiments::row::Driver;
use experiments::run::{self, Runner};
use experiments::site::{Part, Site};
use experiments::{reboost, together};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use lab::virtual_time::Kernel;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const LANES: usize = 16;
/// A quick run has so few downloads that more of them can wait for their links side by side.
const QUICK_LANES: usize = 26;

#[derive(clap::Args)]
pub struct All {
    /// Write the pages, and what was run, into this folder; what is there already is not run again
    #[arg(long, value_name = "DIR")]
    report: PathBuf,
    /// A few cells of every figure and few seeds, without this machine's own kernel where another runs the
    /// same
    #[arg(long)]
    quick: bool,
    /// How many seeds in every cell, instead of each figure's own number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// How many downloads are tried at a time on this machine's kernel, as most wait for lossy links: 16, and
    /// 26 in a quick run
    #[arg(long)]
    lanes: Option<usize>,
    #[command(flatten)]
    list: claims::List,
}

impl All {
    fn lanes(&self) -> usize {
        self.lanes.unwrap_or(if self.quick { QUICK_LANES } else { LANES }).max(1)
    }
}

/// Runs what can be run; what cannot is named, on the page and here. An error if something failed that could
/// be run.
pub fn run(args: &All) -> anyhow::Result<()> {
    let kept = args.list.kept.as_deref().map(KeptClaims::read).transpose()?;
    let site = Site::in_folder(args.report.clone(), run::commit(), args.quick, args.seeds)?;
    let contents = Contents::find();
    let passes: Vec<(&Experiment, Driver)> = experiments::ALL
        .iter()
        .flat_map(|experiment| {
            drivers(experiment, args.quick).iter().map(move |driver| (*experiment, *driver))
        })
        .collect();
    let bars = MultiProgress::new();
    let whole = bars.add(ProgressBar::new(passes.len() as u64).with_style(ProgressStyle::with_template(
        "{wide_bar} {pos}/{len} experiments and what runs them, {elapsed} so far",
    )?));
    let bar =
        bars.add(ProgressBar::new(0).with_style(ProgressStyle::with_template(
            "{wide_bar} {pos}/{len} runs, {eta} remain  {msg:40!}",
        )?));
    whole.enable_steady_tick(Duration::from_secs(1));
    let (mut parts, mut failed) = (Vec::<Part>::new(), 0);
    for (experiment, driver) in passes {
        if parts.last().is_none_or(|part| part.experiment.id != experiment.id) {
            parts.push(Part::new(experiment));
        }
        let Some(part) = parts.last_mut() else { continue };
        let began = Instant::now();
        let left_out = match why_not(experiment, driver) {
            Some(why) => Some(why),
            None => {
                let kept = None; // the site keeps what was run
                let runner = Runner { lanes: args.lanes(), ..runner(driver, kept)? };
                let ran = site.run(part, &runner, &contents, &bar);
                failed += usize::from(ran.is_err());
                ran.err().map(|error| format!("{error:#}"))
            }
        };
        let how = match &left_out {
            Some(why) => format!("is left out: {why}"),
            None => format!("took {} s", began.elapsed().as_secs()),
        };
        bars.suspend(|| say!("{} by {driver} {how}", experiment.id))?;
        part.left_out.extend(left_out.map(|why| (driver, why)));
        site.write_part(part)?;
        whole.inc(1);
    }
    let index = site.write_index(&parts)?;
    bar.finish_and_clear();
    whole.finish_and_clear();
    say!("{}", index.display())?;
    let judged: Vec<Judged> = parts.iter().flat_map(|part| part.judged.clone()).collect();
    if let Some(path) = &args.list.keep {
        claims::keep(path, &contents, &judged)?;
    }
    let differences = kept.map(|kept| kept.compare(&contents, &judged)).unwrap_or_default();
    for experiment in &differences.not_run {
        say!("not held against the list, since it did not run: {experiment}")?;
    }
    let held = claims::tell(&differences);
    if failed > 0 {
        bail!("{failed} experiments could not be run to their end; the page says why")
    } else {
        held
    }
}

/// The drivers of an experiment. The quick form excludes this machine's kernel, which runs in real time.
fn drivers(experiment: &Experiment, quick: bool) -> &'static [Driver] {
    match experiment.drivers {
        [before @ .., Driver::Lab] if quick && !before.is_empty() => before,
        all => all,
    }
}

/// The missing part of this machine for running an experiment with a driver.
fn why_not(experiment: &Experiment, driver: Driver) -> Option<String> {
    match driver {
        Driver::Sim | Driver::Offline | Driver::Ns2 | Driver::Recorded => None,
        Driver::Virtual => Kernel::find().err().map(|why| why.to_string()),
        Driver::Lab if !rustix::process::geteuid().is_root() => Some("it needs root".to_owned()),
        Driver::Lab if [reboost::EXPERIMENT.id, together::EXPERIMENT.id].contains(&experiment.id) => {
            let found = doctor::boost();
            (found.state != State::Present).then(|| format!("{}; {}", found.detail, found.mend))
        }
        Driver::Qemu => Some("it runs in the guest of scripts/in-qemu, one figure at a time".to_owned()),
        Driver::Lab => None,
    }
}
