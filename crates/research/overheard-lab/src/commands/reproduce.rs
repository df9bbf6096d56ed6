//! `overheard-lab reproduce`: what of the papers fits into some core-hours, stated before it runs.

use crate::programs::runner;
use anyhow::bail;
use console::Table;
use console::doctor::{self, State};
use console::say;
use daemon::config::Mistake;
use experiments::budget::{self, Cost, Costs, Piece, Speed};
use experiments::contents::Contents;
use experiments::experiment::Experiment;
use experiments::kept_rows;
use experiments::row::Driver;
use experiments::run;
use experiments::site::{Part, Site};
use indicatif::{ProgressBar, ProgressStyle};
use lab::virtual_time::Kernel;
use std::path::{Path, PathBuf};

/// Reproduce as much of the papers as fits into some core-hours
#[derive(clap::Args)]
pub struct Args {
    /// Core-hours of this machine: 1 has a few cells of each paper, 8 whole figures, 64 most of them. With
    /// --list, --piece and --shard they are those of the machine that the costs were measured on, so that all
    /// machines choose the same
    #[arg(long, default_value_t = 1.0)]
    hours: f64,
    /// Write the pages and keep finished runs in this folder; the same command continues there
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    report: PathBuf,
    /// State what would run and what it costs, and run nothing
    #[arg(long)]
    list: bool,
    /// The same as JSON
    #[arg(long, requires = "list")]
    json: bool,
    /// Run only the third of 16 parts of about equal cost; `kept` folders of parts can be copied into one
    #[arg(long, value_name = "3/16", value_parser = shard)]
    shard: Option<(usize, usize)>,
    /// Run only the piece of this name, as `--list` prints it (may be given several times)
    #[arg(long, value_name = "NAME")]
    piece: Vec<String>,
    /// Keep what the pieces took in this file; with docs/rows/reproduce.json, the next build states these
    /// costs
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    keep_costs: Option<PathBuf>,
}

/// Costs that a command summed up.
#[derive(Default)]
struct Took {
    /// The costs of complete pieces, by their names.
    costs: Vec<(String, Cost)>,
    /// Their stated sum.
    stated_core_seconds: f64,
    /// The number of pieces that an earlier command began: their first part was not counted.
    interrupted: usize,
    failed: usize,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if !(args.hours > 0.0 && args.hours <= 10_000.0) {
        return Err(Mistake::new(format!("--hours {} is not within 0 to 10000", args.hours)).into());
    }
    let contents = Contents::find();
    let (able, left_out): (Vec<_>, Vec<_>) = budget::PAPERS
        .into_iter()
        .map(|(paper, driver)| (paper, driver, why_not(paper, driver)))
        .partition(|it| it.2.is_none());
    let can_run = |paper: &Experiment, driver| able.iter().any(|it| it.0.id == paper.id && it.1 == driver);
    let measured = Costs::built_in()?;
    let fitting = |speed: &Speed| budget::choose(args.hours, &contents, &measured, speed, can_run);
    let pieces = selected(args, fitting(&Speed::default())?)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&pieces)?)?;
        return Ok(());
    }
    state(&pieces, &measured.machine)?;
    for (paper, driver, why) in &left_out {
        say!("left out: {} by {driver}: {}", paper.id, why.as_deref().unwrap_or_default())?;
    }
    if args.list {
        return Ok(());
    }
    let work = Work::new(args, &contents)?;
    if !args.piece.is_empty() || args.shard.is_some() {
        return work.reproduce(&pieces);
    }
    let gauge = Speed::gauge(&pieces);
    let speed = work.measure(&gauge)?;
    let here = here(args.hours, gauge, &speed, fitting(&speed)?);
    say!("a run here takes {:.2} times as long: {}", speed.times(Driver::Virtual), sum(&here))?;
    work.reproduce(&here)
}

/// The pieces of this machine: first those that measured it, whose runs are kept.
fn here(core_hours: f64, gauge: Vec<Piece>, speed: &Speed, chosen: Vec<Piece>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = gauge.into_iter().map(|piece| piece.at(speed)).collect();
    let measuring: Vec<String> = pieces.iter().map(|piece| piece.name.clone()).collect();
    pieces.extend(chosen.into_iter().filter(|piece| !measuring.contains(&piece.name)));
    budget::within(core_hours, pieces)
}

/// The pieces of the command's shard, or with its names.
fn selected(args: &Args, mut pieces: Vec<Piece>) -> anyhow::Result<Vec<Piece>> {
    if let Some(unknown) = args.piece.iter().find(|name| !pieces.iter().any(|piece| &piece.name == *name)) {
        let why = format!("there is no piece {unknown:?} in {} core-hours; `--list` prints them", args.hours);
        return Err(Mistake::new(why).into());
    }
    if !args.piece.is_empty() {
        pieces.retain(|piece| args.piece.contains(&piece.name));
    }
    if let Some((number, count)) = args.shard {
        // The most expensive first, each to the shard with the least so far.
        pieces.sort_by(|one, other| other.core_seconds.total_cmp(&one.core_seconds));
        let mut sums = vec![0.0_f64; count];
        pieces.retain(|piece| {
            let least =
                (0..count).min_by(|one, other| sums[*one].total_cmp(&sums[*other])).unwrap_or_default();
            sums[least] += piece.core_seconds;
            least + 1 == number
        });
    }
    Ok(budget::in_order(pieces))
}

fn state(pieces: &[Piece], machine: &str) -> anyhow::Result<()> {
    let mut table = Table::new(&["piece", "runs", "core-minutes"]);
    for piece in pieces {
        let minutes =
            format!("{:.2}{}", piece.core_seconds / 60.0, if piece.is_measured { "" } else { " allowed" });
        table.row([piece.name.clone(), piece.runs.to_string(), minutes]);
    }
    let mut out = std::io::stdout().lock();
    table.write(&mut out)?;
    drop(out);
    say!("{}; measured on {machine}", sum(pieces))?;
    Ok(())
}

/// What pieces cost together.
fn sum(pieces: &[Piece]) -> String {
    let (hours, cores) = (budget::core_seconds(pieces) / 3600.0, cores());
    format!("{hours:.2} core-hours, at least {:.2} hours on {cores} cores", hours / cores)
}

/// Where pieces are run, and what is kept of them.
struct Work<'a> {
    site: Site,
    contents: &'a Contents,
    keeping: Option<Keeping<'a>>,
    bar: ProgressBar,
}

impl<'a> Work<'a> {
    fn new(args: &'a Args, contents: &'a Contents) -> anyhow::Result<Self> {
        let keeping = args.keep_costs.as_deref().map(Keeping::in_file).transpose()?;
        let site = Site::in_folder(args.report.clone(), run::commit(), false, None)?;
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {elapsed}  {msg:40!}")?;
        Ok(Self { site, contents, keeping, bar: ProgressBar::new(0).with_style(style) })
    }

    fn run(&self, part: &mut Part, piece: &Piece) -> anyhow::Result<Cost> {
        let runner = runner(piece.driver, None)?;
        self.site.run_figure(part, (&piece.figure, piece.extent), &runner, self.contents, &self.bar)
    }

    /// Runs the pieces that measure this machine. Their runs are kept.
    fn measure(&self, gauge: &[Piece]) -> anyhow::Result<Speed> {
        let mut took = Vec::new();
        for piece in gauge {
            // Its failure is told when its turn comes.
            let Ok(cost) = self.run(&mut Part::new(piece.experiment), piece) else { continue };
            let (minutes, stated) = (cost.core_seconds / 60.0, piece.core_seconds / 60.0);
            self.bar.suspend(|| say!("{}: {minutes:.2} core-minutes of {stated:.2}", piece.name))?;
            took.push((piece, cost));
        }
        Ok(Speed::by(took))
    }

    fn reproduce(self, pieces: &[Piece]) -> anyhow::Result<()> {
        let mut parts = Vec::<Part>::new();
        let mut took = Took::default();
        for (number, piece) in pieces.iter().enumerate() {
            let position = parts.iter().position(|part| part.experiment.id == piece.experiment.id);
            let position = position.unwrap_or_else(|| {
                parts.push(Part::new(piece.experiment));
                parts.len() - 1
            });
            let part = &mut parts[position];
            let how = match self.run(part, piece) {
                Ok(cost) => took.add(piece, cost),
                Err(error) => {
                    took.failed += 1;
                    let why = format!("{error:#}");
                    part.left_out.push((piece.driver, format!("figure {}: {why}", piece.figure.id)));
                    why
                }
            };
            self.site.write_part(part)?;
            self.bar.suspend(|| say!("{}/{} {}: {how}", number + 1, pieces.len(), piece.name))?;
        }
        self.bar.finish_and_clear();
        let index = self.site.write_index(&parts)?;
        let hours = self.bar.elapsed().as_secs_f64() / 3600.0;
        say!("{}, in {hours:.2} hours; {}", took.sum(), index.display())?;
        if let Some(keeping) = self.keeping {
            keeping.keep(took.costs)?;
        }
        if took.failed > 0 {
            bail!("{} pieces could not be run to their end; the pages say why", took.failed)
        }
        Ok(())
    }
}

impl Took {
    /// Adds a piece, and says what it took.
    fn add(&mut self, piece: &Piece, cost: Cost) -> String {
        let (took, stated) = (cost.core_seconds / 60.0, piece.core_seconds / 60.0);
        if !piece.is_all(&cost) {
            self.interrupted += 1;
            return format!("{took:.2} core-minutes since it was interrupted, of {stated:.2} stated");
        }
        self.stated_core_seconds += piece.core_seconds;
        self.costs.push((piece.name.clone(), cost));
        format!("{took:.2} core-minutes of {stated:.2} stated")
    }

    fn sum(&self) -> String {
        let took: f64 = self.costs.iter().map(|(_, cost)| cost.core_seconds).sum();
        let but = match self.interrupted {
            0 => String::new(),
            pieces => format!(", without {pieces} interrupted pieces"),
        };
        format!("{:.2} core-hours of {:.2} stated{but}", took / 3600.0, self.stated_core_seconds / 3600.0)
    }
}

/// Where costs are kept, and the state of the project that they are of.
struct Keeping<'a> {
    path: &'a Path,
    commit: String,
    machine: String,
}

impl<'a> Keeping<'a> {
    /// In this file, if it can have them: before they take their time.
    fn in_file(path: &'a Path) -> anyhow::Result<Self> {
        let (commit, machine) = (kept_rows::commit()?, run::machine());
        Costs::read(path, &machine)?;
        Ok(Self { path, commit, machine })
    }

    fn keep(self, costs: Vec<(String, Cost)>) -> anyhow::Result<()> {
        // read again, since other commands may have kept costs meanwhile
        let mut all = Costs::read(self.path, &self.machine)?;
        all.add(&self.commit, costs);
        all.write(self.path)
    }
}

/// What this machine lacks for a paper.
fn why_not(paper: &Experiment, driver: Driver) -> Option<String> {
    match driver {
        Driver::Virtual => Kernel::find().err().map(|why| why.to_string()),
        Driver::Lab if !rustix::process::geteuid().is_root() => Some("it needs root".to_owned()),
        Driver::Lab if paper.id == experiments::reboost::EXPERIMENT.id => {
            let found = doctor::boost();
            (found.state != State::Present).then(|| format!("{}; {}", found.detail, found.mend))
        }
        _ => None,
    }
}

fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parsed =
        text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
    match parsed {
        Some((number, count)) if 1 <= number && number <= count && count <= 10_000 => Ok((number, count)),
        _ => Err("a part is such as 3/16: the third of 16".to_owned()),
    }
}
