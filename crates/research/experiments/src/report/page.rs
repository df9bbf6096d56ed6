//! The page around the charts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Claim, Heading, Section, chart, panels};
use crate::row::Row;

/// Style of the pages.
pub const STYLE: &str = "\
body { font: 15px/1.45 sans-serif; max-width: 72em; margin: 2em auto; padding: 0 1em; color: #222 }
h1, h2, h3 { line-height: 1.2 } h2 { margin-top: 2.5em; border-top: 1px solid #ccc; padding-top: 1em }
table { border-collapse: collapse; font-size: 13px } th, td { padding: .2em .7em; text-align: left; vertical-align: top }
tr:nth-child(even) { background: #f4f4f4 } td.number { text-align: right; font-variant-numeric: tabular-nums }
.passed { color: #00703c; font-weight: bold } .short { color: #b00020; font-weight: bold } .unmeasured { color: #777 }
.narrow { white-space: nowrap } .about { color: #555; font-size: 13px } svg { max-width: 100%; height: auto } figure { margin: 1em 0 }
details { margin: .7em 0 } summary { cursor: pointer; color: #0050a0 }";

/// The whole page.
pub fn html(heading: &Heading, claims: &[Claim], sections: &[Section]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (heading.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (heading.title) }
                p { (heading.source) }
                p.about {
                    @for ran in &heading.ran {
                        "Run by " (ran.driver) " in " (format!("{:.0}", ran.took_seconds)) " s (kernel: " (ran.kernel) "). "
                    }
                    "Commit: " (heading.commit) ". In charts, vertical strokes are 95% confidence \
                     intervals and rings are values that the paper's text or tables state."
                }
                @if !claims.is_empty() { (summary(claims)) }
                @for part in sections { (section(part, heading)) }
            }
        }
    };
    page.into_string()
}

/// What must show, and whether it does.
fn summary(claims: &[Claim]) -> Markup {
    html! {
        h2 { "What must show" }
        table {
            tr { th { "Claim" } th { "Found" } th {} }
            @for claim in claims {
                tr {
                    td {
                        (claim.claim)
                        @if !claim.series.is_empty() { br; span.about { (claim.series.join("; ")) } }
                    }
                    td { (claim.found) }
                    @match claim.holds {
                        Some(true) => { td.passed { "passed" } }
                        Some(false) => { td.short { "short" } }
                        None => { td.unmeasured { "not asked for" } }
                    }
                }
            }
        }
    }
}

fn section(section: &Section, heading: &Heading) -> Markup {
    let seeds = section.rows.iter().map(|row| row.seeds).max().unwrap_or(0);
    let mut notes: Vec<&str> = Vec::new();
    for note in section.rows.iter().flat_map(|row| row.note.split("; ")) {
        if note.starts_with("content: ") && !notes.contains(&note) {
            notes.push(note);
        }
    }
    html! {
        h2 id=(section.id) { (label(&section.id)) ": " (section.title) }
        p { (section.remark) }
        p.about {
            @if seeds > 0 { "Seeds 1 to " (seeds) ", " (kernels(section, heading)) ", " } @else { "Offline, " }
            "commit " (heading.commit) "."
            @for note in &notes { " " (capitalised(note)) "." }
        }
        @for panel in panels(&section.rows).iter().filter(|panel| panel.is_worth_a_chart()) {
            @if let Some(value) = panel.constant() {
                p { (capitalised(&panel.label())) ": " (number(Some(value))) " everywhere." }
            } @else if let Some(svg) = chart::svg(panel, &section.x) {
                figure { (PreEscaped(svg)) }
            }
        }
        details {
            summary { "All " (section.rows.len()) " rows" }
            (table(&section.rows, &section.x))
        }
    }
}

/// The kernels of a section's TCP.
fn kernels(section: &Section, heading: &Heading) -> String {
    let of_section = |ran: &&super::Ran| section.rows.iter().any(|row| row.driver == ran.driver);
    let kernels: Vec<&str> = heading.ran.iter().filter(of_section).map(|ran| ran.kernel.as_str()).collect();
    kernels.join(", ")
}

fn table(rows: &[Row], x: &str) -> Markup {
    let has_others = rows.iter().any(|row| row.recorded().is_some());
    html! {
        table {
            tr {
                th { "Series" } th { (x) } th { "Ours" } th { "95% interval" } th { "Paper" } th { "Our goal" }
                @if has_others { th { "Recorded" } }
                th { "Unit" } th { "Driver" } th { "Seeds" } th { "Note" }
            }
            @for row in rows {
                tr {
                    td { (row.series) }
                    td.number { (row.x) }
                    td.number { @if row.recorded().is_none() { (number(row.value)) } }
                    td.number { @if let (Some(low), Some(high)) = (row.low, row.high) {
                        (number(Some(low))) " – " (number(Some(high)))
                    } }
                    td.number { (row.paper.map_or(String::new(), |paper| paper.to_string())) }
                    td.number { (row.goal.map_or(String::new(), |goal| goal.to_string())) }
                    @if has_others { td.number { @if row.recorded().is_some() { (number(row.value)) } } }
                    td { (row.unit) }
                    td { (row.driver) }
                    td.number { (row.seeds) }
                    td { (row.note.split("; ").filter(|note| !note.starts_with("content: ")).collect::<Vec<_>>().join("; ")) }
                }
            }
        }
    }
}

/// `Figure 10` for `10`; a name that is not a number stays unchanged.
fn label(id: &str) -> String {
    if id.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("Figure {id}")
    } else {
        capitalised(&id.replace('-', " "))
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A number with as many digits as are worth reading.
fn number(value: Option<f64>) -> String {
    match value {
        None => "none".to_owned(),
        Some(value) if value == value.trunc() => format!("{value}"),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}
