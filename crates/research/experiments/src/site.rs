//! A folder for all experiments: a page, a table and the rows of each, and one page that leads to them.
//!
//! Results are kept there, so that an interrupted run can continue. The folder belongs to one state of the
//! project.

mod index;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use indicatif::ProgressBar;
use lab::processor_seconds_with_children;
use serde::{Deserialize, Serialize};

use crate::budget::Cost;
use crate::claim::{Asked, Claim};
use crate::contents::Contents;
use crate::experiment::{self, Experiment};
use crate::figure::Figure;
use crate::kept_claims::Judged;
use crate::plan::{Extent, Plan, Traced};
use crate::report::{Heading, Ran};
use crate::row::{Driver, Row};
use crate::run::{Kept, Runner};
use crate::whole_file;

/// The folder.
#[derive(Debug)]
pub struct Site {
    folder: PathBuf,
    state: State,
}

/// The state of the project that a folder's runs belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// The project, as git describes it.
    commit: String,
    /// Few cells only.
    quick: bool,
    /// Number of seeds in every cell; `None` for each figure's own number.
    seeds: Option<u32>,
}

/// What one driver made of an experiment, or of a figure of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pass {
    ran: Ran,
    rows: Vec<Row>,
    /// What a figure took; `None` for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<Cost>,
}

/// An experiment, as far as it could be run.
pub struct Part {
    /// Which.
    pub experiment: &'static Experiment,
    /// What ran it, the driver of the whole first.
    pub ran: Vec<Ran>,
    /// Their rows; a driver beyond the first is named in its series.
    pub rows: Vec<Row>,
    /// What holds by the first driver's rows: the others run a part of the whole, or without TCP.
    pub claims: Vec<Claim>,
    /// The claims by each driver's rows alone.
    pub judged: Vec<Judged>,
    /// What could not be run, and why.
    pub left_out: Vec<(Driver, String)>,
}

impl Site {
    /// In this folder, which is made if it is not there, for this state of the project.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or has runs of another state or another extent.
    pub fn in_folder(folder: PathBuf, commit: String, quick: bool, seeds: Option<u32>) -> Result<Self> {
        let kept = folder.join("kept");
        fs::create_dir_all(&kept).with_context(|| format!("cannot make {}", kept.display()))?;
        let (state, path) = (State { commit, quick, seeds }, kept.join("state.json"));
        match fs::read(&path) {
            Ok(written) => {
                let theirs: State = serde_json::from_slice(&written)
                    .with_context(|| format!("{} cannot be read", path.display()))?;
                if theirs != state {
                    bail!(
                        "{} holds {theirs}, and these would be {state}: name another folder",
                        folder.display()
                    );
                }
            }
            Err(_) => write(&path, &serde_json::to_vec(&state)?)?,
        }
        Ok(Site { folder, state })
    }

    /// Runs the missing part of an experiment by one of its drivers.
    ///
    /// # Errors
    ///
    /// When something could not be run to its end, or written.
    pub fn run(
        &self,
        part: &mut Part,
        runner: &Runner,
        contents: &Contents,
        progress: &ProgressBar,
    ) -> Result<()> {
        let (experiment, driver) = (part.experiment, runner.driver);
        let plan = Plan {
            extent: if self.state.quick { Extent::Quick } else { experiment.extent(driver) },
            seeds: self.state.seeds,
            trace: Traced::default(),
        };
        let runner = Runner { kept: Some(Kept::in_folder(self.kept(experiment.id))?), ..runner.clone() };
        // Others keep every run; in process it is figures that are kept, which share little.
        let figures = experiment.figures;
        let at_a_time = if driver == Driver::Sim { 1 } else { figures.len() };
        let mut all = Pass {
            ran: Ran { driver, kernel: runner.kernel(), took_seconds: 0.0 },
            rows: Vec::new(),
            cost: None,
        };
        for figures in figures.chunks(at_a_time) {
            let name =
                if let [figure] = figures { format!("{driver}-{}", figure.id) } else { driver.to_string() };
            let path = self.kept(experiment.id).join(format!("rows-{name}.json"));
            let found =
                fs::read(&path).ok().and_then(|written| serde_json::from_slice::<Pass>(&written).ok());
            let pass = match found {
                Some(pass) => pass,
                None => {
                    progress.set_message(format!("{} {name}", experiment.id));
                    let started = std::time::Instant::now();
                    let rows = experiment::run(figures, plan, &[], contents, &runner, progress)?;
                    let took_seconds = started.elapsed().as_secs_f64();
                    let pass = Pass { ran: Ran { took_seconds, ..all.ran.clone() }, rows, cost: None };
                    write(&path, &serde_json::to_vec(&pass)?)?;
                    pass
                }
            };
            all.ran.took_seconds += pass.ran.took_seconds;
            all.rows.extend(pass.rows);
        }
        part.add(all, experiment.asked(plan, driver, &[], &[]));
        Ok(())
    }

    /// Runs one figure in one extent, and adds its rows. Rows and finished runs that are kept do not run
    /// again. Gives what it took, now or when its rows were kept; of a figure that was interrupted, since
    /// then.
    ///
    /// # Errors
    ///
    /// When something could not be run to its end, or written.
    pub fn run_figure(
        &self,
        part: &mut Part,
        (figure, extent): (&Figure, Extent),
        runner: &Runner,
        contents: &Contents,
        progress: &ProgressBar,
    ) -> Result<Cost> {
        let (experiment, driver) = (part.experiment, runner.driver);
        let plan = Plan { extent, seeds: self.state.seeds, trace: Traced::default() };
        let name = format!("rows-{driver}-{}-{extent:?}.json", figure.id).to_lowercase();
        let path = self.kept(experiment.id).join(name);
        let runner = Runner { kept: Some(Kept::in_folder(self.kept(experiment.id))?), ..runner.clone() };
        let kept = fs::read(&path).ok().and_then(|written| serde_json::from_slice::<Pass>(&written).ok());
        let pass = match kept {
            Some(pass) => pass,
            None => {
                let started = std::time::Instant::now();
                let (runs_before, before) = (runner.ended(), processor_seconds_with_children()?);
                let figures = std::slice::from_ref(figure);
                let rows = experiment::run(figures, plan, &[], contents, &runner, progress)?;
                let took_seconds = started.elapsed().as_secs_f64();
                let core_seconds = processor_seconds_with_children()? - before;
                let cost = Some(Cost { runs: runner.ended() - runs_before, core_seconds });
                let pass = Pass { ran: Ran { driver, kernel: runner.kernel(), took_seconds }, rows, cost };
                write(&path, &serde_json::to_vec(&pass)?)?;
                pass
            }
        };
        let (took_seconds, cost) = (pass.ran.took_seconds, pass.cost.unwrap_or_default());
        match part.ran.iter_mut().find(|ran| ran.driver == driver) {
            Some(ran) => {
                ran.took_seconds += took_seconds;
                part.rows.extend(pass.rows);
            }
            None => part.add(pass, Asked::Part),
        }
        part.claims = experiment.judge(&part.rows, Asked::Part);
        Ok(cost)
    }

    /// Writes the page of an experiment, and its rows as JSON and CSV.
    ///
    /// # Errors
    ///
    /// When a file cannot be written.
    pub fn write_part(&self, part: &Part) -> Result<()> {
        let Part { experiment, rows, claims, .. } = part;
        let file = |ending: &str| self.folder.join(format!("{}.{ending}", experiment.id));
        let heading = Heading {
            title: experiment.title.to_owned(),
            source: experiment.source.to_owned(),
            ran: part.ran.clone(),
            commit: self.state.commit.clone(),
        };
        write(&file("html"), experiment.report(experiment.figures, rows, claims, &heading).as_bytes())?;
        write(&file("json"), &serde_json::to_vec_pretty(rows)?)?;
        let mut table = csv::Writer::from_writer(Vec::new());
        rows.iter().try_for_each(|row| table.serialize(row))?;
        write(&file("csv"), &table.into_inner().context("the table cannot be written")?)
    }

    /// Writes the page that leads to all others.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn write_index(&self, parts: &[Part]) -> Result<PathBuf> {
        let path = self.folder.join("index.html");
        let page = index::html(&self.state.commit, self.state.quick, parts);
        write(&path, page.as_bytes())?;
        Ok(path)
    }

    fn kept(&self, experiment: &str) -> PathBuf {
        self.folder.join("kept").join(experiment)
    }
}

impl Part {
    /// An experiment without results.
    #[must_use]
    pub fn new(experiment: &'static Experiment) -> Self {
        Part {
            experiment,
            ran: Vec::new(),
            rows: Vec::new(),
            claims: Vec::new(),
            judged: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Adds what a driver made of it.
    fn add(&mut self, pass: Pass, asked: Asked) {
        let claims = self.experiment.judge(&pass.rows, asked);
        self.judged.push(Judged {
            experiment: self.experiment.id,
            driver: pass.ran.driver,
            claims: claims.clone(),
        });
        if self.ran.is_empty() {
            self.claims = claims;
            self.rows = pass.rows;
        } else {
            // Computed and recorded rows are equal under every driver.
            let differs = |row: &Row| ![Driver::Offline, Driver::Recorded].contains(&row.driver);
            let rows = pass.rows.into_iter().filter(differs);
            self.rows
                .extend(rows.map(|row| Row { series: format!("{} ({})", row.series, row.driver), ..row }));
        }
        self.ran.push(pass.ran);
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} runs of {}", if self.quick { "quick" } else { "whole" }, self.commit)?;
        self.seeds.map_or(Ok(()), |seeds| write!(f, " with {seeds} seeds"))
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    whole_file::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_caching;

    fn pass(driver: Driver, value: f64) -> Pass {
        let row = Row::new("10", "file 1: acked", 5.0, "ratio");
        let offline = Row::new("table-1", "ebook", 10.0, "%").exactly(0.3);
        let ran = Ran { driver, kernel: "a kernel".to_owned(), took_seconds: 1.0 };
        Pass { ran, rows: vec![Row { driver, value: Some(value), ..row }, offline], cost: None }
    }

    #[test]
    fn what_a_second_driver_found_stands_beside_the_first_and_arithmetic_stands_once() {
        let mut part = Part::new(&byte_caching::EXPERIMENT);
        part.add(pass(Driver::Virtual, 0.5), Asked::Part);
        part.add(pass(Driver::Sim, 0.6), Asked::Part);
        let series: Vec<&str> = part.rows.iter().map(|row| row.series.as_str()).collect();
        assert_eq!(series, ["file 1: acked", "ebook", "file 1: acked (sim)"]);
    }

    #[test]
    fn a_folder_serves_one_state_of_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let site = |commit: &str, quick| {
            Site::in_folder(folder.path().to_owned(), commit.to_owned(), quick, None).map(|_| ())
        };
        site("abc", true).unwrap();
        site("abc", true).unwrap();
        assert!(site("abd", true).unwrap_err().to_string().contains("name another folder"));
        assert!(site("abc", false).is_err());
    }

    #[test]
    fn pages_rows_and_tables_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let site = Site::in_folder(folder.path().to_owned(), "abc".to_owned(), true, Some(2)).unwrap();
        let mut part = Part::new(&byte_caching::EXPERIMENT);
        part.add(pass(Driver::Virtual, 0.5), Asked::Part);
        part.left_out.push((Driver::Lab, "needs root".to_owned()));
        site.write_part(&part).unwrap();
        let index = fs::read_to_string(site.write_index(&[part]).unwrap()).unwrap();
        for wanted in ["byte-caching.html", "byte-caching.csv", "needs root", "abc", "a kernel"] {
            assert!(index.contains(wanted), "{wanted}");
        }
        let table = fs::read_to_string(folder.path().join("byte-caching.csv")).unwrap();
        assert!(table.starts_with("figure,series,x,value,unit,paper,goal,driver"), "{table}");
        assert_eq!(table.lines().count(), 3);
        let rows = fs::read(folder.path().join("byte-caching.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Vec<Row>>(&rows).unwrap().len(), 2);
        assert!(folder.path().join("byte-caching.html").exists());
    }
}
