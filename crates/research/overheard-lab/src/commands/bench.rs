//! `overheard-lab bench`: how fast this machine does the work, with and without sockets and devices.
//!
//! Without: a fixed amount of work is done several times, and the median of the processor times taken: what
//! other programs do meanwhile counts as little as can be. One thread does everything, except where several
//! are compared. With: [`tunnel`].

mod cache;
mod chunks;
mod codec;
mod faults;
mod figure;
mod kept;
mod memory;
mod node;
mod recovery;
mod scaling;
mod tunnel;
mod twice;

use clap::ValueEnum as _;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Measure the speed of a node's work on this machine
#[derive(clap::Args)]
pub struct Args {
    /// What to measure
    name: Name,
    /// The number of runs; the median counts
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// For `faults`: measure only faults with this text in their names, such as "1300 bytes" or "20 flows"
    #[arg(long, value_name = "TEXT", conflicts_with = "keep_rows")]
    only: Option<String>,
    /// Print the rows as a JSON array
    #[arg(long)]
    json: bool,
    /// Keep the rows in this folder, in the place of older rows of the same benchmark; documents are made
    /// from docs/rows
    #[arg(long, value_name = "DIR")]
    keep_rows: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Name {
    /// Encoding and decoding where 0, 50 and 90% of the bytes repeat
    Codec,
    /// Two whole nodes, what one sends being received by the other, and where the time goes
    Node,
    /// Keeping TCP segments for repair, as they are and combined, and undoing that
    Recovery,
    /// A node with four peers on one thread and on two
    Scaling,
    /// Tunnels between two network namespaces, beside wireguard-go, boringtun and the bare cable; needs root
    Tunnel,
    /// Outages by faults of a first hour, beside the newest wireguard-go; needs root
    Faults,
    /// Resident memory of a gateway with 1 to 1,000 peers at full load, beside its budget; needs root
    Memory,
    /// Random bytes sent twice under budgets of memory, beside the best that such a memory can save
    Twice,
    /// Hits of the web cache, beside nginx and Squid where they are installed
    Cache,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_possible_value().map_or(Ok(()), |value| f.write_str(value.get_name()))
    }
}

/// One figure.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    value: f64,
    unit: &'static str,
}

impl Row {
    fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Row { name: name.into(), value, unit }
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    anyhow::ensure!(
        args.only.is_none() || args.name == Name::Faults,
        "--only: `bench {}` has no parts; leave it out",
        args.name
    );
    let into = args
        .keep_rows
        .as_ref()
        .map(|folder| Ok::<_, anyhow::Error>((folder, kept::commit(args.name != Name::Faults)?)));
    let into = into.transpose()?;
    let name = args.name.to_string();
    let keep = |rows| {
        let into = into.as_ref().map(|(folder, commit)| (folder.as_path(), commit.as_str()));
        into.map_or(Ok(()), |into| kept::keep(into, &name, args.runs, rows))
    };
    let rows = match args.name {
        Name::Codec => {
            let mut rows = codec::measure(args.runs)?;
            rows.extend(chunks::measure(args.runs)?);
            rows
        }
        Name::Node => node::measure(args.runs)?,
        Name::Recovery => recovery::measure(args.runs)?,
        Name::Scaling => scaling::measure(args.runs)?,
        Name::Tunnel => return keep(tunnel::run(args.runs, args.json)?),
        Name::Faults => return keep(faults::run(args.runs, args.only.as_deref(), args.json)?),
        Name::Memory => memory::measure(args.runs)?,
        Name::Twice => twice::measure()?,
        Name::Cache => cache::measure(args.runs)?,
    };
    keep(kept::medians(&name, &rows))?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    } else {
        for Row { name, value, unit } in &rows {
            let digits = if *value < 10.0 { 2 } else { 0 };
            writeln!(out, "{name:<44} {value:>12.digits$} {unit}")?;
        }
    }
    Ok(())
}

/// The current measurement and its progress, for the user.
struct Progress(ProgressBar);

impl Progress {
    fn new(silent: bool, steps: u64, first: &'static str) -> Self {
        let bar = if silent { ProgressBar::hidden() } else { ProgressBar::new(steps) };
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len}  {msg}") {
            bar.set_style(style);
        }
        bar.set_message(first);
        Progress(bar)
    }

    fn say(&self, what: String) {
        self.0.set_message(what);
    }

    fn step(&self) {
        self.0.inc(1);
    }

    fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// The processor time that this thread has had.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// The time of `work`.
fn timed(work: impl FnOnce()) -> Duration {
    let before = processor_time();
    work();
    processor_time().saturating_sub(before)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn gigabits_per_second(bytes: usize, time: Duration) -> f64 {
    bytes as f64 * 8.0 / 1e9 / time.as_secs_f64().max(1e-9)
}
