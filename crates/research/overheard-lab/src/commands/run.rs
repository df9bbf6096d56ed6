//! Runs scenarios from files: `overheard-lab run SCENARIO.json...` prints one outcome a line.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand, ValueEnum};
use lab::virtual_time::Kernel;
use lab::{Driver, Scenario, Virtual};

/// Tries scenarios in network namespaces over the emulated air.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs scenarios and prints one outcome a line, as JSON.
    Run {
        /// Files with one scenario each, as JSON.
        #[arg(required = true)]
        scenarios: Vec<PathBuf>,
        /// On which kernel.
        #[arg(long, value_enum, default_value = "virtual")]
        driver: DriverName,
        /// What `{exe}` in the scenarios stands for.
        #[arg(long, default_value = "overheard")]
        exe: PathBuf,
    },
    /// Runs one scenario inside the virtual-time kernel.
    #[command(hide = true)]
    Guest { scenario: PathBuf, outcomes: PathBuf, exe: PathBuf },
}

#[derive(Clone, Copy, ValueEnum)]
enum DriverName {
    /// This kernel, wall clock, root.
    Lab,
    /// The virtual-time kernel.
    Virtual,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Guest { scenario, outcomes, exe } => Ok(lab::guest::main(&scenario, &outcomes, &exe)?),
        Command::Run { scenarios, driver, exe } => {
            let read = |path: &PathBuf| -> Result<Scenario> {
                let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
                serde_json::from_slice(&text).with_context(|| format!("{} is no scenario", path.display()))
            };
            let scenarios: Vec<Scenario> = scenarios.iter().map(read).collect::<Result<_>>()?;
            let driver = match driver {
                DriverName::Lab => Driver::Lab { exe },
                DriverName::Virtual => {
                    let own = std::env::current_exe()?.to_string_lossy().into_owned();
                    Driver::Virtual(Virtual::new(Kernel::find()?, exe, vec![own, "guest".to_owned()]))
                }
            };
            for outcome in lab::run(&driver, &scenarios)? {
                println!("{}", serde_json::to_string(&outcome)?);
            }
            Ok(())
        }
    }
}
