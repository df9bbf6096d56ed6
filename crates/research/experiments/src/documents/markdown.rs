//! Tables in Markdown.

/// A table without its empty columns.
pub(super) struct Table {
    heads: Vec<String>,
    lines: Vec<Vec<String>>,
}

impl Table {
    pub fn new<H: Into<String>>(heads: impl IntoIterator<Item = H>) -> Self {
        Self { heads: heads.into_iter().map(Into::into).collect(), lines: Vec::new() }
    }

    pub fn line(&mut self, cells: impl IntoIterator<Item = String>) {
        self.lines.push(cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub fn text(&self) -> String {
        let is_filled = |column: &usize| {
            *column == 0
                || self.lines.iter().any(|line| line.get(*column).is_some_and(|cell| !cell.is_empty()))
        };
        let columns: Vec<usize> = (0..self.heads.len()).filter(is_filled).collect();
        let line = |cells: &[String]| {
            let cells = columns.iter().map(|column| cells.get(*column).map_or("", String::as_str));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let rule = format!("|{}\n", "---|".repeat(columns.len()));
        let lines: String = self.lines.iter().map(|cells| line(cells)).collect();
        line(&self.heads) + &rule + &lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_which_nothing_stands_are_left_out() {
        let mut table = Table::new(["a", "b", "c"]);
        table.line(["1", "", "x|y"].map(str::to_owned));
        table.line(["", "", "3"].map(str::to_owned));
        assert_eq!(table.text(), "| a | c |\n|---|---|\n| 1 | x\\|y |\n|  | 3 |\n");
    }
}
