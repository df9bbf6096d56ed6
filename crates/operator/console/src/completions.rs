//! Shell completions, generated from the command line's definition.

use clap_complete::Shell;
use std::io::Write;

/// Print the completions of commands and options for a shell; bash reads them from a file with the
/// program's name in ~/.local/share/bash-completion/completions/
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the completions of `command` for a shell.
///
/// # Errors
///
/// If standard output cannot be written.
pub fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<()> {
    let name = command.get_name().to_owned();
    let mut completions = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut completions);
    Ok(std::io::stdout().write_all(&completions)?)
}
