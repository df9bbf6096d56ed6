//! Tables and figures for people to read.

use std::io::{self, Write};
use std::time::Duration;

/// A table with a head; columns are as wide as their widest cell, the first is left-aligned.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With the names of the columns.
    pub fn new(head: &[&str]) -> Self {
        Table { rows: vec![head.iter().map(|name| name.to_uppercase()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Prints it.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let width = *width;
                line += &if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Bytes, in decimal units.
pub fn bytes(count: u64) -> String {
    let mut value = count as f64;
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// A time, in its two largest units.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["peer", "sent"]);
        table.row(["roof".to_owned(), "12.3 MB".to_owned()]);
        table.row(["x".to_owned(), "1 B".to_owned()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "PEER     SENT\nroof  12.3 MB\nx         1 B\n");
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [bytes(0), bytes(999), bytes(1000), bytes(999_999), bytes(12_345_678)].join(" "),
            "0 B 999 B 1.0 kB 1.0 MB 12.3 MB"
        );
        let times = [5, 65, 3_725, 90_000].map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(times.join(", "), "5 s, 1 min 5 s, 1 h 2 min, 1 d 1 h");
    }
}
