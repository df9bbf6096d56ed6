//! The `overheard` program: one file a subcommand under [`commands`], and what several of them use beside it:
//! the [`config`]uration of a node, the [`tunnel`] that runs one, the [`status_socket`] that answers for it and the [`watch`]
//! that keeps what has happened, what the [`service`] manager is told, and the [`log`].
//!
//! Exit codes: 0 done, 1 it failed while running, 2 what was asked for makes no sense or is not allowed here
//! (a [`config::Mistake`]); then nothing was started.

#![forbid(unsafe_code)]
// The program is a driver: it may read clocks and wait.
#![allow(clippy::disallowed_methods)]

mod boost;
mod capture_stream;
mod commands;
mod config;
mod doctor;
mod log;
mod next_hops;
mod service;
mod status_socket;
mod table;
mod tunnel;
mod watch;

use clap::Parser;
use std::process::ExitCode;

/// Makes slow, lossy, shared wireless links carry more.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Overheard {
    #[command(subcommand)]
    command: commands::Command,
    /// How log lines are written, to standard error; the variable OVERHEARD_LOG chooses which, as in OVERHEARD_LOG=debug
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: log::Format,
}

fn main() -> ExitCode {
    let overheard = Overheard::parse();
    log::start(overheard.log_format);
    match overheard.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        // whoever read our output has had enough, as `head` does
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overheard: {error:#}");
            ExitCode::from(if error.is::<config::Mistake>() { 2 } else { 1 })
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
