//! The program that the driver `virtual` runs inside the kernel: one scenario from a file, and its outcomes
//! to another file.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Doing, LabError};
use crate::outcome::Outcome;
use crate::programs::Programs;
use crate::scenario::Scenario;
use crate::trial::run_here;

/// One line of the file of outcomes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Line {
    /// A seed is done.
    Outcome(Box<Outcome>),
    /// The error at which the guest gave up.
    Failed(String),
}

/// Runs the scenario in the file `scenario` with these programs in it, and appends a line to the file
/// `outcomes` for each seed. The last line is the error, if there is one.
///
/// # Errors
///
/// [`LabError`], also for a failed scenario.
pub fn main(scenario: &Path, outcomes: &Path, programs: &Programs) -> Result<(), LabError> {
    let text = fs::read(scenario).doing(|| format!("read {}", scenario.display()))?;
    let scenario: Scenario = serde_json::from_slice(&text)
        .map_err(std::io::Error::from)
        .doing(|| format!("read the scenario in {}", scenario.display()))?;
    let file = File::options().create(true).append(true).open(outcomes);
    let mut file = file.doing(|| format!("append to {}", outcomes.display()))?;
    let mut write = |line: &Line| -> Result<(), LabError> {
        let mut text =
            serde_json::to_vec(line).map_err(std::io::Error::from).doing(|| "write an outcome".to_owned())?;
        text.push(b'\n');
        // Synced, because the machine's side treats silence as a hang.
        let written = file.write_all(&text).and_then(|()| file.sync_data());
        written.doing(|| format!("append to {}", outcomes.display()))
    };
    let result = run_here(&scenario, programs, &mut |outcome| write(&Line::Outcome(Box::new(outcome))));
    if let Err(error) = &result {
        write(&Line::Failed(error.to_string()))?;
    }
    result
}
