//! What both programs do on a terminal: [`Table`]s, the [`log`], how they end, and the commands that both
//! have: [`analyze`], [`doctor`], [`man`] and [`completions`].
//!
//! Exit codes: 0 done, 1 it failed while running, 2 what was asked for makes no sense or is not allowed here
//! (a [`Mistake`]); then nothing was started.

#![forbid(unsafe_code)]
// A driver: it may read clocks and wait.
#![allow(clippy::disallowed_methods)]

pub mod analyze;
pub mod completions;
pub mod doctor;
pub mod log;
pub mod man;
mod table;

pub use table::{Table, bytes, duration};

use daemon::config::Mistake;
use std::path::PathBuf;
use std::process::ExitCode;

/// Makes the enum `Command` of a program's subcommands, each of which is a module with a struct `Args` and a
/// function `run`.
#[macro_export]
macro_rules! commands {
    ($($name:ident in $module:ident),* $(,)?) => {
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($name($module::Args)),*
        }

        impl Command {
            /// Does what the user asked for.
            pub fn run(self) -> anyhow::Result<()> {
                match self {
                    $(Command::$name(args) => $module::run(&args)),*
                }
            }
        }
    };
}

/// The other program of this project: beside this one, or in a folder of PATH.
#[must_use]
pub fn other_program(name: &str) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join(name)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<PathBuf> = std::env::split_paths(&path).map(|folder| folder.join(name)).collect();
    beside.into_iter().chain(in_path).find(|file| file.is_file())
}

/// Tells how a command of `program` ended, on standard error where it failed, and gives its exit code.
pub fn conclude(program: &str, ended: anyhow::Result<()>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of our output has had enough, as `head` has.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error:#}");
            ExitCode::from(if error.is::<Mistake>() { 2 } else { 1 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
