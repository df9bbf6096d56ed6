//! A figure or table of the paper: its needs, and the rows that it makes of the results.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use lab::{Outcome, Scenario};

use crate::cell::{Cell, File, Traffic};
use crate::contents::Contents;
use crate::estimate::Estimate;
use crate::plan::Plan;
use crate::reading::Reading;
use crate::row::{Driver, Row};
use crate::run::Outcomes;
use crate::scheme::Scheme;
use crate::testbed::Testbed;

/// One figure or table.
#[derive(Clone, Copy)]
pub struct Figure {
    /// Its id, by the paper's numbering; a word where the paper has none.
    pub id: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The quantity on the horizontal axis.
    pub x: &'static str,
    /// Method, differences from the paper, and their reasons. [`told`](crate::papers::told) fills in papers'
    /// values.
    pub remark: &'static str,
    /// Its needs.
    pub needs: fn(&Setting<'_>) -> Vec<Need>,
    /// The rows that it makes of that.
    pub rows: fn(&Results<'_>) -> Result<Vec<Row>>,
}

/// Something to be run.
#[derive(Clone)]
pub enum Need {
    /// A cell, with the seeds from 1 to this.
    Cell(Cell, u32),
    /// Two cells. The number of seeds determines the median of their times' quotients within 2%, between a
    /// minimum and a maximum.
    Pair {
        /// The cell.
        cell: Cell,
        /// The baseline.
        baseline: Cell,
        /// The fewest seeds.
        least: u32,
        /// The most seeds.
        most: u32,
    },
    /// A scenario of the figure's own. Only the lab's drivers run it.
    Scenario(Box<Scenario>),
}

impl Need {
    /// Whether one of these words is in its name, or there are no words.
    #[must_use]
    pub fn is_among(&self, only: &[String]) -> bool {
        let names = match self {
            Need::Cell(cell, _) => vec![cell.name()],
            Need::Pair { cell, baseline, .. } => vec![cell.name(), baseline.name()],
            Need::Scenario(scenario) => vec![scenario.name.clone()],
        };
        only.is_empty() || only.iter().any(|word| names.iter().any(|name| name.contains(word)))
    }
}

/// The requested setting.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The extent.
    pub plan: Plan,
    /// Contents and keys.
    pub testbed: &'a Testbed,
    /// All that contents can be had of.
    pub contents: &'a Contents,
    /// What runs it.
    pub driver: Driver,
}

/// What rows are made of.
#[derive(Clone, Copy)]
pub struct Results<'a> {
    /// The requested setting.
    pub setting: Setting<'a>,
    /// Results of the cells, by name, in the order of seeds.
    pub readings: &'a BTreeMap<String, Vec<Reading>>,
    /// Results of other scenarios.
    pub outcomes: &'a Outcomes,
    /// Whether the run is partial, so that a missing result is no mistake.
    pub is_partial: bool,
}

impl Results<'_> {
    /// The outcomes of a scenario.
    pub fn outcomes(&self, name: &str) -> Result<&[Outcome]> {
        self.ran(self.outcomes, name)
    }

    /// The runs of a cell with the first `seeds` seeds.
    pub fn readings(&self, cell: &Cell, seeds: u32) -> Result<&[Reading]> {
        let readings = self.ran(self.readings, &cell.name())?;
        Ok(&readings[..readings.len().min(seeds as usize)])
    }

    fn ran<'b, T>(&self, of: &'b BTreeMap<String, Vec<T>>, name: &str) -> Result<&'b [T]> {
        match of.get(name) {
            Some(ran) => Ok(ran),
            None if self.is_partial => Ok(&[]),
            None => bail!("nothing was run for {name}"),
        }
    }

    /// The median of the quotients of two cells' times, over all seeds with which both were complete.
    pub fn median_time(&self, cell: &Cell, baseline: &Cell) -> Result<Option<Estimate>> {
        let (ours, theirs) = (self.readings(cell, u32::MAX)?, self.readings(baseline, u32::MAX)?);
        Ok(Estimate::paired_median(&paired_times(ours, theirs)))
    }

    /// A row of a cell.
    pub fn row(&self, row: Row, cell: &Cell, estimate: Option<Estimate>, seeds: u32) -> Row {
        let (Traffic::Download(file) | Traffic::Stream(file)) = cell.traffic;
        let row = row.measured(estimate, self.setting.driver, seeds).note(self.content_note(file));
        let shortens = matches!(cell.scheme, Scheme::Parts(_));
        let row = match self.setting.driver {
            Driver::Sim if shortens => row.note("the simulation's nodes shorten nothing"),
            _ => row,
        };
        match (self.setting.driver, cell.traffic) {
            (Driver::Sim, Traffic::Download(_)) => {
                row.note("segments at a constant rate, retransmitted after a fixed time: no TCP")
            }
            _ => row,
        }
    }

    /// A row's note on the carried content.
    pub fn content_note(&self, file: File) -> String {
        format!("content: {}", self.setting.testbed.content(file).origin)
    }

    /// The mean of a quantity over a cell's complete runs.
    pub fn mean_of_complete(
        &self,
        cell: &Cell,
        seeds: u32,
        quantity: impl Fn(&Reading) -> Option<f64>,
    ) -> Result<Option<Estimate>> {
        let complete = self.readings(cell, seeds)?.iter().filter(|reading| reading.is_complete);
        Ok(Estimate::mean(&complete.filter_map(quantity).collect::<Vec<_>>()))
    }

    /// The quotient of a quantity of two cells' runs with the same seeds, over the seeds with which both are
    /// complete.
    pub fn ratio(
        &self,
        cell: &Cell,
        baseline: &Cell,
        seeds: u32,
        quantity: impl Fn(&Reading) -> Option<f64>,
    ) -> Result<Option<Estimate>> {
        let (ours, theirs) = (self.readings(cell, seeds)?, self.readings(baseline, seeds)?);
        let pairs: Vec<(f64, f64)> = ours
            .iter()
            .zip(theirs)
            .filter(|(one, other)| one.is_complete && other.is_complete)
            .filter_map(|(one, other)| Some((quantity(one)?, quantity(other)?)))
            .collect();
        Ok(Estimate::paired_ratio(&pairs))
    }
}

/// The times of two cells' runs with the same seeds, where both were complete.
#[must_use]
pub fn paired_times(ours: &[Reading], theirs: &[Reading]) -> Vec<(f64, f64)> {
    let pairs = ours.iter().zip(theirs).filter(|(one, other)| one.is_complete && other.is_complete);
    pairs.filter_map(|(one, other)| Some((one.seconds?, other.seconds?))).collect()
}

/// Bytes from server to client.
pub fn bytes_down(reading: &Reading) -> Option<f64> {
    Some(reading.bytes_down as f64)
}

/// Bytes in both directions.
pub fn bytes_both_ways(reading: &Reading) -> Option<f64> {
    Some((reading.bytes_down + reading.bytes_up) as f64)
}

/// The time of a download.
pub fn seconds(reading: &Reading) -> Option<f64> {
    reading.seconds
}
