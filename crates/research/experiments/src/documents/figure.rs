//! The block of a figure: the paper's values, our goals and ours, and all other rows.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use super::Source;
use super::markdown::Table;
use super::number::number;
use super::recorded::Panels;
use crate::experiment::Experiment;
use crate::kept_rows::{self, KeptRun, Origin};
use crate::papers::{self, Read};
use crate::row::{Driver, Row, X};

/// Places on an axis that a table shows at most.
const PLACES: usize = 12;
/// Lines that a table shows at most where the axis runs down.
const LINES: usize = 16;

/// The rows of a figure as tables, or the command that gives them.
pub(super) fn block(source: &Source, experiment: &str, driver: Driver, figure: &str) -> Result<String> {
    let experiment = self::experiment(experiment)?;
    let figure = *experiment.chosen(&[figure.to_owned()])?.first().context("no such figure")?;
    let kept = source.rows.of(experiment.id, driver);
    let runs: Vec<&KeptRun> = source.rows.of_figure(experiment.id, driver, figure.id).collect();
    let whole = whole(source, experiment, driver, figure, kept)?;
    if runs.is_empty() {
        return Ok(format!("*{}.* **Not run.** {whole}", figure.title));
    }
    let mut text = format!("*{}.*\n\n", figure.title);
    for run in &runs {
        text.push_str(&provenance(run, driver));
    }
    if runs.iter().any(|run| run.quick || run.partial) {
        text.push_str(&format!("- The whole figure: {whole}\n"));
    }
    let rows: Vec<&Row> = runs.iter().flat_map(|run| &run.rows).collect();
    let is_compared = |row: &Row| row.paper.is_some() || row.goal.is_some();
    let compared: Vec<&Row> = rows.iter().copied().filter(|row| is_compared(row)).collect();
    // A series that is partly not compared is complete in the second table.
    let is_beyond = |row: &Row| rows.iter().any(|it| it.series == row.series && !is_compared(it));
    let panels = Panels::of(&rows);
    let others: Vec<&Row> = rows.iter().copied().filter(|row| is_beyond(row) && !panels.has(row)).collect();
    if compared.is_empty() {
        text.push_str("- No row is the same quantity as a value that a paper prints, and none has a goal.\n");
    }
    let tables =
        [beside(&compared, figure.x), matrix(&others, figure.x)].map(|table| match table.is_empty() {
            true => String::new(),
            false => table.text(),
        });
    let [beside, matrix] = tables;
    for table in [beside, panels.text(figure.x), matrix].iter().filter(|table| !table.is_empty()) {
        text.push('\n');
        text.push_str(table);
    }
    Ok(text)
}

/// The experiment with this id.
pub(super) fn experiment(id: &str) -> Result<&'static Experiment> {
    crate::ALL.into_iter().find(|it| it.id == id).context("no such experiment")
}

/// The command of the whole figure, and its duration.
fn whole(
    source: &Source,
    experiment: &Experiment,
    driver: Driver,
    figure: crate::figure::Figure,
    kept: &[KeptRun],
) -> Result<String> {
    let command = kept_rows::command(experiment, driver, figure.id);
    Ok(format!("`{command}`. {}", source.extents.cost(figure, driver, kept)?))
}

/// What gave rows, as an item of a list.
pub(super) fn provenance(run: &KeptRun, driver: Driver) -> String {
    let extent = match (run.quick, run.partial) {
        (true, _) => "quick form: a few cells and seeds",
        (false, true) => "some runs of the figure",
        (false, false) => "whole",
    };
    let seeds: BTreeSet<u32> = run.rows.iter().map(|row| row.seeds).filter(|seeds| *seeds > 0).collect();
    let seeds = match (seeds.first(), seeds.last()) {
        (Some(least), Some(most)) if least == most => format!(", seeds: {least}"),
        (Some(least), Some(most)) => format!(", seeds: {least} to {most}"),
        _ => String::new(),
    };
    let contents = match run.contents {
        Origin::Made => "contents that the project makes",
        Origin::DataFolder => "**contents of a folder that not everybody has**",
    };
    let clock = match driver {
        Driver::Lab => ", by the clock of one machine",
        Driver::Qemu => ", in the time of an emulated processor",
        _ => "",
    };
    let kernel = if run.kernel == "none" { String::new() } else { format!(" ({})", run.kernel) };
    format!(
        "- `{}`: {extent}{seeds}; `{driver}`{kernel}{clock}; commit {}, {}; {contents}.\n",
        run.command, run.commit, run.date
    )
}

/// The papers' values and our goals beside ours, a line for each row.
fn beside(rows: &[&Row], x: &str) -> Table {
    let mut table = Table::new([
        "series",
        x,
        "the paper",
        "place in the paper",
        "our goal",
        "ours",
        "95% interval",
        "unit",
    ]);
    for row in rows {
        table.line([
            row.series.clone(),
            row.x.to_string(),
            row.paper.map_or_else(String::new, |paper| number(paper.get())),
            place(&row.paper_source),
            row.goal.map_or_else(String::new, number),
            row.value.map_or_else(|| "no run gave it".to_owned(), number),
            interval(row),
            row.unit.clone(),
        ]);
    }
    table
}

/// The paper's places of the values from which another one follows.
pub(super) fn place(sources: &str) -> String {
    let place = |source: &str| {
        let (paper, id) = source.split_once('/')?;
        let value = papers::named(paper)?.find(id)?;
        let how = match value.read() {
            Read::Printed => "",
            Read::Plot => ", read from a drawing",
            Read::Computed => ", computed",
        };
        Some(format!("{}{how}", value.place()))
    };
    let mut places: Vec<String> = sources.split("; ").filter_map(place).collect();
    places.dedup();
    places.join("; ")
}

pub(super) fn interval(row: &Row) -> String {
    match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        _ => String::new(),
    }
}

/// Rows without values to compare: a line for each series, or for each place where there are many.
pub(super) fn matrix(rows: &[&Row], x: &str) -> Table {
    let series = distinct(rows.iter().map(|row| (&row.series, &row.unit)));
    let places = distinct(rows.iter().map(|row| &row.x));
    let value = |series: &(&String, &String), x: &X| {
        let is_it = |row: &&&Row| (&row.series, &row.unit) == *series && row.x == *x;
        let found = rows.iter().find(is_it);
        found.map_or_else(String::new, |row| row.value.map_or_else(|| "none".to_owned(), number))
    };
    let name = |(series, unit): &(&String, &String)| format!("{series} ({unit})");
    if places.len() <= PLACES || series.len() > PLACES {
        let shown = thinned(&places, PLACES);
        let heads = shown.iter().map(|x| x.to_string());
        let mut table =
            Table::new(std::iter::once(format!("series, by {x}{}", left_out(&places, &shown))).chain(heads));
        for series in &series {
            table.line(std::iter::once(name(series)).chain(shown.iter().map(|x| value(series, x))));
        }
        return table;
    }
    let shown = thinned(&places, LINES);
    let head = format!("{x}{}", left_out(&places, &shown));
    let mut table = Table::new(std::iter::once(head).chain(series.iter().map(name)));
    for x in shown {
        table.line(std::iter::once(x.to_string()).chain(series.iter().map(|series| value(series, x))));
    }
    table
}

fn left_out<T>(all: &[T], shown: &[T]) -> String {
    if all.len() == shown.len() {
        String::new()
    } else {
        format!(" ({} of {} places)", shown.len(), all.len())
    }
}

/// At most `most`, evenly chosen, with the first and the last.
fn thinned<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    if all.len() <= most {
        return all.to_vec();
    }
    (0..most).map(|index| all[index * (all.len() - 1) / (most - 1)]).collect()
}

pub(super) fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for it in all {
        if !distinct.contains(&it) {
            distinct.push(it);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_axis_is_thinned_and_says_so() {
        let rows: Vec<Row> = (0..100).map(|x| Row::new("1", "a", f64::from(x), "s").exactly(2.0)).collect();
        let text = matrix(&rows.iter().collect::<Vec<_>>(), "packet").text();
        assert!(text.starts_with("| packet (16 of 100 places) | a (s) |\n"), "{text}");
        assert!(text.contains("| 0 | 2 |") && text.contains("| 99 | 2 |"), "{text}");
        assert_eq!(text.lines().count(), 18);
    }

    #[test]
    fn a_place_says_how_its_value_was_read() {
        let printed = "byte-caching/section-6/bytes-saved-no-loss";
        assert_eq!(place(printed), "Section VI, paragraph 3");
        assert_eq!(place(&format!("{printed}; {printed}")), "Section VI, paragraph 3");
        assert_eq!(place(""), "");
    }
}
