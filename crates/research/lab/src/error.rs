//! Errors of the lab, each as one sentence with a remedy.

use crate::check::Mistake;
use std::io;

/// An error of the lab.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Namespaces and TAP devices of this kernel belong to root.
    #[error("the driver `lab` makes network namespaces, which needs root: use sudo, or the driver `virtual`")]
    NeedsRoot,
    /// No kernel with virtual time was found.
    #[error(
        "no virtual-time kernel found: `overheard-lab kernel --from WHEEL` installs one, `overheard-lab kernel --make` builds \
         one, and OVERHEARD_LAB_KERNEL names one"
    )]
    KernelAbsent,
    /// There is no folder for kernels.
    #[error("there is no folder for kernels: set HOME or XDG_CACHE_HOME")]
    NoCache,
    /// A program that the lab runs is not installed.
    #[error("the program `{program}` is not installed: `apt-get install {package}`")]
    ProgramAbsent {
        /// The program, as called.
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// The kernel has too few simulated radios.
    #[error(
        "the Wi-Fi networks need {wanted} simulated radios, and this kernel has {present} for them: \
         `modprobe mac80211_hwsim radios={wanted}` makes them, and the driver `virtual` has its own"
    )]
    Radios {
        /// Radios that the networks need.
        wanted: usize,
        /// Radios that are free.
        present: usize,
    },
    /// A program ran and failed.
    #[error("`{command}` failed: {detail}")]
    Command {
        /// The command.
        command: String,
        /// Its message or exit status.
        detail: String,
    },
    /// The system refused something.
    #[error("cannot {doing}: {source}")]
    System {
        /// The failed action, after "cannot".
        doing: String,
        /// The system's error.
        source: io::Error,
    },
    /// The scenario names a missing part, or configures the air invalidly.
    #[error("scenario `{name}`: {detail}")]
    Scenario {
        /// The scenario's name.
        name: String,
        /// The fault.
        detail: String,
    },
    /// The scenario is invalid.
    #[error("scenario `{name}`: {mistake}")]
    Check {
        /// The scenario's name.
        name: String,
        /// The fault.
        mistake: Mistake,
    },
    /// A daemon did not become ready, or ended early.
    #[error("the daemon `{daemon}` {detail}; it said: {log}")]
    Daemon {
        /// The daemon's name in the scenario.
        daemon: String,
        /// Its behaviour.
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
    /// The virtual-time kernel or its program did not end normally.
    #[error("the virtual-time kernel {detail}; its console ended: {console}")]
    Guest {
        /// The event.
        detail: String,
        /// The end of the console.
        console: String,
    },
}

/// Adds the failed action to a system's error.
pub(crate) trait Doing<T> {
    /// Converts the system's error to a [`LabError::System`]; `doing` follows "cannot".
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
