//! What both programs do on a terminal: [`Table`]s, the [`log`], how they end, and the commands that both
//! have: [`analyze`], [`doctor`], [`man`] and [`completions`].
//!
//! Exit codes: 0 done, 1 it failed while running, 2 what was asked for makes no sense or is not allowed here
//! (a [`Mistake`]); then nothing was started. A reader that has had enough of the output, as `head` has, is 0
//! too: what was asked for was done, and a script under `pipefail` goes on. Death by SIGPIPE is not for us:
//! the signal would end nodes and caches as well, when a peer closes a connection.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // see `output`
// A driver: it may read clocks and wait.
#![allow(clippy::disallowed_methods)]

pub mod analyze;
pub mod completions;
pub mod doctor;
pub mod keep;
pub mod log;
pub mod man;
pub mod output;
pub mod reference;
mod table;

pub use table::{Row, Table, bytes, duration};

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
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            hint!("{program}: {error:#}");
            ExitCode::from(if error.is::<Mistake>() { 2 } else { 1 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.chain().find_map(|cause| {
        // serde_json keeps the system's error to itself
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        json.or_else(|| Some(cause.downcast_ref::<std::io::Error>()?.kind()))
    });
    kind == Some(std::io::ErrorKind::BrokenPipe)
}
