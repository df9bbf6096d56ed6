//! Rows that are kept in the repository. Documents are made from them ([`crate::documents`]).
//!
//! A folder has a file for each experiment and driver, `EXPERIMENT-DRIVER.jsonl`. A line is a run or a row of
//! the run above it. A run names the commit, kernel, date and contents, and the command that gives its rows
//! again.

mod again;
mod command;
mod file;
mod inputs;

pub use again::differences;
pub use command::command;
pub use inputs::Inputs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::row::{Driver, Row};
use crate::run;

/// One figure, as one command ran it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptRun {
    /// The figure's id.
    pub figure: String,
    /// The command that gives these rows again.
    pub command: String,
    /// Whether it runs a few cells and few seeds only.
    pub quick: bool,
    /// Whether it runs only some runs of the figure, by their names.
    pub partial: bool,
    /// The state of the project, as git describes it.
    pub commit: String,
    /// The kernel of the TCP.
    pub kernel: String,
    /// The day, as in 2012-06-18.
    pub date: String,
    /// Source of the contents.
    pub contents: Origin,
    /// A hash of the contents, and of the scenarios and seeds where the figure has any ([`Inputs`]).
    pub inputs: String,
    /// Mean processor seconds of one run of one seed over the command; `None` if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_seconds_each: Option<f64>,
    /// The rows.
    #[serde(skip)]
    pub rows: Vec<Row>,
}

/// Source of contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Made by the project, and so available to everybody.
    Made,
    /// The folder in `OVERHEARD_DATA`.
    DataFolder,
}

/// In the place of an experiment's id: benchmarks of one machine.
pub const BENCH: &str = "bench";

/// The experiment and the driver of a file.
pub type Key = (String, Driver);

/// A folder of kept rows.
#[derive(Debug)]
pub struct KeptRows {
    folder: PathBuf,
    runs: BTreeMap<Key, Vec<KeptRun>>,
}

impl KeptRows {
    /// Reads a folder, which may be missing.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or its name or a line in it is wrong.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut runs = BTreeMap::new();
        let entries = if folder.exists() {
            fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?.collect()
        } else {
            Vec::new()
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "jsonl") {
                let key = key_of(&path).with_context(|| format!("{} has a wrong name", path.display()))?;
                runs.insert(key, file::read(&path)?);
            }
        }
        Ok(Self { folder: folder.to_owned(), runs })
    }

    /// All runs of an experiment by a driver.
    #[must_use]
    pub fn of(&self, experiment: &str, driver: Driver) -> &[KeptRun] {
        self.runs.get(&(experiment.to_owned(), driver)).map_or(&[], Vec::as_slice)
    }

    /// The runs of one figure of them.
    pub fn of_figure(
        &self,
        experiment: &str,
        driver: Driver,
        figure: &str,
    ) -> impl Iterator<Item = &KeptRun> {
        self.of(experiment, driver).iter().filter(move |run| run.figure == figure)
    }

    /// All runs, by experiment and driver.
    pub fn all(&self) -> impl Iterator<Item = (&Key, &KeptRun)> {
        self.runs.iter().flat_map(|(key, runs)| runs.iter().map(move |run| (key, run)))
    }

    /// Refuses a quick run where a whole one of the same figure is kept, before it takes its time.
    ///
    /// # Errors
    ///
    /// When one is kept.
    pub fn check_extent(&self, experiment: &str, driver: Driver, figure: &str, is_quick: bool) -> Result<()> {
        ensure!(
            !is_quick || self.of_figure(experiment, driver, figure).all(|run| run.quick),
            "{} keeps a whole run of figure {figure} of {experiment} by {driver}; a quick one does not replace it",
            self.folder.display()
        );
        Ok(())
    }

    /// Puts runs in the place of older rows of the same figures; a partial run replaces only rows of the same
    /// series and place.
    ///
    /// # Errors
    ///
    /// As [`KeptRows::check_extent`]; when the file cannot be written.
    pub fn keep(&mut self, experiment: &str, driver: Driver, new: Vec<KeptRun>) -> Result<()> {
        for run in &new {
            self.check_extent(experiment, driver, &run.figure, run.quick)?;
        }
        let runs = self.runs.entry((experiment.to_owned(), driver)).or_default();
        for run in new {
            let replaces = |old: &Row| {
                !run.partial || run.rows.iter().any(|row| row.series == old.series && row.x == old.x)
            };
            for old in runs.iter_mut().filter(|old| old.figure == run.figure) {
                old.rows.retain(|row| !replaces(row));
            }
            runs.retain(|old| !old.rows.is_empty());
            let has_rows = !run.rows.is_empty();
            runs.extend(has_rows.then_some(run));
        }
        runs.sort_by(|one, other| one.figure.cmp(&other.figure));
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
        file::write(&self.folder.join(format!("{experiment}-{driver}.jsonl")), runs)
    }
}

/// The commit that rows to be kept name.
///
/// # Errors
///
/// When there are changes that no commit has, and where git does not answer.
pub fn commit() -> Result<String> {
    let commit = run::commit();
    let why = "kept rows name the commit that gave them: commit your changes first";
    ensure!(!commit.ends_with("-dirty"), why);
    ensure!(!commit.starts_with("version"), "kept rows name the commit that gave them: git is missing here");
    Ok(commit)
}

/// The experiment and driver in a file's name.
fn key_of(path: &Path) -> Option<Key> {
    let (experiment, driver) = path.file_stem()?.to_str()?.rsplit_once('-')?;
    Some((experiment.to_owned(), driver.parse().ok()?))
}

#[cfg(test)]
impl KeptRun {
    /// A quick run of made contents.
    pub(crate) fn sample(figure: &str, rows: Vec<Row>) -> Self {
        KeptRun {
            figure: figure.to_owned(),
            command: "overheard-lab experiment xbc".to_owned(),
            quick: true,
            partial: false,
            commit: "abc1234".to_owned(),
            kernel: "a kernel".to_owned(),
            date: "2012-06-18".to_owned(),
            contents: Origin::Made,
            inputs: "00".to_owned(),
            core_seconds_each: Some(2.5),
            rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers;

    fn run(figure: &str, quick: bool, partial: bool, rows: &[(&str, f64, f64)]) -> KeptRun {
        let row =
            |(series, x, value): &(&str, f64, f64)| Row::new(figure, *series, *x, "ratio").exactly(*value);
        KeptRun { quick, partial, ..KeptRun::sample(figure, rows.iter().map(row).collect()) }
    }

    fn values(kept: &KeptRows) -> Vec<f64> {
        kept.of("xbc", Driver::Sim).iter().flat_map(|run| &run.rows).filter_map(|row| row.value).collect()
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptRows::read(&folder.path().join("rows")).unwrap();
        let mut new = run("6", true, false, &[("a", 1.0, 0.1 + 0.2), ("b", 2.0, 1e-9)]);
        let stated = papers::BYTE_CACHING.value("section-6/bytes-saved-no-loss").number().left();
        new.rows[0] = new.rows[0].clone().paper(stated).note("content: made").goal(0.5);
        new.rows[1].x = "name".into();
        kept.keep("xbc", Driver::Sim, vec![new.clone()]).unwrap();
        let again = KeptRows::read(&folder.path().join("rows")).unwrap();
        assert_eq!(again.of("xbc", Driver::Sim), [new]);
        assert_eq!(again.of("xbc", Driver::Virtual), []);
    }

    #[test]
    fn a_run_replaces_older_rows_of_its_figure_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptRows::read(folder.path()).unwrap();
        let runs = vec![
            run("6", true, false, &[("a", 1.0, 1.0), ("b", 1.0, 2.0)]),
            run("7", true, false, &[("a", 1.0, 3.0)]),
        ];
        kept.keep("xbc", Driver::Sim, runs).unwrap();
        kept.keep("xbc", Driver::Sim, vec![run("6", true, true, &[("b", 1.0, 4.0)])]).unwrap();
        assert_eq!(values(&kept), [1.0, 4.0, 3.0], "a partial run replaces its own series and places");
        kept.keep("xbc", Driver::Sim, vec![run("6", false, false, &[("a", 1.0, 5.0)])]).unwrap();
        assert_eq!(values(&kept), [5.0, 3.0], "a whole run replaces all of its figure");
        let refused = kept.keep("xbc", Driver::Sim, vec![run("6", true, false, &[("a", 1.0, 6.0)])]);
        assert!(refused.unwrap_err().to_string().contains("a quick one does not replace it"));
        assert_eq!(values(&KeptRows::read(folder.path()).unwrap()), [5.0, 3.0]);
    }

    #[test]
    fn a_file_of_another_name_or_with_a_wrong_line_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("xbc-nobody.jsonl"), "").unwrap();
        assert!(KeptRows::read(folder.path()).unwrap_err().to_string().contains("wrong name"));
        fs::remove_file(folder.path().join("xbc-nobody.jsonl")).unwrap();
        fs::write(folder.path().join("xbc-sim.jsonl"), "{\"series\":\"a\",\"x\":1,\"unit\":\"s\"}\n")
            .unwrap();
        let error = format!("{:#}", KeptRows::read(folder.path()).unwrap_err());
        assert!(error.contains("line 1") && error.contains("no run"), "{error}");
    }
}
