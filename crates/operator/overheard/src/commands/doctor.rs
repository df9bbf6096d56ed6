//! `overheard doctor`: what this machine can do, and what is lost by what it cannot.

pub use console::doctor::Args;

pub fn run(args: &Args) -> anyhow::Result<()> {
    console::doctor::run(args, &console::doctor::examine())
}
