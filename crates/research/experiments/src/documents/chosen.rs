//! Tables of chosen rows, as `tables.toml` beside the kept rows has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::figure::{interval, place};
use super::markdown::Table;
use super::number::number;
use crate::kept_rows::{KeptRows, KeptRun};
use crate::papers::{self, Content};
use crate::row::{Driver, Row, X};

/// All tables, by name.
#[derive(Debug)]
pub(super) struct Tables(BTreeMap<String, Vec<Line>>);

/// A line of a table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Name of the comparison.
    what: String,
    /// Experiment, driver and figure of the row.
    rows: String,
    /// Its series.
    series: String,
    /// Its place on the axis.
    x: X,
    /// The paper's value, by paper and id, where the row has none.
    paper: Option<String>,
    /// Presentation of the row's ratio to the paper's percentage; by default the percentage itself.
    #[serde(default)]
    paper_as: As,
}

/// Presentation of a percentage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum As {
    /// The unchanged percentage.
    #[default]
    Stated,
    /// The share that a reduction by it leaves.
    Left,
    /// What one becomes by an increase by it.
    Grown,
}

impl Tables {
    /// Reads the tables; none where there is no file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = if path.exists() { fs::read_to_string(path)? } else { String::new() };
        Ok(Self(toml::from_str(&text).with_context(|| path.display().to_string())?))
    }

    pub fn block(&self, name: &str, kept: &KeptRows) -> Result<String> {
        let lines = self.0.get(name).context("tables.toml has no such table")?;
        let mut table = Table::new(["", "the paper", "place", "our goal", "ours", "95% interval", "by"]);
        for line in lines {
            let [said, place] = line.said()?;
            let [experiment, driver, figure] = line.place()?;
            let driver: Driver = driver.parse().map_err(anyhow::Error::msg)?;
            let runs = kept.of_figure(experiment, driver, figure);
            let rows: Vec<(&KeptRun, &Row)> =
                runs.flat_map(|run| run.rows.iter().map(move |row| (run, row))).collect();
            let is_known = rows.is_empty() || rows.iter().any(|(_, row)| row.series == line.series);
            ensure!(is_known, "no kept row of {} has the series {:?}", line.rows, line.series);
            let found = rows.iter().find(|(_, row)| row.series == line.series && row.x == line.x);
            let of_row = match found {
                Some((run, row)) => ours(run, row, &said, &place),
                None => [said, place, String::new(), "not run".to_owned(), String::new(), String::new()],
            };
            table.line(std::iter::once(line.what.clone()).chain(of_row));
        }
        Ok(table.text())
    }
}

impl Line {
    fn place(&self) -> Result<[&str; 3]> {
        let words: Vec<&str> = self.rows.split_whitespace().collect();
        words.try_into().ok().with_context(|| format!("{} is not experiment, driver and figure", self.rows))
    }

    /// The paper's value and its place, where the line names one.
    fn said(&self) -> Result<[String; 2]> {
        let Some(name) = &self.paper else { return Ok([String::new(), String::new()]) };
        let (paper, id) = name.split_once('/').context("a value is named by paper, slash, id")?;
        let value = papers::named(paper).and_then(|paper| paper.find(id));
        let value = value.with_context(|| format!("no paper says {name}"))?;
        ensure!(!place(name).is_empty(), "{name} has no place");
        let is_number = matches!(value.content(), Content::Number(_)) && value.unit() == "%";
        ensure!(self.paper_as == As::Stated || is_number, "{name} is no percentage");
        let said = match self.paper_as {
            As::Stated => value.to_string(),
            As::Left => number(value.number().left().get()),
            As::Grown => number(value.number().grown().get()),
        };
        Ok([said, place(name)])
    }
}

fn ours(run: &KeptRun, row: &Row, said: &str, place_said: &str) -> [String; 6] {
    let paper = row.paper.map_or_else(|| said.to_owned(), |paper| number(paper.get()));
    let place = if row.paper.is_some() { place(&row.paper_source) } else { place_said.to_owned() };
    let extent = if run.quick { "quick, " } else { "" };
    let seeds = if row.seeds > 0 { format!(", seeds: {}", row.seeds) } else { String::new() };
    let unit = if ["ratio", "index"].contains(&row.unit.as_str()) {
        String::new()
    } else {
        format!(" {}", row.unit)
    };
    [
        paper,
        place,
        row.goal.map_or_else(String::new, number),
        row.value.map_or_else(|| "no run gave it".to_owned(), |value| format!("{}{unit}", number(value))),
        interval(row),
        format!("{extent}`{}`{seeds}, {}", row.driver, run.commit),
    ]
}
