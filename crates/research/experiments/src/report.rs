//! The report: one HTML file that needs nothing else, our curves beside the paper's.

mod chart;
mod page;

pub use crate::claim::Claim;
pub use page::STYLE;

use serde::{Deserialize, Serialize};

use crate::experiment::Experiment;
use crate::row::{Driver, Row, X};

/// What stands above everything.
#[derive(Debug, Clone)]
pub struct Heading {
    /// The reproduced subject.
    pub title: String,
    /// Its source.
    pub source: String,
    /// What ran it.
    pub ran: Vec<Ran>,
    /// The state of the project, as git describes it.
    pub commit: String,
}

/// That an experiment was run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ran {
    /// By this driver.
    pub driver: Driver,
    /// The kernel of the TCP.
    pub kernel: String,
    /// How long it took, in seconds.
    pub took_seconds: f64,
}

/// A figure or table with its rows.
#[derive(Debug, Clone)]
pub struct Section {
    /// The figure's id.
    pub id: String,
    /// The figure's title.
    pub title: String,
    /// The measurement, its method, and its differences from the paper.
    pub remark: String,
    /// The quantity on the horizontal axis.
    pub x: String,
    /// The rows.
    pub rows: Vec<Row>,
}

/// Writes the report.
#[must_use]
pub fn html(heading: &Heading, claims: &[Claim], sections: &[Section]) -> String {
    page::html(heading, claims, sections)
}

/// The first chart of an experiment's report that has the paper's values beside ours, or the first at all;
/// and the title of its figure.
#[must_use]
pub fn first_chart(experiment: &Experiment, rows: &[Row]) -> Option<(&'static str, String)> {
    let first = |is_meant: fn(&Panel<'_>) -> bool| {
        experiment.figures.iter().find_map(|figure| {
            let rows: Vec<Row> = rows.iter().filter(|row| row.figure == figure.id).cloned().collect();
            let panels = panels(&rows);
            let mut charts = panels.iter().filter(|it| it.is_worth_a_chart() && it.constant().is_none());
            Some((figure.title, chart::svg(charts.find(|panel| is_meant(panel))?, figure.x)?))
        })
    };
    first(|panel| panel.has_the_papers()).or_else(|| first(|_| true))
}

/// The rows of a section that belong into one chart: those of one panel with one unit.
struct Panel<'a> {
    /// Its quantity; empty if series name it.
    name: &'a str,
    unit: &'a str,
    curves: Vec<Curve<'a>>,
}

/// The rows of one series.
struct Curve<'a> {
    name: &'a str,
    rows: Vec<&'a Row>,
}

/// Sorts rows into panels and curves, in the order in which they first appear.
fn panels(rows: &[Row]) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for row in rows {
        let (name, curve_name) = row.series.split_once(": ").unwrap_or(("", &row.series));
        let panel = match panels.iter().position(|panel| panel.name == name && panel.unit == row.unit) {
            Some(index) => &mut panels[index],
            None => {
                panels.push(Panel { name, unit: &row.unit, curves: Vec::new() });
                panels.last_mut().expect("one was pushed")
            }
        };
        match panel.curves.iter_mut().find(|curve| curve.name == curve_name) {
            Some(curve) => curve.rows.push(row),
            None => panel.curves.push(Curve { name: curve_name, rows: vec![row] }),
        }
    }
    panels
}

impl Panel<'_> {
    /// The quantity with its unit.
    fn label(&self) -> String {
        match self.name {
            "" => self.unit.to_owned(),
            name => format!("{name} ({})", self.unit),
        }
    }

    /// The places on the horizontal axis, if they are names: a scale of their own.
    fn names(&self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for row in self.curves.iter().flat_map(|curve| &curve.rows) {
            let X::Name(name) = &row.x else { return None };
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Some(names)
    }

    fn measured(&self) -> impl Iterator<Item = (&Row, f64)> {
        let rows = self.curves.iter().flat_map(|curve| &curve.rows);
        rows.filter_map(|row| Some((*row, row.value?)))
    }

    /// Whether the paper's values stand beside ours.
    fn has_the_papers(&self) -> bool {
        self.curves.iter().flat_map(|curve| &curve.rows).any(|row| row.paper.is_some())
    }

    /// Whether there is anything that a chart shows better than a table.
    fn is_worth_a_chart(&self) -> bool {
        let mut places: Vec<&X> = self.measured().map(|(row, _)| &row.x).collect();
        places.dedup();
        places.len() > 1
    }

    /// What all values are, where they do not differ and the paper has none: a line to be read rather than a
    /// chart.
    fn constant(&self) -> Option<f64> {
        let mut measured = self.measured();
        let (_, first) = measured.next()?;
        (!self.has_the_papers() && measured.all(|(_, value)| value == first)).then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Estimate;
    use crate::papers::{self, Stated};

    fn stated() -> Stated {
        papers::BYTE_CACHING.value("section-6/bytes-saved-no-loss").number().left()
    }

    fn section() -> Section {
        let estimate = |value| Some(Estimate { value, interval: Some((value - 0.1, value + 0.1)) });
        let row = |series: &str, x: f64, value: f64| {
            Row::new("10", series, x, "ratio").measured(estimate(value), Driver::Virtual, 5)
        };
        Section {
            id: "10".to_owned(),
            title: "Bytes <sent>".to_owned(),
            remark: "A remark & more.".to_owned(),
            x: "loss, %".to_owned(),
            rows: vec![
                row("file 1: acked", 0.0, 0.6),
                row("file 1: acked", 5.0, 0.7),
                row("file 1: cache-flush", 0.0, 0.6).paper(stated()).goal(0.57),
                row("file 2: acked", 0.0, 0.8),
            ],
        }
    }

    #[test]
    fn rows_are_sorted_into_panels_and_curves() {
        let section = section();
        let panels = panels(&section.rows);
        assert_eq!(panels.iter().map(|panel| panel.name).collect::<Vec<_>>(), ["file 1", "file 2"]);
        assert_eq!(panels[0].curves.len(), 2);
        assert_eq!(panels[0].curves[0].rows.len(), 2);
        assert!(panels[0].is_worth_a_chart() && !panels[1].is_worth_a_chart());
    }

    #[test]
    fn what_is_the_same_everywhere_is_said_and_not_drawn() {
        let mut section = section();
        section.rows.retain(|row| row.series == "file 1: acked");
        assert_eq!(panels(&section.rows)[0].constant(), None);
        section.rows.iter_mut().for_each(|row| row.value = Some(1.0));
        assert_eq!(panels(&section.rows)[0].constant(), Some(1.0));
        section.rows[0].paper = Some(stated());
        assert_eq!(panels(&section.rows)[0].constant(), None, "the paper's is to be seen beside it");
    }

    #[test]
    fn long_names_stand_below_each_other_the_first_on_top() {
        let names = ["nothing at all", "everything but the one", "everything there is, together"];
        let row = |name: &&str| Row::new("1", "waited", *name, "s").exactly(2.0);
        let rows: Vec<Row> = names.iter().map(row).collect();
        let svg = chart::svg(&panels(&rows)[0], "what is on").unwrap();
        let height = |name: &&str| -> u32 {
            let before = svg.split(&format!("\n{name}\n")).next().unwrap();
            let y = before.rsplit("<text").next().unwrap().split(" y=\"").nth(1).unwrap();
            y.split('"').next().unwrap().parse().unwrap()
        };
        let heights: Vec<u32> = names.iter().map(height).collect();
        assert!(heights.windows(2).all(|pair| pair[0] + 12 <= pair[1]), "{heights:?}");
    }

    #[test]
    fn a_recorded_value_stands_in_a_column_that_other_reports_do_not_have() {
        let heading = Heading {
            title: "A paper".to_owned(),
            source: "Somebody, 2012".to_owned(),
            ran: Vec::new(),
            commit: "abc".to_owned(),
        };
        let cells = |section: Section| {
            let html = html(&heading, &[], &[section]);
            let table = html.split_once("<th>Series</th>").unwrap().1;
            let cells = table.split("<td class=\"number\">").skip(1);
            (table.contains("Recorded"), cells.map(|it| it.split('<').next().unwrap().to_owned()).collect())
        };
        let others: (bool, Vec<String>) = cells(section());
        assert!(!others.0 && others.1.starts_with(&["0", "0.600"].map(str::to_owned)));
        let mut section = section();
        section.rows.truncate(1);
        section.rows[0] = Row { driver: Driver::Recorded, ..section.rows[0].clone() };
        let (has_column, cells) = cells(section);
        assert!(has_column && cells[1].is_empty() && cells[5] == "0.600", "{cells:?}");
    }

    #[test]
    fn a_report_needs_nothing_from_anywhere_and_escapes_what_it_shows() {
        let heading = Heading {
            title: "A paper".to_owned(),
            source: "Somebody, 2012".to_owned(),
            ran: vec![Ran { driver: Driver::Virtual, kernel: "a kernel".to_owned(), took_seconds: 61.0 }],
            commit: "abc".to_owned(),
        };
        let claim = Claim::judged("it works", vec!["0.6 < 0.7".to_owned()], true);
        let html = html(&heading, &[claim], &[section()]);
        for wanted in [
            "<svg",
            "Bytes &lt;sent&gt;",
            "A remark &amp; more.",
            "cache-flush",
            "0.55",
            "0.57",
            "a kernel",
            "passed",
        ] {
            assert!(html.contains(wanted), "{wanted}");
        }
        for foreign in ["src=", "href=\"http", "<script", "@import", "url("] {
            assert!(!html.contains(foreign), "{foreign}");
        }
    }
}
