//! The `overheard` program: one file for each subcommand under [`commands`]. The crate `daemon` runs nodes,
//! `webcache` runs web caches, and `console` has the parts that both programs share on a terminal.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // see `console::output`
// A driver may read clocks and wait.
#![allow(clippy::disallowed_methods)]

mod commands;

use clap::Parser;
use std::process::ExitCode;

/// Makes slow, lossy, shared wireless links carry more.
#[derive(Parser)]
#[command(version)]
#[cfg_attr(feature = "manual", command(max_term_width = 100))]
struct Overheard {
    #[command(subcommand)]
    command: commands::Command,
    /// The format of log lines on standard error; the variable OVERHEARD_LOG selects their level, as in
    /// OVERHEARD_LOG=debug
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: console::log::Format,
}

fn main() -> ExitCode {
    let overheard = Overheard::parse();
    console::log::start(overheard.log_format);
    console::conclude("overheard", overheard.command.run())
}
