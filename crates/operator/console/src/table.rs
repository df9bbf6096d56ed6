//! Tables as text.

use std::io::{self, Write};

pub use dashboard::figures::{bytes, duration};

/// A row of a table. [`row`](crate::row) makes one from a struct.
pub trait Row {
    /// The names of the fields, one a column.
    const FIELDS: &'static [&'static str];

    /// The cells, one a column.
    fn cells(self) -> Vec<String>;
}

/// Makes a struct a [`Row`]: each field is a column, and its name with spaces is the heading. The comment of
/// the struct introduces the table in docs/reference/status.md, and that of a field explains its column.
#[macro_export]
macro_rules! row {
    ($(#[$of_row:meta])* struct $Row:ident { $($(#[$of_cell:meta])* $cell:ident: String,)* }) => {
        $(#[$of_row])*
        struct $Row {
            $($(#[$of_cell])* $cell: String,)*
        }

        impl $crate::Row for $Row {
            const FIELDS: &'static [&'static str] = &[$(stringify!($cell)),*];

            fn cells(self) -> Vec<String> {
                vec![$(self.$cell),*]
            }
        }
    };
}

/// A table with a header. Columns are as wide as their widest cell; the first one is left-aligned.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column names.
    pub fn new(head: &[&str]) -> Self {
        Table { rows: vec![head.iter().map(|name| name.to_uppercase()).collect()] }
    }

    /// With these rows, and their fields as columns.
    pub fn of<R: Row>(rows: impl IntoIterator<Item = R>) -> Self {
        let headings: Vec<String> = R::FIELDS.iter().map(|name| name.replace('_', " ")).collect();
        let mut table = Table::new(&headings.iter().map(String::as_str).collect::<Vec<_>>());
        rows.into_iter().for_each(|row| table.row(row.cells()));
        table
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

    crate::row! {
        /// A peer.
        struct PeerRow {
            /// Its name.
            peer: String,
            /// Bytes.
            not_sent_again: String,
        }
    }

    #[test]
    fn fields_are_columns() {
        let row = PeerRow { peer: "roof".to_owned(), not_sent_again: "1 B".to_owned() };
        let mut out = Vec::new();
        Table::of([row]).write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "PEER  NOT SENT AGAIN\nroof             1 B\n");
    }
}
