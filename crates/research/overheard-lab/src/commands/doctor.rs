//! `overheard-lab doctor`: what this machine can do for nodes and for experiments.

pub use console::doctor::Args;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let mut findings = console::doctor::examine();
    findings.extend(crate::doctor::examine());
    console::doctor::run(args, &findings)
}
