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
use std::process::ExitCode;

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
