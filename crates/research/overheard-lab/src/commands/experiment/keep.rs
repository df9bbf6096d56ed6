//! `--keep-rows`: rows into the folder from which documents are made.

use anyhow::Result;
use daemon::config::Mistake;
use experiments::contents::Contents;
use experiments::experiment::{self, Experiment};
use experiments::figure::{Figure, Setting};
use experiments::kept_rows::{self, Inputs, KeptRows, KeptRun, Origin};
use experiments::plan::{Extent, Plan};
use experiments::row::{Driver, Row};
use experiments::run::{self, Runner};
use experiments::testbed::Testbed;
use std::path::Path;
use std::time::Duration;

/// Rows to be kept, with the statements of each of their runs.
pub struct Keeping<'a> {
    experiment: &'a Experiment,
    figures: &'a [Figure],
    plan: Plan,
    only: &'a [String],
    runner: &'a Runner,
    folder: &'a Path,
    commit: String,
}

impl<'a> Keeping<'a> {
    /// In this folder.
    ///
    /// # Errors
    ///
    /// When rows that would be lost are kept there, or this state of the project has no name.
    pub fn in_folder(
        folder: &'a Path,
        experiment: &'a Experiment,
        figures: &'a [Figure],
        (plan, only): (Plan, &'a [String]),
        runner: &'a Runner,
    ) -> Result<Self> {
        let commit = kept_rows::commit().map_err(|why| Mistake::new(why.to_string()))?;
        let rows = KeptRows::read(folder)?;
        let is_quick = plan.extent != Extent::Whole;
        for figure in figures {
            rows.check_extent(experiment.id, runner.driver, figure.id, is_quick)
                .map_err(|why| Mistake::new(why.to_string()))?;
        }
        Ok(Self { experiment, figures, plan, only, runner, folder, commit })
    }

    /// Keeps rows that the experiment gave after this time.
    ///
    /// # Errors
    ///
    /// When they cannot be written.
    pub fn keep(self, rows: &[Row], contents: &Contents, took: Duration) -> Result<()> {
        let driver = self.runner.driver;
        let testbed = Testbed::new(contents)?;
        let setting = Setting { plan: self.plan, testbed: &testbed, contents, driver };
        let inputs = Inputs::of(&setting)?;
        let runs = if driver == Driver::Sim {
            let named = experiment::list(self.figures, self.plan, self.only, contents, driver)?;
            named.iter().map(|named| named.seeds).sum()
        } else {
            self.runner.ended()
        };
        let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        // A guest does not see the processor's time.
        let is_counted = runs > 0 && driver != Driver::Qemu;
        let core_seconds_each = is_counted.then(|| took.as_secs_f64() * cores / f64::from(runs));
        let run = |figure: &Figure| -> Result<KeptRun> {
            Ok(KeptRun {
                figure: figure.id.to_owned(),
                command: self.command(figure),
                quick: self.plan.extent != Extent::Whole,
                partial: !self.only.is_empty(),
                commit: self.commit.clone(),
                kernel: self.runner.kernel(),
                date: run::date(),
                contents: if contents.has_data() { Origin::DataFolder } else { Origin::Made },
                inputs: inputs.digest(figure, &setting, self.only)?,
                core_seconds_each: core_seconds_each.map(|seconds| (seconds * 100.0).round() / 100.0),
                rows: rows.iter().filter(|row| row.figure == figure.id).cloned().collect(),
            })
        };
        let new = self.figures.iter().map(run).collect::<Result<Vec<_>>>()?;
        // read again, since other commands may have kept rows meanwhile
        KeptRows::read(self.folder)?.keep(self.experiment.id, driver, new)
    }

    /// The command that runs a figure so.
    fn command(&self, figure: &Figure) -> String {
        let mut command = kept_rows::command(self.experiment, self.runner.driver, figure.id);
        if self.plan.extent == Extent::Quick {
            command.push_str(" --quick");
        }
        if let Some(seeds) = self.plan.seeds {
            command.push_str(&format!(" --seeds {seeds}"));
        }
        for words in self.only {
            command.push_str(&format!(" --only '{words}'"));
        }
        command
    }
}
