//! The two programs of this project, as the laboratory runs them.

use anyhow::Context as _;
use daemon::config::Mistake;
use experiments::run::Runner;
use lab::Programs;
use std::path::PathBuf;
use std::sync::Arc;

/// The shipped program.
const SHIPPED: &str = "overheard";

/// The shipped program, beside this one or in PATH, and this program.
pub fn find() -> anyhow::Result<Programs> {
    let laboratory = own()?;
    let overheard = console::other_program(SHIPPED).ok_or_else(|| {
        Mistake::new(format!(
            "the program {SHIPPED} is neither beside {} nor in PATH; install the Debian package {SHIPPED}, or build it by \
             `make build`",
            laboratory.display()
        ))
    })?;
    Ok(Programs { overheard, laboratory })
}

/// The program and first arguments that run a scenario inside the virtual-time kernel.
pub fn guest(programs: &Programs) -> Vec<String> {
    vec![programs.laboratory.to_string_lossy().into_owned(), "guest".to_owned()]
}

/// What runs scenarios, with these programs in them.
pub fn runner(
    driver: experiments::row::Driver,
    kept: Option<experiments::run::Kept>,
) -> anyhow::Result<Runner> {
    let programs = find()?;
    let guest = guest(&programs);
    Ok(Runner { driver, programs, guest, lanes: experiments::run::LAB_LANES, kept, ended: Arc::default() })
}

/// This program.
pub fn own() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program's own file")
}
