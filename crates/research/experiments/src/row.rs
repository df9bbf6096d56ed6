//! Rows: the results of every experiment.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::papers::Stated;

/// One point of one series of one figure or table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The figure or table, by the paper's numbering (`10`, `table-2`), or a word where the paper has none.
    pub figure: String,
    /// Its curve, bar or column: the panel's subject, a colon, and the curve.
    pub series: String,
    /// Position on the horizontal axis.
    pub x: X,
    /// The measured value; `None` if no run gave the quantity (such as the time of stalled downloads).
    pub value: Option<f64>,
    /// The unit of `value`; `ratio` for quotients.
    pub unit: String,
    /// The paper's value where its text or tables state one.
    pub paper: Option<Stated>,
    /// A bound of our own that `value` is to reach; no paper has it.
    #[serde(default)]
    pub goal: Option<f64>,
    /// What ran it.
    pub driver: Driver,
    /// Number of seeds, from 1 on. 0 without randomness.
    pub seeds: u32,
    /// The lower end of the 95% confidence interval of `value`, where there is one.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    /// What a reader must know of this row; empty when nothing.
    pub note: String,
    /// The register's values from which `paper` follows: paper, slash, id; two are joined by "; ".
    #[serde(default)]
    pub paper_source: String,
}

/// Rows of a figure.
pub fn of<'a>(rows: &'a [Row], figure: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row.figure == figure)
}

/// The value at one place of one series of a figure.
#[must_use]
pub fn value(rows: &[Row], figure: &str, series: &str, x: impl Into<X>) -> Option<f64> {
    let x = x.into();
    of(rows, figure).find(|row| row.series == series && row.x == x)?.value
}

impl Row {
    /// A row without a value yet.
    #[must_use]
    pub fn new(figure: &str, series: impl Into<String>, x: impl Into<X>, unit: &str) -> Self {
        Self {
            figure: figure.to_owned(),
            series: series.into(),
            x: x.into(),
            value: None,
            unit: unit.to_owned(),
            paper: None,
            goal: None,
            driver: Driver::Offline,
            seeds: 0,
            low: None,
            high: None,
            note: String::new(),
            paper_source: String::new(),
        }
    }

    /// A row with a measurement by `driver` with the first `seeds` seeds.
    #[must_use]
    pub fn measured(self, estimate: Option<Estimate>, driver: Driver, seeds: u32) -> Self {
        let interval = estimate.and_then(|estimate| estimate.interval);
        Self {
            value: estimate.map(|estimate| estimate.value),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            driver,
            seeds,
            ..self
        }
    }

    /// A row with an exact value, which needs no interval.
    #[must_use]
    pub fn exactly(self, value: f64) -> Self {
        Self { value: Some(value), ..self }
    }

    /// The value, unless another program's.
    #[must_use]
    pub fn ours(&self) -> Option<f64> {
        self.value.filter(|_| self.driver != Driver::Recorded)
    }

    /// The recorded value of another program.
    #[must_use]
    pub fn recorded(&self) -> Option<f64> {
        self.value.filter(|_| self.driver == Driver::Recorded)
    }

    /// Adds the paper's value.
    #[must_use]
    pub fn paper(self, value: impl Into<Option<Stated>>) -> Self {
        let paper = value.into();
        let paper_source = paper.map_or_else(String::new, |paper| paper.sources().join("; "));
        Self { paper, paper_source, ..self }
    }

    /// Adds a bound of our own.
    #[must_use]
    pub fn goal(self, value: impl Into<Option<f64>>) -> Self {
        Self { goal: value.into(), ..self }
    }

    /// Adds a note for the reader.
    #[must_use]
    pub fn note(mut self, note: impl AsRef<str>) -> Self {
        if !self.note.is_empty() && !note.as_ref().is_empty() {
            self.note.push_str("; ");
        }
        self.note.push_str(note.as_ref());
        self
    }
}

/// A place on the horizontal axis: a number, or a name where the axis has no scale.
#[derive(Debug, Clone, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(untagged)]
pub enum X {
    /// A position on a scale.
    Number(f64),
    /// A named position.
    Name(String),
}

impl From<f64> for X {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for X {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for X {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl fmt::Display for X {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// What runs an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Driver {
    /// Nodes and air in one process, no TCP.
    Sim,
    /// The lab inside the virtual-time kernel.
    Virtual,
    /// The lab on this machine's kernel.
    Lab,
    /// The same in the guest of `scripts/in-qemu`: Debian's kernel, in the time of an emulated processor.
    Qemu,
    /// Arithmetic on the content alone; nothing is sent.
    Offline,
    /// ns-2, the simulator of a paper, as a control: nothing of this project.
    #[serde(rename = "ns-2")]
    Ns2,
    /// Another program, measured once and recorded in `peers/*.toml`: nothing of this project.
    Recorded,
}

impl Driver {
    /// Whether scenarios run on the kernel that the laboratory's process runs on.
    #[must_use]
    pub fn uses_own_kernel(self) -> bool {
        matches!(self, Self::Lab | Self::Qemu)
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sim => "sim",
            Self::Virtual => "virtual",
            Self::Lab => "lab",
            Self::Qemu => "qemu",
            Self::Offline => "offline",
            Self::Ns2 => "ns-2",
            Self::Recorded => "recorded",
        })
    }
}

impl FromStr for Driver {
    type Err = String;

    /// Reads the name of a driver that can be asked for.
    fn from_str(name: &str) -> Result<Self, String> {
        [Self::Sim, Self::Virtual, Self::Lab, Self::Qemu]
            .into_iter()
            .find(|driver| driver.to_string() == name)
            .ok_or_else(|| format!("no driver is called {name:?}; there are sim, virtual, lab and qemu"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_written_with_the_names_that_readers_of_json_rely_on() {
        let estimate = Estimate { value: 0.5, interval: Some((0.4, 0.6)) };
        let row = Row::new("10", "acked", 5.0, "ratio").measured(Some(estimate), Driver::Virtual, 20);
        let written = serde_json::to_value(&row).unwrap();
        for name in [
            "figure",
            "series",
            "x",
            "value",
            "unit",
            "paper",
            "goal",
            "driver",
            "seeds",
            "low",
            "high",
            "note",
            "paper_source",
        ] {
            assert!(written.get(name).is_some(), "{name}");
        }
        assert_eq!(written["x"], 5.0);
        assert!(written["paper"].is_null());
        assert_eq!(written["driver"], "virtual");
        assert_eq!(serde_json::from_value::<Row>(written).unwrap(), row);
    }

    #[test]
    fn only_drivers_that_send_something_can_be_asked_for() {
        assert_eq!("virtual".parse(), Ok(Driver::Virtual));
        assert!("offline".parse::<Driver>().is_err() && "recorded".parse::<Driver>().is_err());
        assert!("kvm".parse::<Driver>().unwrap_err().contains("sim, virtual, lab and qemu"));
    }
}
