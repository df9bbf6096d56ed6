//! `overheard man`: the manual pages.

use clap::CommandFactory;

pub use console::man::Args;

pub fn run(args: &Args) -> anyhow::Result<()> {
    console::man::run(args, crate::Overheard::command())
}
