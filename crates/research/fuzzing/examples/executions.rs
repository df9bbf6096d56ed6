//! Tries many inputs for every target, in pieces, and prints their number.
//!
//! ```text
//! cargo run --example executions                          # the figures
//! cargo run --example executions -- SECONDS [TARGET...]   # go on for so long, where least was done first
//! ```
//!
//! Each piece is one search ([`fuzzing::search`]) and one row of `fuzz/executions.csv`. A run goes on behind
//! the rows that are there.
#![allow(clippy::disallowed_methods, reason = "it measures its own time")]

use fuzzing::search::Search;
use fuzzing::{TARGETS, Target};
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

const HEADER: &str = "target,piece,executions,accepted,seconds,code";
/// Executions of a piece, in those of a test: about twenty seconds' worth.
const TESTS_A_PIECE: u64 = 20;

/// One piece.
struct Row {
    target: String,
    piece: u64,
    executions: u64,
    accepted: u64,
    seconds: f64,
}

impl Row {
    fn parse(line: &str) -> Result<Self, Box<dyn Error>> {
        let fields: Vec<&str> = line.split(',').collect();
        let [target, piece, executions, accepted, seconds, _] = fields[..] else {
            return Err(format!("a row has other fields than {HEADER}: {line}").into());
        };
        Ok(Row {
            target: target.to_owned(),
            piece: piece.parse()?,
            executions: executions.parse()?,
            accepted: accepted.parse()?,
            seconds: seconds.parse()?,
        })
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz")
}

/// The rows that are there.
fn rows() -> Result<Vec<Row>, Box<dyn Error>> {
    let text = std::fs::read_to_string(folder().join("executions.csv")).unwrap_or_default();
    text.lines().skip(1).map(Row::parse).collect()
}

/// The tested code: the commit, with a mark if the code differs from it.
fn code() -> String {
    let git = |arguments: &[&str]| Command::new("git").args(arguments).current_dir(folder()).output();
    let commit = git(&["rev-parse", "--short", "HEAD"]).map(|said| said.stdout).unwrap_or_default();
    let is_clean =
        git(&["diff", "--quiet", "HEAD", "--", "../crates"]).is_ok_and(|said| said.status.success());
    let dirty = if is_clean { "" } else { "-dirty" };
    format!("{}{dirty}", String::from_utf8_lossy(&commit).trim())
}

/// The sums of one target's rows.
struct Tried {
    target: &'static Target,
    pieces: u64,
    executions: u64,
    accepted: u64,
    seconds: f64,
}

impl Tried {
    fn of(target: &'static Target, rows: &[Row]) -> Self {
        let mut tried = Tried { target, pieces: 0, executions: 0, accepted: 0, seconds: 0.0 };
        rows.iter().filter(|row| row.target == target.name).for_each(|row| tried.add(row));
        tried
    }

    fn add(&mut self, row: &Row) {
        self.pieces = self.pieces.max(row.piece + 1);
        self.executions += row.executions;
        self.accepted += row.accepted;
        self.seconds += row.seconds;
    }

    fn share(&self) -> f64 {
        self.executions as f64 / self.target.goal() as f64
    }

    fn is_complete(&self) -> bool {
        self.executions >= self.target.goal()
    }

    /// Tries the next piece.
    fn go_on(&self) -> Result<Row, fuzzing::search::Found> {
        let mut search = Search::new(self.target, Vec::new(), self.pieces);
        let most = self.target.goal() - self.executions;
        let (start, piece) = (Instant::now(), (self.target.mutations as u64 * TESTS_A_PIECE).min(most));
        while search.executions() < piece {
            search.step()?;
        }
        Ok(Row {
            target: self.target.name.to_owned(),
            piece: self.pieces,
            executions: search.executions(),
            accepted: search.accepted(),
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

fn print(tried: &[Tried]) {
    println!(
        "{:<18}{:>12}{:>12}{:>8}{:>10}{:>12}",
        "target", "executions", "goal", "%", "accepted", "a second"
    );
    for one in tried {
        let (executions, accepted) = (one.executions as f64, one.accepted as f64);
        println!(
            "{:<18}{:>12}{:>12}{:>8.2}{:>9.1}%{:>12.0}",
            one.target.name,
            one.executions,
            one.target.goal(),
            one.share() * 100.0,
            accepted / executions.max(1.0) * 100.0,
            executions / one.seconds.max(1e-9)
        );
    }
    let complete = tried.iter().filter(|one| one.is_complete()).count();
    println!("{complete} of {} targets have reached their goal", tried.len());
}

fn file() -> Result<File, Box<dyn Error>> {
    let path = folder().join("executions.csv");
    let is_new = !path.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if is_new {
        writeln!(file, "{HEADER}")?;
    }
    Ok(file)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("executions: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |target: &&Target| arguments.len() < 2 || arguments[1..].iter().any(|it| it == target.name);
    let rows = rows()?;
    let mut tried: Vec<Tried> =
        TARGETS.iter().filter(wanted).map(|target| Tried::of(target, &rows)).collect();
    let mut failed = Vec::new();
    if let Some(seconds) = arguments.first() {
        let (start, patience) = (Instant::now(), Duration::from_secs(seconds.parse()?));
        let (mut file, code) = (file()?, code());
        while start.elapsed() < patience
            && let Some(least) = tried
                .iter_mut()
                .filter(|one| !one.is_complete())
                .min_by(|one, other| one.share().total_cmp(&other.share()))
        {
            let row = match least.go_on() {
                Ok(row) => row,
                Err(found) => {
                    eprintln!("executions: {found}");
                    let name = least.target.name;
                    tried.retain(|one| one.target.name != name);
                    failed.push(name);
                    continue;
                }
            };
            least.add(&row);
            let Row { target, piece, executions, accepted, seconds } = row;
            writeln!(file, "{target},{piece},{executions},{accepted},{seconds:.1},{code}")?;
        }
    }
    print(&tried);
    if failed.is_empty() { Ok(()) } else { Err(format!("these failed: {}", failed.join(", ")).into()) }
}
