//! `overheard-lab run`: scenarios from files, one outcome a line.

use crate::programs;
use anyhow::{Context as _, Result};
use clap::ValueEnum;
use lab::virtual_time::Kernel;
use lab::{Driver, Programs, Scenario, Virtual};
use std::path::PathBuf;

/// Run scenarios from files, and print one outcome a line, as JSON
#[derive(clap::Args)]
pub struct Args {
    /// Files with one scenario each, as JSON
    #[arg(required = true)]
    scenarios: Vec<PathBuf>,
    /// The kernel
    #[arg(long, value_enum, default_value = "virtual")]
    driver: DriverName,
    /// The program for `{overheard}` in the scenarios; without it, the program beside this one, or in PATH
    #[arg(long, value_name = "PROGRAM")]
    overheard: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum DriverName {
    /// This kernel, wall clock, root
    Lab,
    /// The virtual-time kernel
    Virtual,
}

pub fn run(args: &Args) -> Result<()> {
    let read = |path: &PathBuf| -> Result<Scenario> {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is no scenario", path.display()))
    };
    let scenarios: Vec<Scenario> = args.scenarios.iter().map(read).collect::<Result<_>>()?;
    let programs = match &args.overheard {
        Some(overheard) => Programs { overheard: overheard.clone(), laboratory: programs::own()? },
        None => programs::find()?,
    };
    let driver = match args.driver {
        DriverName::Lab => Driver::Lab { programs },
        DriverName::Virtual => {
            let guest = programs::guest(&programs);
            Driver::Virtual(Virtual::new(Kernel::find()?, programs, guest))
        }
    };
    for outcome in lab::run(&driver, &scenarios)? {
        console::say!("{}", serde_json::to_string(&outcome)?)?;
    }
    Ok(())
}
