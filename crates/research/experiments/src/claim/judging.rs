//! Evaluation of a claim: row by row, with a note of every row that it reads.

use super::{Claim, listed};
use crate::row::{Driver, Row, X, of};

/// A claim that is being judged.
#[derive(Debug)]
pub struct Judging<'a> {
    rows: &'a [Row],
    claim: String,
    series: Vec<String>,
    found: Vec<String>,
    /// Cells that are counted and not shown.
    cells: usize,
    is_short: bool,
    without_value: Vec<String>,
    absent: Vec<String>,
}

impl<'a> Judging<'a> {
    /// A claim that nothing was held against yet.
    pub fn new(rows: &'a [Row], claim: impl Into<String>) -> Self {
        Judging {
            rows,
            claim: claim.into(),
            series: Vec::new(),
            found: Vec::new(),
            cells: 0,
            is_short: false,
            without_value: Vec::new(),
            absent: Vec::new(),
        }
    }

    /// The row at one place of one series, with its value. One that is not there, or has no value, is noted.
    pub fn row(&mut self, figure: &'a str, series: &str, x: impl Into<X>) -> Option<(&'a Row, f64)> {
        let x = x.into();
        self.names(figure, series);
        let Some(row) = of(self.rows, figure).find(|row| row.series == series && row.x == x) else {
            self.absent.push(format!("{figure}: {series} at {x}"));
            return None;
        };
        self.valued(row)
    }

    /// The value at one place of one series.
    pub fn value(&mut self, figure: &'a str, series: &str, x: impl Into<X>) -> Option<f64> {
        self.row(figure, series, x).map(|(_, value)| value)
    }

    /// All selected rows of a figure with this prefix of their series, with values. The absence of rows is
    /// noted, and so is each row without a value.
    pub fn all(
        &mut self,
        figure: &'a str,
        begins: &str,
        chosen: impl Fn(&Row) -> bool,
    ) -> Vec<(&'a Row, f64)> {
        self.names(figure, &format!("{begins}..."));
        let rows = of(self.rows, figure).filter(|row| row.series.starts_with(begins) && chosen(row));
        let rows: Vec<&Row> = rows.collect();
        if rows.is_empty() {
            self.absent.push(format!("{figure}: {begins}..."));
        }
        rows.into_iter().filter_map(|row| self.valued(row)).collect()
    }

    /// One part of the claim, which is shown.
    pub fn found(&mut self, holds: bool, found: impl Into<String>) {
        self.is_short |= !holds;
        self.found.push(found.into());
    }

    /// One cell of many, which is shown if it falls short and counted otherwise.
    pub fn cell(&mut self, holds: bool, found: impl FnOnce() -> String) {
        self.cells += 1;
        if !holds {
            self.found(false, found());
        }
    }

    /// The claim with all that was found.
    #[must_use]
    pub fn done(self) -> Claim {
        let Judging { claim, series, mut found, cells, is_short, without_value, absent, .. } = self;
        let is_judged = cells > 0 || !found.is_empty();
        if cells > 0 {
            found.push(format!("{cells} cells"));
        }
        if !without_value.is_empty() {
            found.push(format!("no value of {}", listed(&without_value)));
        }
        let holds = match (without_value.is_empty(), is_judged) {
            (false, _) => Some(false),
            (true, true) => Some(!is_short),
            (true, false) => None,
        };
        let found = if found.is_empty() { "not asked for".to_owned() } else { found.join(", ") };
        Claim { claim, series, found, holds, absent }
    }

    fn names(&mut self, figure: &str, series: &str) {
        let name = format!("{figure}: {series}");
        if !self.series.contains(&name) {
            self.series.push(name);
        }
    }

    fn valued(&mut self, row: &'a Row) -> Option<(&'a Row, f64)> {
        if row.value.is_none() {
            let name = format!("{}: {} at {}", row.figure, row.series, row.x);
            // The simulation of cells knows no time: it is asked for less.
            let list = if row.driver == Driver::Sim { &mut self.absent } else { &mut self.without_value };
            list.push(name);
        }
        row.value.map(|value| (row, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [Row; 3] {
        let row = |series: &str, x: f64| Row::new("10", series, x, "ratio");
        [
            row("bytes: acked", 5.0).exactly(0.5),
            row("bytes: acked", 10.0),
            row("bytes: off", 5.0).exactly(1.0),
        ]
    }

    #[test]
    fn a_row_without_a_value_fails_its_claim() {
        let rows = rows();
        let mut judging = Judging::new(&rows, "bytes");
        for loss in [5.0, 10.0] {
            if let Some(value) = judging.value("10", "bytes: acked", loss) {
                judging.found(value < 0.6, format!("{value}"));
            }
        }
        let claim = judging.done();
        assert_eq!(
            (claim.holds, claim.found.as_str()),
            (Some(false), "0.5, no value of 10: bytes: acked at 10")
        );
        assert_eq!(claim.series, ["10: bytes: acked"]);
    }

    #[test]
    fn the_simulation_is_not_asked_for_values_that_it_has_not() {
        let rows = rows().map(|row| Row { driver: Driver::Sim, ..row });
        let mut judging = Judging::new(&rows, "bytes");
        assert_eq!(judging.value("10", "bytes: acked", 10.0), None);
        let claim = judging.done();
        assert_eq!((claim.holds, claim.absent.len()), (None, 1));
    }

    #[test]
    fn a_claim_without_a_row_is_not_judged() {
        let rows = rows();
        let mut judging = Judging::new(&rows, "bytes");
        assert_eq!(judging.value("11", "bytes: acked", 5.0), None);
        assert!(judging.all("10", "delay: ", |_| true).is_empty());
        let claim = judging.done();
        assert_eq!((claim.holds, claim.absent.len()), (None, 2));
    }

    #[test]
    fn cells_are_counted_and_those_that_fall_short_are_shown() {
        let rows = rows();
        let mut judging = Judging::new(&rows, "bytes");
        for (row, value) in judging.all("10", "bytes: ", |row| row.x == X::Number(5.0)) {
            judging.cell(value < 0.6, || format!("{} {value}", row.series));
        }
        let claim = judging.done();
        assert_eq!((claim.holds, claim.found.as_str()), (Some(false), "bytes: off 1, 2 cells"));
    }
}
