//! `overheard-lab guest`: one scenario inside the virtual-time kernel.

use lab::Programs;
use std::path::PathBuf;

/// Run one scenario inside the virtual-time kernel
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// The scenario, as JSON
    scenario: PathBuf,
    /// Where outcomes go, as JSON lines
    outcomes: PathBuf,
    /// What `{overheard}` in the scenario stands for
    overheard: PathBuf,
    /// What `{lab}` in the scenario stands for
    laboratory: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let programs = Programs { overheard: args.overheard.clone(), laboratory: args.laboratory.clone() };
    Ok(lab::guest::main(&args.scenario, &args.outcomes, &programs)?)
}
