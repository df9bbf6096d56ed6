//! The parts that both programs share on a terminal: [`Table`]s, the [`log`], exit codes, and the common
//! commands [`analyze`], [`doctor`], [`man`] and [`completions`].
//!
//! Exit codes: 0 for success, 1 for a failure at run time, 2 for an invalid or forbidden request (a
//! [`Mistake`]), which started nothing. A reader that closes the output early, as `head` does, also gives 0:
//! the request was fulfilled, and a script under `pipefail` continues. SIGPIPE stays ignored, because it
//! would also end nodes and caches when a peer closes a connection.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // see `output`
// A driver may read clocks and wait.
#![allow(clippy::disallowed_methods)]

#[cfg(feature = "capture")]
pub mod analyze;
#[cfg(feature = "manual")]
pub mod completions;
pub mod doctor;
pub mod keep;
pub mod log;
#[cfg(feature = "manual")]
pub mod man;
pub mod output;
pub mod reference;
mod table;

pub use table::{Row, Table, bytes, duration};

use daemon::config::Mistake;
use std::path::PathBuf;
use std::process::ExitCode;

/// Defines the enum `Command` of a program's subcommands. Each one is a module with a struct `Args` and a
/// function `run`.
#[macro_export]
macro_rules! commands {
    ($($(#[$of_build:meta])* $name:ident in $module:ident),* $(,)?) => {
        #[derive(clap::Subcommand)]
        pub enum Command {
            $($(#[$of_build])* $name($module::Args)),*
        }

        impl Command {
            /// Runs the chosen command.
            pub fn run(self) -> anyhow::Result<()> {
                match self {
                    $($(#[$of_build])* Command::$name(args) => $module::run(&args)),*
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

/// Reports a failure of a command of `program` on standard error, and returns its exit code.
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
        // serde_json does not expose the system's error as a source.
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        json.or_else(|| Some(cause.downcast_ref::<std::io::Error>()?.kind()))
    });
    kind == Some(std::io::ErrorKind::BrokenPipe)
}
