//! Documents whose tables are made from kept rows.
//!
//! A document has blocks between `<!-- rows: BEGIN KIND ... -->` and `<!-- rows: END -->`:
//!
//! - `figure EXPERIMENT DRIVER FIGURE`: all rows of a figure, or the command that gives them; recorded values
//!   of other programs have columns of their own;
//! - `claims EXPERIMENT DRIVER`: each claim, judged on the kept rows, with its cause from `causes.toml`;
//! - `bench NAME`: the rows of a benchmark;
//! - `table NAME`: the lines of a table that `tables.toml` beside the rows chooses.

mod bench;
mod chosen;
mod claims;
mod extent;
mod figure;
mod markdown;
mod number;
mod recorded;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::kept_rows::KeptRows;
use chosen::Tables;
use claims::Causes;
use extent::Extents;

const BEGIN: &str = "<!-- rows: BEGIN ";
const END: &str = "<!-- rows: END -->";

/// What blocks are made of.
pub struct Source {
    rows: KeptRows,
    tables: Tables,
    causes: Causes,
    extents: Extents,
}

impl Source {
    /// From the folder of kept rows.
    ///
    /// # Errors
    ///
    /// When a file there is wrong, or contents cannot be made.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let rows = KeptRows::read(folder)?;
        let tables = Tables::read(&folder.join("tables.toml"))?;
        let causes = Causes::read(&folder.join("causes.toml"))?;
        Ok(Self { rows, tables, causes, extents: Extents::new()? })
    }

    /// The document with its blocks made anew.
    ///
    /// # Errors
    ///
    /// When a block has no end, or names nothing that there is.
    pub fn fill(&self, document: &str) -> Result<String> {
        let mut rest = document;
        let mut filled = String::new();
        while let Some((before, block)) = rest.split_once(BEGIN) {
            let (what, block) = block.split_once(" -->\n").context("the beginning of a block has no end")?;
            let (old, after) = block.split_once(END).with_context(|| format!("block {what} has no end"))?;
            ensure!(!old.contains(BEGIN), "block {what} has no end before the next one");
            let made = self.block(what).with_context(|| format!("block {what}"))?;
            filled.push_str(&format!("{before}{BEGIN}{what} -->\n\n{}\n\n{END}", made.trim()));
            rest = after;
        }
        ensure!(!rest.contains(END), "there is an end without a block");
        filled.push_str(rest);
        Ok(filled)
    }

    fn block(&self, what: &str) -> Result<String> {
        match what.split_whitespace().collect::<Vec<_>>()[..] {
            ["figure", experiment, driver, figure] => {
                figure::block(self, experiment, driver.parse().map_err(anyhow::Error::msg)?, figure)
            }
            ["claims", experiment, driver] => {
                let driver = driver.parse().map_err(anyhow::Error::msg)?;
                claims::block(&self.rows, &self.causes, figure::experiment(experiment)?, driver)
            }
            ["bench", name] => Ok(bench::block(&self.rows, name)),
            ["table", name] => self.tables.block(name, &self.rows),
            _ => bail!(
                "there are blocks `figure EXPERIMENT DRIVER FIGURE`, `claims EXPERIMENT DRIVER`, `bench NAME` and `table NAME`"
            ),
        }
    }
}

/// A document without its blocks: what people wrote.
#[must_use]
pub fn written(document: &str) -> String {
    let mut parts = document.split(BEGIN);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        written.push_str(part.split_once(END).map_or("", |(_, after)| after));
    }
    written
}

/// The documents of a project that have blocks: pages in its folder and anywhere below `docs`.
///
/// # Errors
///
/// When a folder or a page cannot be read.
pub fn with_blocks(project: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![project.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            let is_below_docs = folder != project || path.file_name().is_some_and(|name| name == "docs");
            if path.is_dir() && is_below_docs {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md")
                && fs::read_to_string(&path)?.contains(BEGIN)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What the blocks of a document are of.
#[must_use]
pub fn blocks(document: &str) -> Vec<&str> {
    document.split(BEGIN).skip(1).filter_map(|part| Some(part.split_once(" -->")?.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept_rows::{BENCH, KeptRun, Origin};
    use crate::papers;
    use crate::row::{Driver, Row};

    /// A run of Table II without rows.
    fn run() -> KeptRun {
        let command = "overheard-lab experiment byte-caching --figure table-2 --quick".to_owned();
        KeptRun { command, ..KeptRun::sample("table-2", Vec::new()) }
    }

    fn source(value: f64) -> (tempfile::TempDir, Source) {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptRows::read(folder.path()).unwrap();
        let paper = papers::BYTE_CACHING.value("table-2/tcp-seq/bytes/loss-5").number();
        let row = Row::new("table-2", "bytes: tcp-seq", 5.0, "ratio").exactly(value).paper(paper);
        let plain = Row::new("table-2", "bytes: acked", 5.0, "ratio").exactly(0.25);
        let run = KeptRun { rows: vec![row, plain], ..run() };
        kept.keep("byte-caching", Driver::Virtual, vec![run]).unwrap();
        fs::write(folder.path().join("tables.toml"), TABLES).unwrap();
        let source = Source::in_folder(folder.path()).unwrap();
        (folder, source)
    }

    const TABLES: &str = "
[[summary]]
what = \"bytes by those of no removal\"
rows = \"byte-caching virtual table-2\"
series = \"bytes: tcp-seq\"
x = 5
[[summary]]
what = \"throughput\"
rows = \"xbc virtual 6\"
series = \"mean\"
x = 2
paper = \"xbc/section-5.d/gain\"
[[summary]]
what = \"load\"
rows = \"meshcache virtual 14\"
series = \"gateway load\"
x = \"PH-BCP\"
paper = \"meshcache/section-1/testbed-gateway\"
paper_as = \"left\"
";

    const DOCUMENT: &str = "\
Before.\n<!-- rows: BEGIN figure byte-caching virtual table-2 -->\nold\n<!-- rows: END -->\nBetween.\n\
<!-- rows: BEGIN table summary -->\n<!-- rows: END -->\nAfter.\n";

    #[test]
    fn a_block_shows_the_papers_value_its_place_and_ours_with_what_gave_it() {
        let (_folder, source) = source(0.123_456);
        let filled = source.fill(DOCUMENT).unwrap();
        for wanted in [
            "Before.\n",
            "| bytes: tcp-seq | 5 | 0.7",
            "| Table II",
            "| 0.123 |",
            "commit abc1234",
            "--figure table-2 --quick`",
            "| bytes: acked (ratio) | 0.25 |",
            "| bytes by those of no removal | ",
            "not run",
            "5 to 20%",
            "| load | 0.62 | Section 1",
            "After.\n",
        ] {
            assert!(filled.contains(wanted), "{wanted}\n{filled}");
        }
        assert!(!filled.contains("old"));
        assert_eq!(source.fill(&filled).unwrap(), filled, "a document that is made stays as it is");
        assert_eq!(blocks(&filled), ["figure byte-caching virtual table-2", "table summary"]);
        assert_eq!(written(&filled), "Before.\n\nBetween.\n\nAfter.\n");
    }

    #[test]
    fn another_value_makes_another_document() {
        let (_folder, source_of_one) = source(0.123_456);
        let (_other, source_of_another) = source(0.654_321);
        let filled = source_of_one.fill(DOCUMENT).unwrap();
        assert_ne!(source_of_another.fill(&filled).unwrap(), filled);
    }

    #[test]
    fn a_figure_without_rows_says_how_to_run_it() {
        let (_folder, source) = source(1.0);
        let made = source.block("figure byte-caching virtual 10").unwrap();
        assert!(made.contains("**Not run.**"), "{made}");
        assert!(made.contains("`overheard-lab experiment byte-caching --figure 10`"), "{made}");
        assert!(made.contains("core-hours"), "{made}");
    }

    #[test]
    fn a_benchmark_has_its_rows_and_the_machine() {
        let (folder, source) = source(1.0);
        assert!(source.block("bench codec").unwrap().contains("**Not run.**"));
        let row = Row::new("codec", "encode", "median", "Gbit/s").exactly(2.5);
        let mut kept = source.rows;
        let run = KeptRun { figure: "codec".to_owned(), rows: vec![row], ..run() };
        kept.keep(BENCH, Driver::Lab, vec![run]).unwrap();
        let made = Source::in_folder(folder.path()).unwrap().block("bench codec").unwrap();
        for wanted in ["by the clock of one machine", "a kernel", "| encode (Gbit/s) | 2.5 |"] {
            assert!(made.contains(wanted), "{wanted}\n{made}");
        }
    }

    #[test]
    fn rows_of_contents_that_not_everybody_has_are_marked() {
        let (folder, source) = source(1.0);
        let mut kept = source.rows;
        let row = Row::new("10", "a", 1.0, "s").exactly(2.5);
        let run = KeptRun { figure: "10".to_owned(), contents: Origin::DataFolder, rows: vec![row], ..run() };
        kept.keep("byte-caching", Driver::Virtual, vec![run]).unwrap();
        let source = Source::in_folder(folder.path()).unwrap();
        let marked = |figure: &str| {
            source
                .block(&format!("figure byte-caching virtual {figure}"))
                .unwrap()
                .contains("not everybody has")
        };
        assert!(marked("10") && !marked("table-2"));
    }

    #[test]
    fn a_line_of_a_series_that_no_row_has_is_refused() {
        let (folder, _) = source(1.0);
        let tables = TABLES.replace("bytes: tcp-seq", "bytes: tcp-sea");
        fs::write(folder.path().join("tables.toml"), tables).unwrap();
        let why = Source::in_folder(folder.path()).unwrap().block("table summary").unwrap_err();
        assert!(why.to_string().contains("tcp-sea"), "{why}");
    }

    #[test]
    fn a_block_of_nothing_is_refused() {
        let (_folder, source) = source(1.0);
        for wrong in ["figure byte-caching virtual 99", "figure nobody sim 1", "table nothing", "rows"] {
            assert!(source.block(wrong).is_err(), "{wrong}");
        }
        assert!(source.fill("<!-- rows: BEGIN table summary -->\n").is_err());
        assert!(source.fill("<!-- rows: END -->\n").is_err());
    }
}
