//! Number of runs of a whole figure.

use anyhow::Result;

use crate::contents::Contents;
use crate::figure::{Figure, Setting};
use crate::kept_rows::KeptRun;
use crate::plan::{Extent, Plan, Traced};
use crate::row::Driver;
use crate::testbed::Testbed;
use crate::wanted::Wanted;

/// What figures need, by the contents that the project makes.
pub(super) struct Extents {
    contents: Contents,
    testbed: Testbed,
}

impl Extents {
    pub fn new() -> Result<Self> {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents)?;
        Ok(Self { contents, testbed })
    }

    /// Number of runs of a whole figure; `None` if it has no runs of its own by these contents.
    fn runs(&self, figure: Figure, driver: Driver) -> Result<Option<u32>> {
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &self.testbed, contents: &self.contents, driver };
        let runs = Wanted::by(&[figure], &setting, &[])?.names().iter().map(|named| named.seeds).sum();
        Ok((runs > 0).then_some(runs))
    }

    /// A sentence on how long a whole figure takes, by what runs of the same experiment took.
    pub fn cost(&self, figure: Figure, driver: Driver, kept: &[KeptRun]) -> Result<String> {
        let Some(runs) = self.runs(figure, driver)? else {
            let rows = kept.iter().filter(|run| run.figure == figure.id).flat_map(|run| &run.rows);
            let how = if rows
                .into_iter()
                .any(|row| row.driver == Driver::Virtual || row.driver.uses_own_kernel())
            {
                "Its runs need recordings, from the folder in `OVERHEARD_DATA`."
            } else {
                "It is computed in one process."
            };
            return Ok(how.to_owned());
        };
        let of_figure = kept.iter().filter(|run| run.figure == figure.id);
        let mut seconds: Vec<f64> = of_figure.filter_map(|run| run.core_seconds_each).collect();
        if seconds.is_empty() {
            seconds = kept.iter().filter_map(|run| run.core_seconds_each).collect();
        }
        if seconds.is_empty() {
            return Ok(format!("It has {runs} runs; nothing measured how long one takes."));
        }
        let each = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let hours = super::number::number(f64::from(runs) * each / 3600.0);
        Ok(format!("It has {runs} runs, at most about {hours} core-hours by the time that kept runs took."))
    }
}
