//! What this machine can do. Every probe tries the thing itself where that changes nothing, and none fails.

mod kernel;
mod lab;
mod overhearing;
mod radio;
mod rights;

pub use kernel::boost;
use serde::Serialize;

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is, and it works.
    Present,
    /// It is not.
    Absent,
    /// It cannot be told from here.
    Unknown,
}

impl From<bool> for State {
    fn from(present: bool) -> Self {
        if present { State::Present } else { State::Absent }
    }
}

/// One thing looked for.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What it is called.
    pub name: &'static str,
    /// Whether it is there.
    pub state: State,
    /// What was seen.
    pub detail: String,
    /// What does not work without it.
    pub cost: &'static str,
    /// How to get it.
    pub mend: &'static str,
    /// Whether `overheard up` needs it.
    pub needed_by_up: bool,
}

impl Finding {
    fn new(name: &'static str, state: impl Into<State>, detail: impl Into<String>) -> Self {
        Finding { name, state: state.into(), detail: detail.into(), cost: "", mend: "", needed_by_up: false }
    }

    fn without(mut self, cost: &'static str, mend: &'static str) -> Self {
        (self.cost, self.mend) = (cost, mend);
        self
    }

    fn for_up(mut self) -> Self {
        self.needed_by_up = true;
        self
    }
}

/// Looks at everything.
pub fn examine() -> Vec<Finding> {
    let mut findings = rights::examine();
    findings.extend(kernel::examine());
    findings.extend(radio::examine());
    findings.extend(overhearing::examine());
    findings.extend(lab::examine());
    findings
}
