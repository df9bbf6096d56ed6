//! `overheard-lab experiment`: runs a paper again and sets our figures beside its own.

mod all;
mod claims;
mod keep;

use crate::programs::runner;
use anyhow::Context;
use console::Table;
use daemon::config::Mistake;
use experiments::cell::File;
use experiments::contents::Contents;
use experiments::experiment::{self, Experiment};
use experiments::kept_claims::Judged;
use experiments::plan::{Extent, Plan, Traced};
use experiments::report::{Heading, Ran};
use experiments::row::{Driver, Row};
use experiments::run::{self, Kept, LAB_LANES, Runner};
use experiments::scheme::Scheme;
use experiments::wanted::{Named, NothingMeant};
use experiments::{byte_caching, links, mesh_cache, no_harm, reboost, refactor, together, xbc};
use indicatif::{ProgressBar, ProgressStyle};
use keep::Keeping;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Run the experiments of a paper again, and show our figures beside the paper's
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(clap::Subcommand)]
enum Paper {
    /// Byte Caching in Wireless Networks (Le, Srivatsa, Iyengar, ICDCS 2012)
    ByteCaching(ByteCaching),
    /// The savings of the default tunnel beyond that paper, and its harmlessness to other traffic
    NoHarm(Options),
    /// One download and one call over loss and distance, beside recorded values of other programs
    Links(Options),
    /// REfactor-ing Content Overhearing to Improve Wireless Performance (Shen, Gember, Anand, Akella, MobiCom
    /// 2011)
    Refactor(Refactor),
    /// XBC: XOR-based Buffer Coding for Reliable Transmissions over Wireless Networks (Zheng, Sinha, SECON
    /// 2008)
    Xbc(Options),
    /// REboost: Improving Throughput in Wireless Networks Using Redundancy Elimination (Lee, Kim, Shin,
    /// IEEE Communications Letters 2017); on this kernel, in real time (needs root and BPF)
    Reboost(Reboost),
    /// Mitigating the Gateway Bottleneck via Transparent Cooperative Caching (Das, Pucha, Hu, Purdue 2006)
    Meshcache(Options),
    /// Every combination of redundancy elimination, overhearing, boost, recovery and cache, in one network
    Together(Options),
    /// All of them, into one folder of pages with the papers' figures beside ours
    All(all::All),
}

#[derive(clap::Args)]
struct Refactor {
    #[command(flatten)]
    wanted: Wanted,
    /// The parts of the experiment: `sim` runs the parts without TCP, in process; `virtual` (the
    /// virtual-time kernel) and `lab` (this kernel, needs root) run the parts with real TCP
    #[arg(long, default_value = "sim")]
    driver: Driver,
    /// Keep finished runs with real TCP in this folder, and run only missing ones
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Reboost {
    #[command(flatten)]
    wanted: Wanted,
    /// The driver: `lab` is this kernel (needs root), `qemu` the guest of `scripts/in-qemu`
    #[arg(long, default_value = "lab")]
    driver: Driver,
    /// The number of downloads at a time: 4 by `lab` and 1 by `qemu`. Use fewer for links without loss, which
    /// keep the processor busy
    #[arg(long)]
    lanes: Option<usize>,
    /// Keep finished runs in this folder, and run only missing ones
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
}

#[derive(clap::Args)]
struct ByteCaching {
    #[command(flatten)]
    options: Options,
    /// The download in the trace of figure 14: file-1, file-2 or ebook
    #[arg(long, value_name = "FILE", default_value = "file-1")]
    trace_file: File,
    /// The scheme in the trace of figure 14
    #[arg(long, value_name = "SCHEME", default_value = "tcp-seq")]
    trace_scheme: Scheme,
    /// The loss in the trace of figure 14
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    trace_loss: f64,
    /// The seed in the trace of figure 14
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    trace_seed: u64,
}

#[derive(clap::Args)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// The driver: `virtual` is the virtual-time kernel, `lab` this kernel (needs root), `sim` has no TCP
    #[arg(long, default_value = "virtual")]
    driver: Driver,
    /// Keep finished runs in this folder, and run only missing ones, also after an interruption. Use a new
    /// folder for another version
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
}

/// The required parts of an experiment, for any driver.
#[derive(clap::Args)]
struct Wanted {
    /// Only this figure or table (may be given several times): table-1, 6, grid and so on
    #[arg(long, value_name = "ID", conflicts_with_all = ["keep", "kept"])]
    figure: Vec<String>,
    /// Only runs with these words in their names (may be given several times); `--list` prints names:
    /// `scenario 1, PH-`, `1 error in 64 Kb`
    #[arg(long, value_name = "WORDS", conflicts_with_all = ["keep", "kept"])]
    only: Vec<String>,
    /// The number of seeds in every cell, in place of each figure's own number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// A few cells of every figure and few seeds
    #[arg(long)]
    quick: bool,
    /// List the runs by name, with their number of seeds, and run nothing
    #[arg(long, conflicts_with_all = ["report", "check"])]
    list: bool,
    /// Print the scenarios of the runs, one a line as JSON, and run nothing. The files of keys and contents
    /// that they name do not exist
    #[arg(long, conflicts_with_all = ["report", "check", "list"])]
    scenarios: bool,
    /// Print the rows as a JSON array
    #[arg(long)]
    json: bool,
    /// Write a report, with curves, into this file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Check the claims against the rows, and fail if one does not hold
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    claims: claims::List,
    /// Keep the rows in this folder, in the place of older rows of the same figures; documents are made from
    /// docs/rows
    #[arg(long, value_name = "DIR", conflicts_with_all = ["list", "scenarios"])]
    keep_rows: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.paper {
        Paper::ByteCaching(args) => {
            if !(0.0..=100.0).contains(&args.trace_loss) {
                return Err(Mistake::new(format!("--trace-loss {} is no percentage", args.trace_loss)).into());
            }
            run_in_lab(&byte_caching::EXPERIMENT, &args.options, traced(args))
        }
        Paper::NoHarm(options) => run_in_lab(&no_harm::EXPERIMENT, options, Traced::default()),
        Paper::Links(options) => run_in_lab(&links::EXPERIMENT, options, Traced::default()),
        Paper::Xbc(options) => run_in_lab(&xbc::EXPERIMENT, options, Traced::default()),
        Paper::Refactor(Refactor { wanted, driver, resume }) => {
            let experiment = if *driver == Driver::Sim { &refactor::EXPERIMENT } else { &refactor::WITH_TCP };
            let kept = resume.clone().map(Kept::in_folder).transpose()?;
            run_experiment(experiment, wanted, Traced::default(), &runner(*driver, kept)?)
        }
        Paper::Reboost(args) => {
            if !args.driver.uses_own_kernel() {
                let why =
                    format!("the driver {} has no BPF, which REboost needs: take lab or qemu", args.driver);
                return Err(Mistake::new(why).into());
            }
            let kept = args.resume.clone().map(Kept::in_folder).transpose()?;
            // A guest has one processor, and waiting takes none of its time.
            let by_default = if args.driver == Driver::Qemu { 1 } else { LAB_LANES };
            let lanes = args.lanes.unwrap_or(by_default).max(1);
            let runner = Runner { lanes, ..runner(args.driver, kept)? };
            run_experiment(&reboost::EXPERIMENT, &args.wanted, Traced::default(), &runner)
        }
        Paper::Together(options) => run_in_lab(&together::EXPERIMENT, options, Traced::default()),
        Paper::All(args) => all::run(args),
        Paper::Meshcache(options) => run_in_lab(&mesh_cache::EXPERIMENT, options, Traced::default()),
    }
}

/// Rows for people or for machines.
fn print(rows: &[Row], json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, rows)?;
        writeln!(out)?;
    } else {
        table(rows).write(&mut out)?;
    }
    Ok(())
}

fn run_in_lab(experiment: &Experiment, args: &Options, trace: Traced) -> anyhow::Result<()> {
    let kept = args.resume.clone().map(Kept::in_folder).transpose()?;
    run_experiment(experiment, &args.wanted, trace, &runner(args.driver, kept)?)
}

fn run_experiment(
    experiment: &Experiment,
    args: &Wanted,
    trace: Traced,
    runner: &Runner,
) -> anyhow::Result<()> {
    let figures = experiment.chosen(&args.figure).map_err(|why| Mistake::new(why.to_string()))?;
    let extent = if args.quick { Extent::Quick } else { experiment.extent(runner.driver) };
    let plan = Plan { extent, seeds: args.seeds, trace };
    if args.list {
        let runs = experiment::list(&figures, plan, &args.only, &Contents::find(), runner.driver)
            .map_err(mistake_if_nothing_is_meant)?;
        return list(&runs, args.json);
    }
    if args.scenarios {
        let scenarios = experiment::scenarios(&figures, plan, &args.only, &Contents::find(), runner.driver)
            .map_err(mistake_if_nothing_is_meant)?;
        let mut out = std::io::stdout().lock();
        for scenario in scenarios {
            writeln!(out, "{}", serde_json::to_string(&scenario)?)?;
        }
        return Ok(());
    }
    let keeping = args
        .keep_rows
        .as_deref()
        .map(|folder| Keeping::in_folder(folder, experiment, &figures, (plan, &args.only), runner));
    let keeping = keeping.transpose()?;
    let contents = Contents::find();
    let progress = ProgressBar::new(0).with_style(
        ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {elapsed} of {duration}  {msg:40!}")
            .context("the progress bar")?,
    );
    let started = Instant::now();
    let rows = experiment::run(&figures, plan, &args.only, &contents, runner, &progress)
        .map_err(mistake_if_nothing_is_meant)?;
    progress.finish_and_clear();
    if let Some(keeping) = keeping {
        keeping.keep(&rows, &contents, started.elapsed())?;
    }
    let asked = experiment.asked(plan, runner.driver, &args.figure, &args.only);
    let claims = experiment.judge(&rows, asked);
    if let Some(path) = &args.report {
        let heading = Heading {
            title: experiment.title.to_owned(),
            source: experiment.source.to_owned(),
            ran: vec![Ran {
                driver: runner.driver,
                kernel: runner.kernel(),
                took_seconds: started.elapsed().as_secs_f64(),
            }],
            commit: run::commit(),
        };
        let html = experiment.report(&figures, &rows, &claims, &heading);
        std::fs::write(path, html).with_context(|| format!("cannot write {}", path.display()))?;
    }
    print(&rows, args.json)?;
    let checked = if args.check { claims::check(&claims) } else { Ok(()) };
    args.claims.hold(&contents, Judged { experiment: experiment.id, driver: runner.driver, claims })?;
    checked
}

/// Words that no run has in its name are a mistake in the command.
fn mistake_if_nothing_is_meant(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<NothingMeant>() {
        Ok(why) => Mistake::new(why.to_string()).into(),
        Err(error) => error,
    }
}

/// What would be run, for people or for machines.
fn list(runs: &[Named], json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, runs)?;
        writeln!(out)?;
        return Ok(());
    }
    let mut table = Table::new(&["run", "seeds"]);
    for Named { name, seeds, seeds_at_most } in runs {
        let seeds =
            if seeds == seeds_at_most { seeds.to_string() } else { format!("{seeds} to {seeds_at_most}") };
        table.row([name.clone(), seeds]);
    }
    table.write(&mut out)?;
    if runs.is_empty() {
        writeln!(out, "its figures are reckoned in this process, without runs that have names")?;
    }
    Ok(())
}

fn traced(args: &ByteCaching) -> Traced {
    Traced {
        file: args.trace_file,
        scheme: args.trace_scheme,
        loss_percent: args.trace_loss,
        seed: args.trace_seed,
    }
}

/// Rows for people to read.
fn table(rows: &[Row]) -> Table {
    let mut heads =
        vec!["figure", "series", "x", "ours", "95% interval", "paper", "our goal", "unit", "note"];
    let has_others = rows.iter().any(|row| row.recorded().is_some());
    if has_others {
        heads.insert(7, "recorded");
    }
    let mut table = Table::new(&heads);
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
    for row in rows {
        let interval = match (row.low, row.high) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => String::new(),
        };
        let note = row.note.split("; ").filter(|note| !note.starts_with("content: ")).collect::<Vec<_>>();
        let paper = row.paper.map_or_else(String::new, |paper| paper.to_string());
        let goal = row.goal.map_or_else(String::new, |goal| goal.to_string());
        let (figure, series, x) = (row.figure.clone(), row.series.clone(), row.x.to_string());
        let mut cells = vec![figure, series, x, number(row.ours()), interval, paper, goal];
        cells.extend(has_others.then(|| number(row.recorded())));
        cells.extend([row.unit.clone(), note.join("; ")]);
        table.row(cells);
    }
    table
}
