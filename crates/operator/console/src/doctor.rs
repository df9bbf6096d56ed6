//! Capabilities of this machine, and the consequences of missing ones. A probe tries the real operation if
//! that has no side effects. No probe fails.

#[cfg(feature = "overhear")]
mod by_rate;
mod kernel;
mod overhearing;
#[cfg(feature = "overhear")]
mod radio;
mod rights;

pub use kernel::boost;
use serde::Serialize;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
#[cfg(feature = "overhear")]
use std::time::Duration;

/// List kernel features, rights and programs, and the consequence of each missing one
#[derive(clap::Args)]
pub struct Args {
    /// Print a JSON array of findings
    #[arg(long)]
    json: bool,
    /// Also add a monitor interface to each radio for this time, and count others' frames by rate; 3 s
    /// without a number
    #[cfg(feature = "overhear")]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "3")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3600))]
    radios: Option<u32>,
    /// Only count others' frames by rate in a capture that a monitor made
    #[cfg(all(feature = "overhear", feature = "capture"))]
    #[arg(long, value_name = "FILE", conflicts_with = "radios")]
    capture: Option<PathBuf>,
}

/// Examines what the arguments ask for, with `own` beside it, and prints it as text or as JSON.
///
/// # Errors
///
/// If the capture cannot be read, or standard output cannot be written.
pub fn run(args: &Args, own: impl FnOnce() -> Vec<Finding>) -> anyhow::Result<()> {
    let findings = findings(args, own)?;
    let findings = &findings;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(findings)?)?;
    } else {
        print(&mut out, findings)?;
    }
    Ok(())
}

fn findings(args: &Args, own: impl FnOnce() -> Vec<Finding>) -> anyhow::Result<Vec<Finding>> {
    #[cfg(all(feature = "overhear", feature = "capture"))]
    if let Some(capture) = &args.capture {
        return Ok(vec![by_rate::of_capture(capture)?]);
    }
    let _ = args; // a build without overhearing asks it nothing
    #[cfg_attr(not(feature = "overhear"), expect(unused_mut, reason = "nothing follows"))]
    let mut all = own();
    #[cfg(feature = "overhear")]
    if let Some(seconds) = args.radios {
        all.extend(by_rate::try_radios(Duration::from_secs(seconds.into())));
    }
    Ok(all)
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

/// Frames of data for one other station, at one rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AtRate {
    /// The rate, or the modulation and the number of spatial streams.
    pub rate: String,
    /// Frames that a station could use.
    pub readable: u64,
    /// Frames that WPA encrypted.
    pub protected: u64,
    /// Those of both that were part of an A-MPDU.
    pub aggregated: u64,
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
    /// Others' frames by rate, where they were counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<AtRate>,
}

impl Finding {
    /// A finding with this name, state and observation.
    pub fn new(name: &'static str, state: impl Into<State>, detail: impl Into<String>) -> Self {
        let (state, detail, rates) = (state.into(), detail.into(), Vec::new());
        Finding { name, state, detail, cost: "", mend: "", needed_by_up: false, rates }
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
    #[cfg(feature = "overhear")]
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
    if !findings.iter().any(|finding| finding.needed_by_up) {
        return Ok(());
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
