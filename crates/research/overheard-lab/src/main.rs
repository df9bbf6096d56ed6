//! The `overheard-lab` program: the papers' experiments, benchmarks and the demonstration. One file a
//! subcommand under [`commands`]; the crates `experiments`, `lab` and `sim` do the work.
//!
//! Measurements of the product run the shipped program `overheard` ([`programs`]). This program's own `node`
//! runs the same daemon, with the papers' policies in addition.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)] // see `console::output`
// The program is a driver: it may read clocks and wait.
#![allow(clippy::disallowed_methods)]

mod commands;
mod doctor;
mod programs;

use clap::Parser;
use std::process::ExitCode;

/// The laboratory of Overheard: experiments, benchmarks, and a demonstration.
#[derive(Parser)]
#[command(name = "overheard-lab", version, max_term_width = 100)]
struct Laboratory {
    #[command(subcommand)]
    command: commands::Command,
    /// The format of log lines on standard error; the variable OVERHEARD_LOG selects their level, as in
    /// OVERHEARD_LOG=debug
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: console::log::Format,
}

fn main() -> ExitCode {
    let laboratory = Laboratory::parse();
    console::log::start(laboratory.log_format);
    console::conclude("overheard-lab", laboratory.command.run())
}
