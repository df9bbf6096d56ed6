//! `overheard doctor`: capabilities of this machine, and consequences of missing ones.

pub use console::doctor::Args;

pub fn run(args: &Args) -> anyhow::Result<()> {
    console::doctor::run(args, console::doctor::examine)
}
