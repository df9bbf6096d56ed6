//! What a shell completes, made of the command line itself.

use clap_complete::Shell;
use std::io::Write;

/// Print what a shell needs to complete commands and options; bash reads it from
/// ~/.local/share/bash-completion/completions/ and the program's name
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints what the shell needs to complete `command`.
///
/// # Errors
///
/// When standard output cannot be written to.
pub fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<()> {
    let name = command.get_name().to_owned();
    let mut completions = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut completions);
    Ok(std::io::stdout().write_all(&completions)?)
}
