//! Figures over several rounds, and their table.

use console::Table;
use serde::Serialize;
use std::io::Write;

/// One figure over all rounds.
#[derive(Debug, Serialize)]
pub struct Figure {
    pub name: String,
    pub median: f64,
    pub lowest: f64,
    pub highest: f64,
    pub unit: &'static str,
    /// The required result, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<String>,
}

impl Figure {
    pub fn of(name: &str, mut sample: Vec<f64>, unit: &'static str) -> Self {
        sample.sort_by(f64::total_cmp);
        let at = |index: usize| sample.get(index).copied().unwrap_or(f64::NAN);
        Figure {
            name: name.to_owned(),
            median: at(sample.len() / 2),
            lowest: at(0),
            highest: at(sample.len().saturating_sub(1)),
            unit,
            wanted: None,
        }
    }

    pub fn wanted(mut self, wanted: impl Into<Option<&'static str>>) -> Self {
        self.wanted = wanted.into().map(str::to_owned);
        self
    }
}

/// Prints the figures. `absent` are the reasons of missing comparisons.
pub fn show(figures: &[Figure], absent: &[String], json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(figures)?)?;
    } else {
        let mut table = Table::new(&["figure", "median", "lowest", "highest", "unit", "wanted"]);
        for Figure { name, median, lowest, highest, unit, wanted } in figures {
            let digits = if matches!(*unit, "Gbit/s" | "ratio" | "ns a byte") { 2 } else { 0 };
            let cell = |value: &f64| format!("{value:.digits$}");
            let wanted = wanted.clone().unwrap_or_default();
            table.row([name.clone(), cell(median), cell(lowest), cell(highest), (*unit).to_owned(), wanted]);
        }
        table.write(&mut out)?;
    }
    for why in absent {
        console::hint!("a comparison is missing: {why}");
    }
    Ok(())
}
