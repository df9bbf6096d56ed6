//! Measured costs of pieces, which are kept in `docs/rows/reproduce.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::whole_file;

/// The cost of a piece, counted in processor time: other load on the machine does not change it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Cost {
    /// The number of its runs that ended, without those that were kept before.
    pub runs: u32,
    /// Processor time of all that it started.
    pub core_seconds: f64,
}

/// Costs by the pieces' names.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// The machine that they were measured on.
    pub machine: String,
    /// The costs.
    pub pieces: BTreeMap<String, Measured>,
}

/// A cost, and its origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The state of the project, as git describes it.
    pub commit: String,
    /// The cost.
    #[serde(flatten)]
    pub cost: Cost,
}

impl Costs {
    /// The costs that this program was built with.
    ///
    /// # Errors
    ///
    /// When they have another form.
    pub fn built_in() -> Result<Self> {
        let written = include_str!("../../../../../docs/rows/reproduce.json");
        serde_json::from_str(written).context("docs/rows/reproduce.json has another form")
    }

    /// The costs in a file, which may be missing, for new ones of a machine.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or has costs of another machine.
    pub fn read(path: &Path, machine: &str) -> Result<Self> {
        if !path.exists() {
            return Ok(Self { machine: machine.to_owned(), pieces: BTreeMap::new() });
        }
        let written = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let costs: Self = serde_json::from_slice(&written)
            .with_context(|| format!("{} has no costs of pieces", path.display()))?;
        ensure!(
            costs.machine == machine,
            "{} has costs of another machine ({}): name another file, or remove it",
            path.display(),
            costs.machine
        );
        Ok(costs)
    }

    /// Puts costs in the place of older ones of the same pieces.
    pub fn add(&mut self, commit: &str, new: impl IntoIterator<Item = (String, Cost)>) {
        let hundredths = |seconds: f64| (seconds * 100.0).round() / 100.0;
        let measured = |cost: Cost| Measured {
            commit: commit.to_owned(),
            cost: Cost { core_seconds: hundredths(cost.core_seconds), ..cost },
        };
        self.pieces.extend(new.into_iter().map(|(name, cost)| (name, measured(cost))));
    }

    /// Writes them, whole or not at all.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut written = serde_json::to_vec_pretty(self)?;
        written.push(b'\n');
        whole_file::write(path, written).with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_costs_replace_those_of_their_pieces_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("costs.json");
        let cost = |core_seconds| Cost { runs: 2, core_seconds };
        let mut costs = Costs::read(&path, "a machine").unwrap();
        costs.add("abc", [("one".to_owned(), cost(1.0)), ("other".to_owned(), cost(2.0))]);
        costs.write(&path).unwrap();
        let mut costs = Costs::read(&path, "a machine").unwrap();
        costs.add("abd", [("one".to_owned(), cost(3.004))]);
        costs.write(&path).unwrap();
        let costs = Costs::read(&path, "a machine").unwrap();
        let all: Vec<_> = costs.pieces.values().map(|it| (it.commit.as_str(), it.cost)).collect();
        assert_eq!(all, [("abd", cost(3.0)), ("abc", cost(2.0))]);
    }

    #[test]
    fn costs_of_two_machines_are_not_mixed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("costs.json");
        Costs::read(&path, "a machine").unwrap().write(&path).unwrap();
        let refused = Costs::read(&path, "another").unwrap_err().to_string();
        assert!(refused.contains("another machine (a machine)"), "{refused}");
    }

    #[test]
    fn a_file_of_another_form_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("costs.json");
        fs::write(&path, "[]").unwrap();
        assert!(Costs::read(&path, "a machine").is_err());
    }
}
