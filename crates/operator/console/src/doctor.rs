//! Capabilities of this machine, and the consequences of missing ones. A probe tries the real operation if
//! that has no side effects. No probe fails.

mod kernel;
mod overhearing;
mod radio;
mod rights;

pub use kernel::boost;
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// List kernel features, rights and programs, and the consequence of each missing one
#[derive(clap::Args)]
pub struct Args {
    /// Print a JSON array of findings
    #[arg(long)]
    json: bool,
}

/// Prints findings as text or as JSON.
///
/// # Errors
///
/// If standard output cannot be written.
pub fn run(args: &Args, findings: &[Finding]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(findings)?)?;
    } else {
        print(&mut out, findings)?;
    }
    Ok(())
}

/// State of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is present and works.
    Present,
    /// It is absent.
    Absent,
    /// It cannot be determined.
    Unknown,
}

impl From<bool> for State {
    fn from(present: bool) -> Self {
        if present { State::Present } else { State::Absent }
    }
}

/// A capability that was examined.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Its name.
    pub name: &'static str,
    /// Its state.
    pub state: State,
    /// The observation.
    pub detail: String,
    /// The consequence of its absence.
    pub cost: &'static str,
    /// The remedy.
    pub mend: &'static str,
    /// Whether `overheard up` needs it.
    pub needed_by_up: bool,
}

impl Finding {
    /// A finding with this name, state and observation.
    pub fn new(name: &'static str, state: impl Into<State>, detail: impl Into<String>) -> Self {
        Finding { name, state: state.into(), detail: detail.into(), cost: "", mend: "", needed_by_up: false }
    }

    /// Adds the consequence of its absence, and the remedy.
    #[must_use]
    pub fn without(mut self, cost: &'static str, mend: &'static str) -> Self {
        (self.cost, self.mend) = (cost, mend);
        self
    }

    fn for_up(mut self) -> Self {
        self.needed_by_up = true;
        self
    }
}

/// Examines everything that a node or a web cache uses.
#[must_use]
pub fn examine() -> Vec<Finding> {
    let mut findings = rights::examine();
    findings.extend(kernel::examine());
    findings.extend(radio::examine());
    findings.extend(overhearing::examine());
    findings
}

/// The search path of programs, with the administrator's folders, which other users' PATH omits.
#[must_use]
pub fn search_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    std::env::join_paths(places).unwrap_or(path.clone())
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
