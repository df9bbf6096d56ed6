//! The block of an experiment's claims, judged on its kept rows, each short one with its cause.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::markdown::Table;
use crate::claim::{Asked, Claim};
use crate::experiment::Experiment;
use crate::kept_rows::KeptRows;
use crate::row::{Driver, Row};

/// Why claims are short, in words without figures: experiment, beginning of the claim, cause.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Causes(BTreeMap<String, BTreeMap<String, String>>);

impl Causes {
    /// Reads the causes; none without a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// The cause with the longest beginning that the claim has.
    fn of(&self, experiment: &str, claim: &str) -> Option<&str> {
        let causes = self.0.get(experiment)?.iter();
        let of_claim = causes.filter(|(beginning, _)| claim.starts_with(beginning.as_str()));
        of_claim.max_by_key(|(beginning, _)| beginning.len()).map(|(_, cause)| cause.as_str())
    }

    /// Causes that no claim has.
    fn without_claim(&self, experiment: &str, claims: &[Claim]) -> Vec<&str> {
        let is_of_none = |beginning: &str| !claims.iter().any(|claim| claim.claim.starts_with(beginning));
        let causes = self.0.get(experiment).into_iter().flatten();
        causes.map(|(beginning, _)| beginning.as_str()).filter(|beginning| is_of_none(beginning)).collect()
    }

    /// Causes with a digit: a figure beside a claim comes from rows.
    fn with_figures(&self, experiment: &str) -> Vec<&str> {
        let causes = self.0.get(experiment).into_iter().flatten().map(|(_, cause)| cause.as_str());
        causes.filter(|cause| cause.contains(|letter: char| letter.is_ascii_digit())).collect()
    }
}

/// The verdict on each claim of an experiment, by the kept rows of a driver.
pub(super) fn block(
    kept: &KeptRows,
    causes: &Causes,
    experiment: &Experiment,
    driver: Driver,
) -> Result<String> {
    let rows: Vec<Row> = kept.of(experiment.id, driver).iter().flat_map(|run| run.rows.clone()).collect();
    let claims = experiment.judge(&rows, Asked::Part);
    let strays = causes.without_claim(experiment.id, &claims);
    let figures = causes.with_figures(experiment.id);
    ensure!(figures.is_empty(), "causes.toml has figures, which only rows may have: {figures:?}");
    ensure!(strays.is_empty(), "causes.toml names claims of {} that do not exist: {strays:?}", experiment.id);
    let mut table = Table::new(["verdict", "claim", "found", "cause"]);
    let mut counts = [0; 3];
    for claim in &claims {
        let (verdict, count) = match claim.holds {
            Some(true) => ("passed", 0),
            Some(false) => ("**short**", 1),
            None => ("open", 2),
        };
        counts[count] += 1;
        let cause = match claim.holds {
            Some(true) => "",
            Some(false) => causes.of(experiment.id, &claim.claim).unwrap_or("not known yet"),
            None => "no kept row",
        };
        table.line([verdict, &claim.claim, &claim.found, cause].map(str::to_owned));
    }
    let [passed, short, open] = counts;
    Ok(format!(
        "By kept rows of `{driver}`: {passed} passed, {short} short, {open} open.\n\n{}",
        table.text()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept_rows::KeptRun;

    fn claims(rows: &[Row]) -> Vec<Claim> {
        let found = rows.iter().filter_map(|row| row.value).map(|value| value.to_string()).collect();
        let least = rows.iter().all(|row| row.value > Some(0.5));
        vec![
            Claim::judged("bytes above a half", found, least),
            Claim::judged("nobody ran this", Vec::new(), true),
        ]
    }

    const EXPERIMENT: Experiment = Experiment {
        id: "byte-caching",
        drivers: &[Driver::Virtual],
        title: "A title",
        source: "A source",
        figures: &[],
        claims,
    };

    fn made(value: f64, causes: &str) -> Result<String> {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptRows::read(folder.path()).unwrap();
        let row = Row::new("6", "bytes", 5.0, "ratio").exactly(value);
        kept.keep("byte-caching", Driver::Virtual, vec![KeptRun::sample("6", vec![row])]).unwrap();
        block(&kept, &toml::from_str(causes).unwrap(), &EXPERIMENT, Driver::Virtual)
    }

    #[test]
    fn a_claim_is_passed_short_or_open_and_a_short_one_has_its_cause() {
        let causes = "[byte-caching]\n\"bytes\" = \"headers\"\n\"bytes above\" = \"the queue\"\n";
        let passed = made(0.75, causes).unwrap();
        assert!(passed.contains("1 passed, 0 short, 1 open"), "{passed}");
        assert!(passed.contains("| passed | bytes above a half | 0.75 |  |"), "{passed}");
        assert!(passed.contains("| open | nobody ran this | not asked for | no kept row |"), "{passed}");
        let short = made(0.25, causes).unwrap();
        assert!(short.contains("| **short** | bytes above a half | 0.25 | the queue |"), "{short}");
        assert!(made(0.25, "").unwrap().contains("not known yet"));
    }

    #[test]
    fn a_cause_without_a_claim_is_refused() {
        let why = made(0.25, "[byte-caching]\n\"bytes below\" = \"headers\"\n").unwrap_err();
        assert!(why.to_string().contains("bytes below"), "{why}");
    }

    #[test]
    fn a_cause_with_a_figure_is_refused() {
        let why = made(0.25, "[byte-caching]\nbytes = \"3% are headers\"\n").unwrap_err();
        assert!(why.to_string().contains("3% are headers"), "{why}");
    }
}
