//! `overheard completions`: what a shell completes, made of the command line itself.

use crate::Overheard;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

/// Print what a shell needs to complete commands and options, as in `overheard completions bash >
/// ~/.local/share/bash-completion/completions/overheard`
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut completions = Vec::new();
    clap_complete::generate(args.shell, &mut Overheard::command(), "overheard", &mut completions);
    Ok(std::io::stdout().write_all(&completions)?)
}
