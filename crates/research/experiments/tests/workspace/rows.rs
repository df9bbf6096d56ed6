//! Documents agree with the kept rows, and figures beside a paper's name come from rows.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use experiments::ALL;
use experiments::documents::{self, Source};
use experiments::kept_rows::{BENCH, KeptRows};
use experiments::links::recorded::{self, MARK};
use experiments::papers;
use experiments::row::{Driver, Row, X};

use crate::workspace;

/// Pages whose own text has no figure beside a paper's name, apart from those below `docs/features` and
/// `docs/results`.
const PAGES: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "docs/results.md", "docs/experiments.md", "docs/performance.md"];

/// How documents call the papers and their systems.
const NAMES: [&str; 7] =
    ["the paper", "the letter", "REfactor", "REboost", "XBC", "MeshCache", "yte caching"];

/// Words before a number that is a name.
const BEFORE_NAMES: [&str; 5] = ["section", "sections", "version", "Linux", "uPlot"];

fn pages_in(folder: &str) -> Vec<PathBuf> {
    let folder = workspace().join(folder);
    let pages = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// The paragraphs, items and lines of tables, each line with the heads of its table; without fenced blocks.
fn paragraphs(text: &str) -> Vec<String> {
    let (mut is_code, mut heads) = (false, None);
    let mut kept = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence {
            continue;
        }
        if line.starts_with('|') {
            let heads = heads.get_or_insert(line);
            kept.push_str(&format!("\n{heads}\n{line}\n"));
        } else {
            heads = None;
            kept.push_str(if line.starts_with("- ") { "\n" } else { "" });
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.split("\n\n").map(str::to_owned).collect()
}

/// The percentages, ratios and multiples in a text, outside of code: 12%, .81, 0.8, 2.5 times, +14.
fn figures(text: &str) -> Vec<String> {
    let plain: String = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let is_figure = |index: usize| {
        let word = words[index].trim_matches(|letter: char| "()[],;:*|\"'".contains(letter));
        let digits = word.trim_end_matches(['.', '%']).trim_start_matches(['+', '-', '−']);
        let has_digits = digits.chars().any(|letter| letter.is_ascii_digit());
        let is_number =
            has_digits && digits.chars().all(|letter| letter.is_ascii_digit() || ".,–".contains(letter));
        let is_ratio = digits.split_once('.').is_some_and(|(_, rest)| !rest.is_empty());
        let is_multiple = words.get(index + 1).is_some_and(|next| next.starts_with("times"));
        // a section of a paper, a version and a standard are named by their number
        let is_name = index > 0 && BEFORE_NAMES.contains(&words[index - 1]) || digits.starts_with("802.11");
        is_number && !is_name && (word.contains('%') || is_ratio || is_multiple)
    };
    (0..words.len()).filter(|index| is_figure(*index)).map(|index| words[index].to_owned()).collect()
}

fn read(path: &PathBuf) -> String {
    documents::written(&fs::read_to_string(path).unwrap())
}

#[test]
fn documents_say_what_the_kept_rows_say() {
    let source = Source::in_folder(&workspace().join("docs/rows")).unwrap();
    let pages = documents::with_blocks(&workspace()).unwrap();
    assert!(!pages.is_empty());
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let filled = source.fill(&text).unwrap_or_else(|why| panic!("{}: {why:#}", page.display()));
        let differs = text.lines().zip(filled.lines()).find(|(there, made)| there != made);
        assert!(text == filled, "{} is stale, make it anew by `make results`: {differs:#?}", page.display());
    }
}

#[test]
fn no_figure_stands_beside_a_papers_name_but_by_rows() {
    let pages = PAGES.iter().map(|page| workspace().join(page)).chain(pages_in("docs/features"));
    let mut wrong = Vec::new();
    for page in pages {
        for paragraph in paragraphs(&read(&page)) {
            let found = figures(&paragraph);
            if NAMES.iter().any(|name| paragraph.contains(name)) && !found.is_empty() {
                let begin: String = paragraph.trim().chars().take(60).collect();
                wrong.push(format!("{}: {begin}...: {}", page.display(), found.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "take these from rows:\n{}", wrong.join("\n"));
}

#[test]
fn the_results_have_no_figures_of_their_own() {
    for page in pages_in("docs/results") {
        let found = figures(&paragraphs(&read(&page)).join("\n\n"));
        assert!(found.is_empty(), "{}: take these from rows: {found:?}", page.display());
    }
}

#[test]
fn the_results_have_every_figure_of_every_experiment() {
    let pages: Vec<String> =
        pages_in("docs/results").iter().map(|page| fs::read_to_string(page).unwrap()).collect();
    let there: BTreeSet<[&str; 2]> = pages
        .iter()
        .flat_map(|page| documents::blocks(page))
        .filter_map(|block| match block.split(' ').collect::<Vec<_>>()[..] {
            ["figure", experiment, _, figure] => Some([experiment, figure]),
            _ => None,
        })
        .collect();
    let all = ALL.iter().flat_map(|it| it.figures.iter().map(|figure| [it.id, figure.id]));
    let missing: Vec<[&str; 2]> = all.filter(|figure| !there.contains(figure)).collect();
    assert!(missing.is_empty(), "no page in docs/results has {missing:?}");
}

/// A page whose figures are all without rows shows nothing.
#[test]
fn every_page_of_results_has_measured_rows() {
    let kept = KeptRows::read(&workspace().join("docs/rows")).unwrap();
    let is_measured = |block: &str| match block.split(' ').collect::<Vec<_>>()[..] {
        ["figure", experiment, driver, figure] => {
            let mut runs = kept.of_figure(experiment, driver.parse().unwrap(), figure);
            runs.any(|run| run.rows.iter().any(|row| row.value.is_some()))
        }
        ["bench", name] => kept.of_figure(BENCH, Driver::Lab, name).next().is_some(),
        _ => false,
    };
    for page in pages_in("docs/results") {
        let text = fs::read_to_string(&page).unwrap();
        let has_rows = documents::blocks(&text).into_iter().any(is_measured);
        assert!(has_rows, "{}: no figure of this page has kept rows", page.display());
    }
}

#[test]
fn kept_rows_name_a_commit_and_figures_that_there_are() {
    let kept = KeptRows::read(&workspace().join("docs/rows")).unwrap();
    for ((experiment, driver), run) in kept.all() {
        let place = format!("{experiment} by {driver}, figure {}", run.figure);
        assert!(!run.commit.ends_with("-dirty") && !run.date.is_empty(), "{place}: {run:?}");
        assert!(!run.rows.is_empty(), "{place}");
        if experiment == BENCH {
            continue;
        }
        let experiment = ALL.iter().find(|it| it.id == experiment).expect(&place);
        assert!(experiment.figures.iter().any(|figure| figure.id == run.figure), "{place}");
    }
}

/// A kept value of a paper is the register's: unchanged, as a share, as a remainder, grown, in thousands, as
/// an end of its range, or as the quotient of two.
#[test]
fn the_papers_values_in_kept_rows_are_those_of_the_register() {
    let kept = KeptRows::read(&workspace().join("docs/rows")).unwrap();
    for ((experiment, _), run) in kept.all() {
        for row in &run.rows {
            let Some(paper) = row.paper else { continue };
            let values = |source: &str| -> Vec<f64> {
                let (name, id) = source.split_once('/').unwrap();
                let value = papers::named(name).and_then(|paper| paper.find(id));
                let value = value.unwrap_or_else(|| panic!("{experiment} {}: no value {source}", run.figure));
                match *value.content() {
                    papers::Content::Number(number) => vec![number],
                    papers::Content::Range(low, high) => vec![low, high],
                    papers::Content::Words(_) => Vec::new(),
                }
            };
            let sources: Vec<Vec<f64>> = row.paper_source.split("; ").map(values).collect();
            let is_formula = sources.iter().any(Vec::is_empty);
            let plain = |number: f64| {
                [number, number / 100.0, (100.0 - number) / 100.0, (100.0 + number) / 100.0, number * 1000.0]
            };
            let follows: Vec<f64> = match &sources[..] {
                [one] => one.iter().flat_map(|number| plain(*number)).collect(),
                [one, other] => one.iter().flat_map(|a| other.iter().map(move |b| a / b)).collect(),
                _ => Vec::new(),
            };
            let close = |value: &f64| (value - paper.get()).abs() <= 1e-7 * paper.get().abs().max(1.0);
            assert!(
                is_formula || follows.iter().any(close),
                "{experiment} {} {} {}: the row has {paper}, the register {sources:?}",
                run.figure,
                row.series,
                row.x
            );
        }
    }
}

/// The value that the file of recorded values has for a row.
fn recorded_value(row: &Row) -> Option<f64> {
    let (panel, curve) = row.series.split_once(": ")?;
    let X::Number(loss_percent) = row.x else { return None };
    file_value(&row.figure, panel, curve, loss_percent)
}

fn file_value(figure: &str, panel: &str, curve: &str, loss_percent: f64) -> Option<f64> {
    let (series, round_trip) = panel.rsplit_once(", ")?;
    let round_trip = round_trip.strip_suffix(" ms")?.parse().ok()?;
    recorded::value(curve.strip_suffix(MARK)?, (figure, series), round_trip, loss_percent as u32)
}

#[test]
fn recorded_values_in_kept_rows_are_those_of_the_file_and_neither_a_papers_nor_goals() {
    let kept = KeptRows::read(&workspace().join("docs/rows")).unwrap();
    let mut count = 0;
    for row in kept.all().flat_map(|(_, run)| &run.rows) {
        let is_recorded = row.driver == Driver::Recorded;
        assert_eq!(row.series.ends_with(MARK), is_recorded, "{row:?}");
        if is_recorded {
            count += 1;
            assert!(row.recorded().is_some() && row.recorded() == recorded_value(row), "{row:?}");
            assert!(row.paper.is_none() && row.goal.is_none() && row.ours().is_none(), "{row:?}");
        }
    }
    assert!(count > 0, "no recorded value is kept");
}

/// Cells of tables in a page's blocks, each with its line and its column's head.
fn cells(page: &str) -> Vec<(Vec<String>, String, String)> {
    let split = |line: &str| -> Vec<String> {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect()
    };
    let mut heads: Option<Vec<String>> = None;
    let mut cells = Vec::new();
    for line in page.lines() {
        match (&heads, line.starts_with("| ")) {
            (_, false) if !line.starts_with('|') => heads = None,
            (None, true) => heads = Some(split(line)),
            (Some(heads), true) => {
                let line = split(line);
                let pairs = heads.iter().zip(&line).map(|(head, cell)| (head.clone(), cell.clone()));
                cells.extend(pairs.map(|(head, cell)| (line.clone(), head, cell)).collect::<Vec<_>>());
            }
            _ => {}
        }
    }
    cells
}

#[test]
fn recorded_values_stand_in_columns_of_their_own_in_the_page() {
    let page = fs::read_to_string(workspace().join("docs/results/links.md")).unwrap();
    let mut count = 0;
    for block in page.split("<!-- rows: BEGIN figure links virtual ").skip(1) {
        let (figure, block) = block.split_once(" -->").unwrap();
        for (line, head, cell) in cells(block) {
            assert!(!line[0].contains(MARK), "a line of ours is a recorded one: {line:?}");
            if !head.ends_with(MARK) || cell.is_empty() {
                continue;
            }
            let panel = line[0].rsplit_once(" (").unwrap().0;
            let value = file_value(figure, panel, &head, line[1].parse().unwrap()).unwrap();
            // the page has three digits
            let shown: f64 = format!("{value:.2e}").parse().unwrap();
            assert_eq!(cell.parse(), Ok(shown), "{figure}, {head}: {line:?}");
            count += 1;
        }
    }
    assert!(count > 0, "the page has no recorded value");
}

#[test]
fn figures_are_found_where_they_stand() {
    assert_eq!(figures("saves 12% and (.81), 2.5 times, +14%."), ["12%", "(.81),", "2.5", "+14%."]);
    assert!(figures("`.81` of section 5.3.1, 32 MiB in 2017, RFC 8290, 802.11 of Linux 6.4").is_empty());
    assert_eq!(paragraphs("a\n```\n.5\n```\nb\n- c\n- d").len(), 3);
    let table = paragraphs("| | the paper |\n|---|---|\n| a | 12% |");
    assert!(table.iter().any(|line| line.contains("the paper") && line.contains("12%")));
}
