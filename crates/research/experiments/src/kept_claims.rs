//! A list of the claims that hold, against which later runs are held: a claim that stops holding is noticed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::contents::Contents;
use crate::row::Driver;

/// The beginning of the list's file.
const HEAD: &str = "\
# Claims that hold in a quick run of every experiment, by what ran it. `overheard-lab experiment all --quick --keep
# FILE` writes this list, `--kept FILE` compares a run with it. Other contents give other figures, hence the two halves. What runs by the clock on the wall
# (`lab`) differs from run to run and is not here.\n";

/// The claims of one experiment, held against the rows of one driver.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The experiment's id.
    pub experiment: &'static str,
    /// What gave the rows.
    pub driver: Driver,
    /// The claims.
    pub claims: Vec<Claim>,
}

/// The claims that hold, by experiment and driver.
type Holding = BTreeMap<String, BTreeMap<Driver, BTreeSet<String>>>;

/// The list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptClaims {
    /// With the evaluation data.
    #[serde(default)]
    data: Holding,
    /// With generated contents in its place.
    #[serde(default)]
    substitutes: Holding,
}

/// What differs between a list and a run, in lines that name experiment, driver and claim.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Claims on the list that do not hold, or that the run was not asked for.
    pub lost: Vec<String>,
    /// Claims that hold and are not on the list.
    pub gained: Vec<String>,
    /// Experiments on the list that did not run.
    pub not_run: Vec<String>,
}

impl KeptClaims {
    /// Reads a list.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or is no list.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is no list of claims", path.display()))
    }

    /// Writes the list.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = format!("{HEAD}\n{}", toml::to_string_pretty(self)?);
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Puts the claims that hold in a run on the list, in the place of those of the same experiment and
    /// driver.
    pub fn keep(&mut self, contents: &Contents, run: &[Judged]) {
        let half = if contents.has_data() { &mut self.data } else { &mut self.substitutes };
        for judged in run.iter().filter(|judged| judged.is_repeatable()) {
            let experiment = half.entry(judged.experiment.to_owned()).or_default();
            experiment.insert(judged.driver, judged.holding());
        }
        half.values_mut().for_each(|experiment| experiment.retain(|_, claims| !claims.is_empty()));
        half.retain(|_, experiment| !experiment.is_empty());
    }

    /// Compares a run with the list.
    #[must_use]
    pub fn compare(&self, contents: &Contents, run: &[Judged]) -> Differences {
        let half = if contents.has_data() { &self.data } else { &self.substitutes };
        let none = BTreeSet::new();
        let mut differences = Differences::default();
        for judged in run.iter().filter(|judged| judged.is_repeatable()) {
            let kept = half.get(judged.experiment).and_then(|experiment| experiment.get(&judged.driver));
            let kept = kept.unwrap_or(&none);
            let holding = judged.holding();
            differences.lost.extend(kept.difference(&holding).map(|claim| judged.line(claim)));
            differences.gained.extend(holding.difference(kept).map(|claim| judged.line(claim)));
        }
        let ran = |id: &str, driver| run.iter().any(|it| it.experiment == id && it.driver == driver);
        for (id, experiment) in half {
            let not_run = experiment.keys().filter(|driver| !ran(id, **driver));
            differences.not_run.extend(not_run.map(|driver| format!("{id} by {driver}")));
        }
        differences
    }
}

impl Judged {
    /// Whether another run gives the same figures: not by the clock on the wall, where a busy machine
    /// decides, nor with another kernel's random numbers.
    fn is_repeatable(&self) -> bool {
        !self.driver.uses_own_kernel()
    }

    fn holding(&self) -> BTreeSet<String> {
        let holding = self.claims.iter().filter(|claim| claim.holds == Some(true));
        holding.map(|claim| claim.claim.clone()).collect()
    }

    /// A claim on the list, and what this run found for it.
    fn line(&self, claim: &str) -> String {
        let found = self.claims.iter().find(|it| it.claim == claim);
        let found = found.map_or("no such claim any more", |it| it.found.as_str());
        format!("{} by {}: {claim}: {found}", self.experiment, self.driver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(claims: &[(&str, Option<bool>)]) -> [Judged; 1] {
        let claim = |(claim, holds): &(&str, Option<bool>)| {
            let mut judged = Claim::judged(*claim, vec!["0.7".to_owned()], true);
            judged.holds = *holds;
            judged
        };
        [Judged { experiment: "xbc", driver: Driver::Sim, claims: claims.iter().map(claim).collect() }]
    }

    fn list(claims: &[(&str, Option<bool>)]) -> KeptClaims {
        let mut list = KeptClaims::default();
        list.keep(&Contents::substitutes(), &run(claims));
        list
    }

    const BOTH: [(&str, Option<bool>); 2] = [("one", Some(true)), ("two", Some(true))];

    #[test]
    fn a_kept_claim_that_fails_is_lost_and_named_with_what_was_found() {
        let now = run(&[("one", Some(true)), ("two", Some(false))]);
        let differences = list(&BOTH).compare(&Contents::substitutes(), &now);
        let expected =
            Differences { lost: vec!["xbc by sim: two: 0.7".to_owned()], ..Differences::default() };
        assert_eq!(differences, expected);
    }

    #[test]
    fn a_kept_claim_that_is_not_measured_or_is_gone_is_lost() {
        let differences = list(&BOTH).compare(&Contents::substitutes(), &run(&[("one", None)]));
        assert_eq!(differences.lost, ["xbc by sim: one: 0.7", "xbc by sim: two: no such claim any more"]);
    }

    #[test]
    fn a_claim_that_holds_and_is_not_kept_is_gained_and_nothing_is_lost() {
        let differences =
            list(&[("one", Some(true)), ("two", Some(false))]).compare(&Contents::substitutes(), &run(&BOTH));
        let expected =
            Differences { gained: vec!["xbc by sim: two: 0.7".to_owned()], ..Differences::default() };
        assert_eq!(differences, expected);
    }

    #[test]
    fn an_experiment_that_did_not_run_is_named_and_its_claims_are_not_lost() {
        let differences = list(&BOTH).compare(&Contents::substitutes(), &[]);
        let expected = Differences { not_run: vec!["xbc by sim".to_owned()], ..Differences::default() };
        assert_eq!(differences, expected);
    }

    #[test]
    fn keeping_replaces_what_ran_and_leaves_what_did_not() {
        let mut kept = list(&BOTH);
        let other = Judged { driver: Driver::Virtual, ..run(&BOTH)[0].clone() };
        kept.keep(&Contents::substitutes(), &[other]);
        kept.keep(&Contents::substitutes(), &run(&[("two", Some(false))]));
        let xbc = &kept.substitutes["xbc"];
        assert_eq!(xbc.keys().copied().collect::<Vec<_>>(), [Driver::Virtual]);
        assert_eq!(xbc[&Driver::Virtual].len(), 2);
    }

    #[test]
    fn what_ran_by_the_clock_on_the_wall_is_neither_kept_nor_held() {
        let on_the_wall = [Judged { driver: Driver::Lab, ..run(&BOTH)[0].clone() }];
        let mut kept = KeptClaims::default();
        kept.keep(&Contents::substitutes(), &on_the_wall);
        assert_eq!(kept, KeptClaims::default());
        assert_eq!(list(&BOTH).compare(&Contents::substitutes(), &on_the_wall).gained, [""; 0]);
    }

    #[test]
    fn a_list_is_read_as_it_was_written_and_another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("claims.toml");
        let kept = list(&[("bytes within \"0.05\" of [the] paper's # at 1%", Some(true))]);
        kept.write(&path).unwrap();
        assert_eq!(KeptClaims::read(&path).unwrap(), kept);
        fs::write(&path, "[other]\n").unwrap();
        assert!(KeptClaims::read(&path).unwrap_err().to_string().contains("is no list of claims"));
    }
}
