//! `overheard-lab papers`: what the papers say, value by value.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use experiments::papers::{self, Paper, Unusable, Value};
use serde::Serialize;

/// List what the papers say: every value, and where it stands
#[derive(clap::Args)]
pub struct Args {
    /// Only this paper
    #[arg(value_name = "PAPER", value_parser = PossibleValuesParser::new(papers::ALL.map(Paper::name)))]
    paper: Option<String>,
    /// Print the papers as a JSON array
    #[arg(long)]
    json: bool,
}

/// A paper in JSON.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    authors: &'a str,
    title: &'a str,
    published: &'a str,
    values: &'a [Value],
    unusable: &'a [Unusable],
}

impl<'a> From<&'a Paper> for Listed<'a> {
    fn from(paper: &'a Paper) -> Self {
        Listed {
            name: paper.name(),
            authors: paper.authors(),
            title: paper.title(),
            published: paper.published(),
            values: paper.values(),
            unusable: paper.unusable(),
        }
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let is_wanted = |paper: &&Paper| args.paper.as_ref().is_none_or(|name| name == paper.name());
    let wanted: Vec<&Paper> = papers::ALL.into_iter().filter(is_wanted).collect();
    let mut out = std::io::stdout().lock();
    if args.json {
        let listed: Vec<Listed<'_>> = wanted.into_iter().map(Listed::from).collect();
        serde_json::to_writer_pretty(&mut out, &listed)?;
        writeln!(out)?;
        return Ok(());
    }
    for (index, paper) in wanted.into_iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        write(paper, &mut out)?;
    }
    Ok(())
}

/// Prints a paper as text: a line with id and value, and below it the place and the quantity.
fn write(paper: &Paper, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{}: {}, by {}", paper.name(), paper.title(), paper.authors())?;
    let width = paper.values().iter().map(|value| value.id().chars().count()).max().unwrap_or(0);
    for value in paper.values() {
        writeln!(out, "{:<width$}  {value}", value.id())?;
        writeln!(out, "    {}: {}", value.place(), value.of())?;
    }
    writeln!(out, "without a value in the text:")?;
    paper.unusable().iter().try_for_each(|it| writeln!(out, "    {}: {}", it.place, it.what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stands_with_its_place_below() {
        let mut written = Vec::new();
        write(&papers::BYTE_CACHING, &mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        let mut lines =
            written.lines().skip_while(|line| !line.starts_with("section-6/bytes-saved-no-loss "));
        assert!(lines.next().unwrap().ends_with("  45%"));
        assert_eq!(
            lines.next().unwrap(),
            "    Section VI, paragraph 3: reduction of sent bytes, of those without DRE"
        );
        assert!(written.contains("    Figure 10: "));
    }

    #[test]
    fn json_has_every_field_of_a_value() {
        let json = serde_json::to_value(Listed::from(&papers::XBC as &Paper)).unwrap();
        for field in ["id", "place", "quote", "unit", "of", "conditions", "read"] {
            assert!(json["values"][0][field].is_string(), "{field}");
        }
        assert_eq!(json["name"], "xbc");
    }
}
