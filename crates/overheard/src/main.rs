//! The `overheard` program: one file a subcommand under [`commands`], and what several of them use beside it:
//! the [`config`]uration of a node, the [`tunnel`] that runs one, the [`status_socket`] that answers for it.
//!
//! Exit codes: 0 done, 1 it failed while running, 2 what was asked for makes no sense or is not allowed here
//! (a [`config::Mistake`]); then nothing was started.

#![forbid(unsafe_code)]
// The program is a driver: it may read clocks and wait.
#![allow(clippy::disallowed_methods)]

mod boost;
mod commands;
mod config;
mod doctor;
mod status_socket;
mod table;
mod tunnel;

use clap::Parser;
use std::io::IsTerminal;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// Makes slow, lossy, shared wireless links carry more.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Overheard {
    #[command(subcommand)]
    command: commands::Command,
}

fn main() -> ExitCode {
    start_log();
    match Overheard::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        // whoever read our output has had enough, as `head` does
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("overheard: {error:#}");
            ExitCode::from(if error.is::<config::Mistake>() { 2 } else { 1 })
        }
    }
}

/// To standard error; `OVERHEARD_LOG` chooses, as in `OVERHEARD_LOG=debug`.
fn start_log() {
    // nl80211's attributes that this program has no name for are of no interest to its user
    const USUAL: &str = "info,wl_nl80211=error,netlink_packet_route=error";
    let chosen = EnvFilter::try_from_env("OVERHEARD_LOG").unwrap_or_else(|_| EnvFilter::new(USUAL));
    let stderr = std::io::stderr;
    tracing_subscriber::fmt()
        .with_env_filter(chosen)
        .with_target(false)
        .with_ansi(stderr().is_terminal())
        .with_writer(stderr)
        .init();
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
