//! The byte-caching paper (Le, Srivatsa, Iyengar: Byte Caching in Wireless Networks, ICDCS 2012), figure by figure.
//!
//! The set-up is its Figure 3 ([`testbed`]): a server encodes, a client decodes, one link of 1 MByte/s and 20 ms of
//! round trip between them loses packets. A run is a [`cell`] and a seed: a file, a [`scheme`], a loss rate, a TCP.
//! [`figure::Figure`]s say which cells they need and make rows of what came of them; a cell that several figures need
//! is run once. [`must_show`] holds the rows against what the paper and this project claim.

mod adaptive;
pub mod cell;
mod completion;
pub mod figure;
mod figure_10;
mod figure_11;
mod figure_12;
mod figure_13;
mod figure_14;
mod figure_6;
mod grid;
mod impairments;
pub mod must_show;
pub mod plan;
pub mod reading;
pub mod scheme;
mod section_2;
mod section_7;
mod simulate;
mod table_1;
mod table_2;
pub mod testbed;
mod udp;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use indicatif::ProgressBar;

use crate::contents::Contents;
use crate::report::{Heading, Section};
use crate::row::{Driver, Row};
use crate::run::{Outcomes, Runner};
use cell::Cell;
use figure::{Figure, Need, Results, Setting};
use plan::Plan;
use reading::Reading;
use testbed::Testbed;

/// The paper.
pub const SOURCE: &str = "F. Le, M. Srivatsa, A. K. Iyengar: Byte Caching in Wireless Networks. ICDCS 2012.";

/// All figures and tables, in the paper's order, and what is added to them.
pub const FIGURES: [Figure; 14] = [
    section_2::FIGURE,
    table_1::FIGURE,
    figure_6::FIGURE,
    completion::FIGURE,
    figure_10::FIGURE,
    figure_11::FIGURE,
    udp::FIGURE,
    figure_12::FIGURE,
    table_2::FIGURE,
    section_7::FIGURE,
    figure_13::FIGURE,
    figure_14::FIGURE,
    impairments::FIGURE,
    adaptive::FIGURE,
];

/// The figures with these ids; all for none.
///
/// # Errors
///
/// When there is no such figure; the message names those that there are.
pub fn chosen(ids: &[String]) -> Result<Vec<Figure>> {
    if ids.is_empty() {
        return Ok(FIGURES.to_vec());
    }
    let figure = |id: &String| match FIGURES.iter().find(|figure| figure.id == id) {
        Some(figure) => Ok(*figure),
        None => {
            let known: Vec<&str> = FIGURES.iter().map(|figure| figure.id).collect();
            bail!("the byte-caching paper has no figure {id:?} here; there are {}", known.join(", "))
        }
    };
    ids.iter().map(figure).collect()
}

/// Runs what the figures need and returns their rows, in the order of the figures.
///
/// # Errors
///
/// When something could not be run to its end, which is not the same as ending badly.
pub fn run(
    figures: &[Figure],
    plan: Plan,
    contents: &Contents,
    runner: &Runner,
    progress: &ProgressBar,
) -> Result<Vec<Row>> {
    let testbed = Testbed::new(contents)?;
    let setting = Setting { plan, testbed: &testbed, driver: runner.driver };
    let (mut cells, mut scenarios) = (Vec::new(), Vec::new());
    let mut possible = Vec::new();
    for figure in figures {
        let needs = (figure.needs)(&setting);
        // The simulation knows cells only.
        if runner.driver == Driver::Sim && needs.iter().any(|need| matches!(need, Need::Scenario(_))) {
            continue;
        }
        possible.push(figure);
        for need in needs {
            match need {
                Need::Cell(cell, seeds) => cells.push((cell, seeds)),
                Need::Scenario(scenario) => scenarios.push(*scenario),
            }
        }
    }
    let cells = distinct(cells);
    let mut readings = BTreeMap::new();
    let mut outcomes = Outcomes::new();
    if runner.driver == Driver::Sim {
        for (cell, of_cell) in simulate::run_all(&cells, &testbed, progress)? {
            readings.insert(cell.name(), of_cell);
        }
    } else {
        scenarios.extend(cells.iter().map(|(cell, seeds)| testbed.scenario(cell, *seeds)));
        outcomes = runner.run(scenarios, progress)?;
        for (cell, _) in &cells {
            let of_cell = outcomes.remove(&cell.name()).unwrap_or_default();
            readings.insert(cell.name(), of_cell.iter().map(Reading::of).collect::<Result<_>>()?);
        }
    }
    let results = Results { setting, readings: &readings, outcomes: &outcomes };
    let rows = possible.iter().map(|figure| (figure.rows)(&results));
    Ok(rows.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The report on rows that [`run`] gave.
#[must_use]
pub fn report(figures: &[Figure], rows: &[Row], heading: &Heading) -> String {
    let section = |figure: &Figure| Section {
        id: figure.id.to_owned(),
        title: figure.title.to_owned(),
        remark: figure.remark.to_owned(),
        x: figure.x.to_owned(),
        rows: rows.iter().filter(|row| row.figure == figure.id).cloned().collect(),
    };
    let sections: Vec<Section> = figures.iter().map(section).filter(|it| !it.rows.is_empty()).collect();
    crate::report::html(heading, &must_show::claims(rows), &sections)
}

/// Each cell once, with the most seeds that any figure wants.
fn distinct(cells: Vec<(Cell, u32)>) -> Vec<(Cell, u32)> {
    let mut by_name: BTreeMap<String, (Cell, u32)> = BTreeMap::new();
    for (cell, seeds) in cells {
        let most = by_name.entry(cell.name()).or_insert((cell, 0));
        most.1 = most.1.max(seeds);
    }
    by_name.into_values().collect()
}
