//! `overheard-lab results`: the tables of documents from kept rows, and kept rows held against a new run.

use anyhow::{Context as _, anyhow, bail, ensure};
use console::say;
use daemon::config::Mistake;
use experiments::documents::{self, Source};
use experiments::kept_rows::{KeptRows, KeptRun, Origin, differences};
use experiments::row::Row;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Make the tables of the documents anew from the rows in docs/rows
#[derive(clap::Args)]
pub struct Args {
    /// The project's folder
    #[arg(default_value = ".", value_name = "PROJECT")]
    project: PathBuf,
    /// Change nothing, and fail if a document differs from the rows
    #[arg(long)]
    check: bool,
    /// Make no tables; run a figure's kept command again, and fail if a value leaves its kept interval. As in
    /// 'refactor sim 3' (may be given several times)
    #[arg(long, value_name = "EXPERIMENT DRIVER FIGURE", conflicts_with = "check")]
    again: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if args.again.is_empty() { make(args) } else { run_again(args) }
}

fn make(args: &Args) -> anyhow::Result<()> {
    let source = Source::in_folder(&args.project.join("docs/rows"))?;
    let mut stale = Vec::new();
    for path in documents::with_blocks(&args.project)? {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let filled = source.fill(&text).with_context(|| path.display().to_string())?;
        if filled == text {
            continue;
        }
        if args.check {
            stale.push(path.display().to_string());
        } else {
            fs::write(&path, filled).with_context(|| format!("cannot write {}", path.display()))?;
            say!("{} is made anew", path.display())?;
        }
    }
    if stale.is_empty() { Ok(()) } else { bail!("the rows say otherwise than {}", stale.join(", ")) }
}

fn run_again(args: &Args) -> anyhow::Result<()> {
    let kept = KeptRows::read(&args.project.join("docs/rows"))?;
    let mut differing = Vec::new();
    for wanted in &args.again {
        let words: Vec<&str> = wanted.split_whitespace().collect();
        let [experiment, driver, figure] = words[..] else {
            return Err(Mistake::new(format!("{wanted:?} is not experiment, driver and figure")).into());
        };
        let driver = driver.parse().map_err(Mistake::new)?;
        let runs: Vec<&KeptRun> = kept.of_figure(experiment, driver, figure).collect();
        ensure!(!runs.is_empty(), Mistake::new(format!("no rows are kept of {wanted}")));
        for run in runs {
            let differences = differences(run, &rows_now(run)?);
            say!("{}: {} rows, {} differ", run.command, run.rows.len(), differences.len())?;
            differing.extend(differences);
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    for line in &differing {
        say!("{line}")?;
    }
    bail!("{} kept values do not come out again", differing.len())
}

/// The rows that a kept command gives now, with contents of the same origin.
fn rows_now(run: &KeptRun) -> anyhow::Result<Vec<Row>> {
    let words = words(&run.command);
    let arguments = words.iter().skip_while(|word| *word != "experiment");
    let mut command = Command::new(crate::programs::own()?);
    command.args(arguments).arg("--json").stderr(Stdio::inherit());
    if run.contents == Origin::Made {
        command.env("OVERHEARD_DATA", "");
    }
    let output = command.output().with_context(|| run.command.clone())?;
    ensure!(output.status.success(), anyhow!("{}: {}", run.command, output.status));
    serde_json::from_slice(&output.stdout).with_context(|| format!("rows of {}", run.command))
}

/// The words of a command; single quotes group words.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().map(str::to_owned).collect(),
        _ => vec![part.to_owned()],
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_command_is_parted_as_a_shell_does() {
        let command = "sudo overheard-lab experiment xbc --figure 6 --only '1 error in 16 Kb'";
        let parted = words(command);
        assert_eq!(parted.len(), 8);
        assert_eq!(parted[7], "1 error in 16 Kb");
    }
}
