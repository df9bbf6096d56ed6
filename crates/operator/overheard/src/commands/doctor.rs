//! `overheard doctor`: what this machine can do, and what is lost by what it cannot.

use crate::doctor::{Finding, State, examine};
use std::io::Write;

/// Say which kernel features, rights and programs are present, and what each absent one costs
#[derive(clap::Args)]
pub struct Args {
    /// Print a JSON array of findings
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let findings = examine();
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&findings)?)?;
    } else {
        print(&mut out, &findings)?;
    }
    Ok(())
}

fn print(out: &mut impl Write, findings: &[Finding]) -> std::io::Result<()> {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    for finding in findings {
        let state = match finding.state {
            State::Present => "yes",
            State::Absent => "NO",
            State::Unknown => "?",
        };
        writeln!(out, "{state:>3}  {:width$}  {}", finding.name, finding.detail)?;
        if finding.state != State::Present {
            writeln!(out, "     {:width$}  without it: {}", "", finding.cost)?;
            writeln!(out, "     {:width$}  mend: {}", "", finding.mend)?;
        }
    }
    let absent = findings.iter().filter(|finding| finding.state == State::Absent).count();
    let tunnel =
        findings.iter().filter(|finding| finding.needed_by_up && finding.state == State::Absent).count();
    writeln!(out)?;
    match (absent, tunnel) {
        (0, _) => writeln!(out, "Everything is here."),
        (_, 0) => writeln!(out, "`overheard up` has what it needs; the rest works as far as said above."),
        _ => {
            writeln!(out, "`overheard up` cannot run as it is; what needs neither rights nor devices works.")
        }
    }
}
