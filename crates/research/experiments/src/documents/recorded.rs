//! The table of panels with recorded values: ours and other programs', each in columns of their own.

use std::collections::BTreeSet;

use super::figure::distinct;
use super::markdown::Table;
use super::number::number;
use crate::row::{Driver, Row, X};

/// The panels of a figure with recorded values of other programs.
pub(super) struct Panels<'a> {
    rows: Vec<&'a Row>,
}

impl<'a> Panels<'a> {
    /// All rows of panels in which another program has a value.
    pub fn of(rows: &[&'a Row]) -> Self {
        let of_others = rows.iter().filter(|row| row.driver == Driver::Recorded);
        let panels: BTreeSet<&str> = of_others.map(|row| parts(row).0).collect();
        Self { rows: rows.iter().copied().filter(|row| panels.contains(parts(row).0)).collect() }
    }

    /// Whether a row is in such a panel.
    pub fn has(&self, row: &Row) -> bool {
        self.rows.iter().any(|it| std::ptr::eq(*it, row))
    }

    /// A line for each place of each panel, and each recorded column's source; empty without any.
    pub fn text(&self, x: &str) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let curves = |of_others: bool| {
            let rows = self.rows.iter().filter(|row| (row.driver == Driver::Recorded) == of_others);
            distinct(rows.map(|row| parts(row).1))
        };
        let (ours, others) = (curves(false), curves(true));
        let heads = ["series", x].into_iter().chain(ours.iter().copied()).chain(others.iter().copied());
        let mut table = Table::new(heads);
        for (panel, unit) in distinct(self.rows.iter().map(|row| (parts(row).0, row.unit.as_str()))) {
            let of_panel: Vec<&Row> =
                self.rows.iter().copied().filter(|row| parts(row).0 == panel && row.unit == unit).collect();
            for place in distinct(of_panel.iter().map(|row| &row.x)) {
                let at = |curve: &&str| of_panel.iter().find(|row| parts(row).1 == *curve && row.x == *place);
                let none = || "none".to_owned();
                let mine =
                    |curve| at(curve).map_or(String::new(), |row| row.ours().map_or_else(none, number));
                let theirs = |curve| at(curve).and_then(|row| row.recorded()).map_or(String::new(), number);
                let names = [format!("{panel} ({unit})"), X::to_string(place)];
                let values = ours.iter().map(mine).chain(others.iter().map(theirs));
                table.line(names.into_iter().chain(values));
            }
        }
        let mut text = table.text();
        text.push_str(
            "\nRecorded columns are other programs, measured once and not run by this command:\n\n",
        );
        for curve in others {
            let row = self.rows.iter().find(|row| parts(row).1 == curve);
            text.push_str(&format!("- {curve}: {}\n", row.map_or("", |row| row.note.as_str())));
        }
        text
    }
}

/// The panel of a row, and its curve.
fn parts(row: &Row) -> (&str, &str) {
    row.series.split_once(": ").unwrap_or(("", &row.series))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [Row; 5] {
        let row = |series: &str, x: u32, value| Row::new("downloads", series, x, "s").exactly(value);
        let recorded = |x, value| {
            let row = row("seconds, 20 ms: tinyfecVPN (recorded)", x, value).note("commit abc.");
            Row { driver: Driver::Recorded, ..row }
        };
        [
            row("seconds, 20 ms: adaptive", 5, 2.5),
            row("seconds, 20 ms: adaptive", 10, 3.5),
            recorded(5, 7.5),
            row("packets, 20 ms: adaptive", 5, 1.5),
            recorded(10, 8.5),
        ]
    }

    #[test]
    fn recorded_values_stand_in_their_own_column_and_nowhere_else() {
        let rows = rows();
        let rows: Vec<&Row> = rows.iter().collect();
        let panels = Panels::of(&rows);
        let text = panels.text("loss, %");
        for line in [
            "| series | loss, % | adaptive | tinyfecVPN (recorded) |",
            "| seconds, 20 ms (s) | 5 | 2.5 | 7.5 |",
            "| seconds, 20 ms (s) | 10 | 3.5 | 8.5 |",
            "- tinyfecVPN (recorded): commit abc.",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("packets") && !panels.has(rows[3]) && panels.has(rows[0]));
    }

    #[test]
    fn rows_of_ours_alone_make_no_such_table() {
        let rows = rows();
        let rows: Vec<&Row> = rows.iter().filter(|row| row.recorded().is_none()).collect();
        assert_eq!(Panels::of(&rows).text("x"), "");
    }
}
