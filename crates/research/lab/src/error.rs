//! What can go wrong in the lab, each as one sentence that says what to do about it.

use crate::check::Mistake;
use std::io;

/// Why the lab could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Namespaces and TAP devices of this kernel belong to root.
    #[error("the driver `lab` makes network namespaces, which needs root: use sudo, or the driver `virtual`")]
    NeedsRoot,
    /// No kernel with virtual time was found.
    #[error(
        "no virtual-time kernel found: build it with `make lab-kernel`, or name one in OVERHEARD_LAB_KERNEL"
    )]
    KernelAbsent,
    /// A program that the lab runs is not installed.
    #[error("the program `{program}` is not installed: `apt-get install {package}`")]
    ProgramAbsent {
        /// The program, as called.
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// A program ran and failed.
    #[error("`{command}` failed: {detail}")]
    Command {
        /// What was run.
        command: String,
        /// What it said, or how it ended.
        detail: String,
    },
    /// The system refused something.
    #[error("cannot {doing}: {source}")]
    System {
        /// What was attempted, to be read after "cannot".
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// The scenario names something that it does not have, or has the air do what it cannot.
    #[error("scenario `{name}`: {detail}")]
    Scenario {
        /// The scenario's name.
        name: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The scenario makes no sense in itself.
    #[error("scenario `{name}`: {mistake}")]
    Check {
        /// The scenario's name.
        name: String,
        /// What is wrong with it.
        mistake: Mistake,
    },
    /// A daemon did not become ready, or ended when it should not.
    #[error("the daemon `{daemon}` {detail}; it said: {log}")]
    Daemon {
        /// The daemon's name in the scenario.
        daemon: String,
        /// What it did.
        detail: String,
        /// The end of its log.
        log: String,
    },
    /// The lab inside the virtual-time kernel failed.
    #[error("scenario `{name}` in virtual time: {detail}")]
    InGuest {
        /// The scenario's name.
        name: String,
        /// The error there.
        detail: String,
    },
    /// The virtual-time kernel or the program in it did not come to an orderly end.
    #[error("the virtual-time kernel {detail}; its console ended: {console}")]
    Guest {
        /// What happened.
        detail: String,
        /// The end of the console.
        console: String,
    },
}

/// Says what was being done when the system refused.
pub(crate) trait Doing<T> {
    /// Turns the system's error into a [`LabError::System`]; `doing` is read after "cannot".
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, LabError>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, LabError> {
        self.map_err(|error| LabError::System { doing: doing(), source: error.into() })
    }
}

/// The last `bound` bytes of a log, on one line, for an error message.
pub(crate) fn end_of_log(log: &str, bound: usize) -> String {
    let mut start = log.len().saturating_sub(bound);
    while !log.is_char_boundary(start) {
        start += 1;
    }
    let end = log[start..].trim().replace('\n', " | ");
    if end.is_empty() { "nothing".to_owned() } else { end }
}
