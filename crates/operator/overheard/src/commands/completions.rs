//! `overheard completions`: shell completions.

use clap::CommandFactory;

pub use console::completions::Args;

pub fn run(args: &Args) -> anyhow::Result<()> {
    console::completions::run(args, crate::Overheard::command())
}
