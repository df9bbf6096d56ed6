//! Recorded values of other programs, from `peers/links.toml`: neither a paper's, nor goals, nor ours.

use std::sync::LazyLock;

use serde::Deserialize;

use super::place::Place;
use crate::row::{Driver, Row};

/// What the names of others' series end with.
pub const MARK: &str = " (recorded)";

static PEERS: LazyLock<Peers> = LazyLock::new(|| {
    toml::from_str(include_str!("../../peers/links.toml"))
        .unwrap_or_else(|error| panic!("peers/links.toml: {error}"))
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peers {
    measured: String,
    program: Vec<Program>,
}

/// Another program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    name: String,
    version: String,
    settings: String,
    value: Vec<Values>,
}

/// Its values of one quantity.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    figure: String,
    series: String,
    seeds: u32,
    /// What a reader must know beside the settings.
    #[serde(default)]
    remark: String,
    losses_percent: Vec<u32>,
    /// Each line: the round trip in milliseconds, then a value for each loss.
    at: Vec<Vec<f64>>,
}

/// One recorded value.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    program: &'static Program,
    values: &'static Values,
    value: f64,
}

impl Recorded {
    /// The name of the program.
    #[must_use]
    pub fn program(&self) -> &'static str {
        &self.program.name
    }

    /// The value.
    #[must_use]
    pub fn get(&self) -> f64 {
        self.value
    }

    /// The row of the value in a panel of a figure. Its note has version, settings and date.
    #[must_use]
    pub fn row(&self, figure: &str, panel: &str, x: u32, unit: &str) -> Row {
        let Program { name, version, settings, .. } = self.program;
        let Values { seeds, remark, .. } = self.values;
        let seeds = if *seeds == 1 { "one seed".to_owned() } else { format!("{seeds} seeds") };
        let remark = if remark.is_empty() { String::new() } else { format!(", {remark}") };
        let note = format!("{version}, {settings}{remark}. Measured in {}, {seeds}.", PEERS.measured);
        let row = Row::new(figure, format!("{panel}: {name}{MARK}"), x, unit).exactly(self.value);
        Row { driver: Driver::Recorded, ..row }.note(note)
    }
}

/// The values of all programs for a series of a figure, in the order of the file.
pub fn values(
    figure: &str,
    series: &str,
    round_trip_milliseconds: u32,
    loss_percent: u32,
) -> impl Iterator<Item = Recorded> {
    let of_program = move |program: &'static Program| {
        let values = program.value.iter().find(|it| it.figure == figure && it.series == series)?;
        let index = values.losses_percent.iter().position(|loss| *loss == loss_percent)?;
        let line = values.at.iter().find(|line| line.first() == Some(&round_trip_milliseconds.into()))?;
        Some(Recorded { program, values, value: *line.get(index + 1)? })
    };
    PEERS.program.iter().filter_map(of_program)
}

/// The rows of all programs for a series of a figure at a place.
pub(super) fn rows(figure: &str, series: &str, unit: &str, place: Place) -> Vec<Row> {
    let panel = place.panel(series);
    values(figure, series, place.round_trip_milliseconds, place.loss_percent)
        .map(|value| value.row(figure, &panel, place.loss_percent, unit))
        .collect()
}

/// The value of one program.
#[must_use]
pub fn value(
    program: &str,
    (figure, series): (&str, &str),
    round_trip_milliseconds: u32,
    loss_percent: u32,
) -> Option<f64> {
    let mut values = values(figure, series, round_trip_milliseconds, loss_percent);
    values.find(|value| value.program() == program).map(|value| value.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_a_value_for_each_loss_and_every_series_is_a_figures() {
        for program in &PEERS.program {
            assert!(!program.version.is_empty() && !program.settings.is_empty(), "{}", program.name);
            // The semicolon separates notes of a row.
            assert!(!program.settings.contains(';'), "{}", program.name);
            for values in &program.value {
                let place = format!("{}, {}", program.name, values.series);
                assert!(
                    crate::links::EXPERIMENT.chosen(std::slice::from_ref(&values.figure)).is_ok(),
                    "{place}"
                );
                for line in &values.at {
                    assert_eq!(line.len(), values.losses_percent.len() + 1, "{place}: {line:?}");
                    assert!(line.iter().all(|value| value.is_finite() && *value >= 0.0), "{place}: {line:?}");
                }
            }
        }
    }

    #[test]
    fn a_recorded_row_names_its_program_and_version_and_is_none_of_ours() {
        let value = values("downloads", "seconds", 100, 10).nth(1).unwrap();
        let row = value.row("downloads", "seconds, 100 ms", 10, "s");
        assert_eq!(row.series, "seconds, 100 ms: tinyfecVPN (recorded)");
        assert_eq!((row.ours(), row.recorded()), (None, Some(2.82)));
        assert!(row.note.contains("cbdf9be") && row.note.contains("5 seeds"));
        assert_eq!(super::value("tinyfecVPN", ("downloads", "seconds"), 100, 10), Some(2.82));
        assert_eq!(super::value("kernel WireGuard", ("downloads", "seconds"), 100, 20), None);
    }
}
