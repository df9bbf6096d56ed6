//! `overheard lab-guest`: the lab inside the virtual-time kernel.

use std::path::PathBuf;

/// Run one scenario inside the virtual-time kernel
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// The scenario, as JSON
    scenario: PathBuf,
    /// Where outcomes go, as JSON lines
    outcomes: PathBuf,
    /// What `{exe}` in the scenario stands for
    exe: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    Ok(lab::guest::main(&args.scenario, &args.outcomes, &args.exe)?)
}
