//! `bench --keep-rows`: figures of this machine into the folder from which documents are made.

use super::Row as Measured;
use super::figure::Figure;
use anyhow::ensure;
use daemon::config::Mistake;
use experiments::kept_rows::{self, BENCH, KeptRows, KeptRun, Origin};
use experiments::row::{Driver, Row};
use experiments::run;
use std::path::Path;

/// Where on the axis a figure stands that is a median.
const MEDIAN: &str = "median";

/// The rows of figures that are medians.
pub fn medians(bench: &str, measured: &[Measured]) -> Vec<Row> {
    let row = |it: &Measured| row(bench, &it.name, MEDIAN, it.value, it.unit);
    measured.iter().map(row).collect()
}

/// The row of one figure.
pub fn row(bench: &str, series: &str, of_rounds: &str, value: f64, unit: &str) -> Row {
    Row { driver: Driver::Lab, ..Row::new(bench, series, of_rounds, unit).exactly(value) }
}

/// The rows of a figure over several rounds.
pub fn rows(bench: &str, figure: &Figure) -> [Row; 3] {
    let of_rounds = [("median", figure.median), ("lowest", figure.lowest), ("highest", figure.highest)];
    of_rounds.map(|(name, value)| row(bench, &figure.name, name, value, figure.unit))
}

/// The commit whose program measures. Refuses before anything is measured: an unoptimised program, unless the
/// figures are no speeds, and a state of the project without a name.
///
/// # Errors
///
/// When it refuses.
pub fn commit(measures_speed: bool) -> anyhow::Result<String> {
    let why = "an unoptimised program measures nothing of use: build it by `make build-lab`";
    ensure!(!(measures_speed && cfg!(debug_assertions)), Mistake::new(why.to_owned()));
    kept_rows::commit().map_err(|why| Mistake::new(why.to_string()).into())
}

/// Puts rows in the place of those that are kept of the same benchmark.
///
/// # Errors
///
/// When they cannot be written.
pub fn keep((folder, commit): (&Path, &str), bench: &str, runs: u32, rows: Vec<Row>) -> anyhow::Result<()> {
    let program = if cfg!(debug_assertions) { ", of a program with debug assertions" } else { "" };
    let run = KeptRun {
        figure: bench.to_owned(),
        command: format!("overheard-lab bench {bench} --runs {runs}{program}"),
        quick: false,
        partial: false,
        commit: commit.to_owned(),
        kernel: run::machine(),
        date: run::date(),
        contents: Origin::Made,
        inputs: String::new(),
        core_seconds_each: None,
        rows,
    };
    KeptRows::read(folder)?.keep(BENCH, Driver::Lab, vec![run])
}
