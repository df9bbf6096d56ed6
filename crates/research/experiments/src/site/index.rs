//! The page that leads to the experiments'.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Part;
use crate::report::{STYLE, first_chart};

/// The whole page.
pub fn html(commit: &str, quick: bool, parts: &[Part]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { "Overheard's experiments" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "Overheard's experiments" }
                p {
                    "Every table and figure that was run again, our figures beside the papers'. What runs them: "
                    b { "virtual" } " is a kernel whose time is virtual, with real daemons and real TCP; " b { "lab" }
                    " is the same on this machine's kernel, by the clock on the wall; " b { "sim" }
                    " is nodes and air in one process, without TCP."
                }
                p.about {
                    "Commit " (commit) ". "
                    @if quick { "A few cells of every figure and few seeds; some claims need more than that." }
                }
                table {
                    tr { th { "Experiment" } th { "Run by" } th { "Claims" } th { "Rows" } }
                    @for part in parts { (line(part)) }
                }
                @for part in parts {
                    @if let Some((title, svg)) = first_chart(part.experiment, &part.rows) {
                        h2 { a href=(format!("{}.html", part.experiment.id)) { (part.experiment.title) } }
                        figure { (PreEscaped(svg)) figcaption.about { (title) } }
                    }
                }
            }
        }
    };
    page.into_string()
}

fn line(part: &Part) -> Markup {
    let id = part.experiment.id;
    let count = |holds| part.claims.iter().filter(|claim| claim.holds == holds).count();
    html! {
        tr {
            td { a href=(format!("{id}.html")) { (part.experiment.title) } br; span.about { (part.experiment.source) } }
            td {
                @for ran in &part.ran {
                    (ran.driver) " in " (format!("{:.0}", ran.took_seconds)) " s "
                    @if ran.kernel != "none" { span.about { "(" (ran.kernel) ")" } } br;
                }
                @for (driver, why) in &part.left_out { (driver) ": " span.unmeasured { "left out: " (why) } br; }
            }
            td.narrow {
                span.passed { (count(Some(true))) " pass" } br;
                span.short { (count(Some(false))) " fall short" } br;
                span.unmeasured { (count(None)) " not asked for" }
            }
            td.narrow { a href=(format!("{id}.json")) { "JSON" } " " a href=(format!("{id}.csv")) { "CSV" } }
        }
    }
}
