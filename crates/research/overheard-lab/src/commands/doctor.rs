//! `overheard-lab doctor`: what this machine can do for nodes and for experiments.

pub use console::doctor::Args;

pub fn run(args: &Args) -> anyhow::Result<()> {
    console::doctor::run(args, || {
        let mut findings = console::doctor::examine();
        findings.extend(crate::doctor::examine());
        findings
    })
}
