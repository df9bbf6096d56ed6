//! Whole tunnels: two daemons between two namespaces, real devices, real TCP; beside wireguard-go and the
//! bare cable.
//!
//! All set-ups exist at once and are measured in turn, in another order each round, so that other load
//! affects all alike. Comparisons are within a round. Both ends of the traffic run on the same processors as
//! both ends of the tunnel.

mod bulk;
mod echo;
mod ground;
mod relay;

use super::{Progress, kept};
use console::Table;
use experiments::row::Row;
use ground::{Ground, Way};
use serde::Serialize;
use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

/// Duration of a transfer's measurement.
const TRANSFER: Duration = Duration::from_millis(1500);
/// Echo requests each way in a round.
const ECHOES: usize = 100;

/// One figure over all rounds.
#[derive(Debug, Serialize)]
struct Figure {
    name: String,
    median: f64,
    lowest: f64,
    highest: f64,
    unit: &'static str,
    /// The required result, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<String>,
}

impl Figure {
    fn of(name: &str, mut sample: Vec<f64>, unit: &'static str) -> Self {
        sample.sort_by(f64::total_cmp);
        let at = |index: usize| sample.get(index).copied().unwrap_or(f64::NAN);
        Figure {
            name: name.to_owned(),
            median: at(sample.len() / 2),
            lowest: at(0),
            highest: at(sample.len().saturating_sub(1)),
            unit,
            wanted: None,
        }
    }

    fn rows(&self) -> [Row; 3] {
        let of_rounds = [("median", self.median), ("lowest", self.lowest), ("highest", self.highest)];
        of_rounds.map(|(name, value)| kept::row("tunnel", &self.name, name, value, self.unit))
    }

    fn wanted(mut self, wanted: &str) -> Self {
        self.wanted = Some(wanted.to_owned());
        self
    }
}

/// What one round gave.
#[derive(Default)]
struct Round {
    incompressible: f64,
    half_repeating: f64,
    wireguard: Option<f64>,
    bare: f64,
    /// Microseconds, medians of the round.
    echo_bare: f64,
    echo_tunnel: f64,
    echo_wireguard: Option<f64>,
    echo_empty: f64,
}

/// Shows the figures and returns them as rows.
pub fn run(rounds: u32, json: bool) -> anyhow::Result<Vec<Row>> {
    let progress = Progress::new(json, u64::from(rounds), "standing up two namespaces");
    let ground = Ground::lay()?;
    let ways = ground.ways();
    let contents = [bulk::incompressible(), bulk::half_repeating()];
    let mut all = Vec::new();
    for number in 0..rounds {
        let mut round = Round::default();
        let carrying = ways.iter().filter(|way| **way != Way::Empty);
        let mut steps: Vec<(Way, usize)> = carrying.map(|way| (*way, 0)).collect();
        steps.push((Way::Overheard, 1));
        let count = steps.len();
        steps.rotate_left(number as usize % count);
        for (way, content) in steps {
            progress.say(format!("round {} of {rounds}: {} by {way}", number + 1, bulk::NAMES[content]));
            let rate = bulk::rate(&ground, way, &contents[content], TRANSFER)?;
            match (way, content) {
                (Way::Overheard, 0) => round.incompressible = rate,
                (Way::Overheard, _) => round.half_repeating = rate,
                (Way::Wireguard, _) => round.wireguard = Some(rate),
                (Way::Bare, _) => round.bare = rate,
                (Way::Empty, _) => {}
            }
        }
        progress.say(format!("round {} of {rounds}: echoes", number + 1));
        let addresses: Vec<IpAddr> = ways.iter().map(|way| way.gateway()).collect();
        let medians = echo::medians(&ground.station, &addresses, ECHOES)?;
        for (way, micros) in ways.iter().zip(medians) {
            match way {
                Way::Overheard => round.echo_tunnel = micros,
                Way::Wireguard => round.echo_wireguard = Some(micros),
                Way::Empty => round.echo_empty = micros,
                Way::Bare => round.echo_bare = micros,
            }
        }
        all.push(round);
        progress.step();
    }
    progress.finish();
    let figures = figures(&all);
    show(&figures, ground.wireguard_absent(), json)?;
    Ok(figures.iter().flat_map(Figure::rows).collect())
}

fn figures(all: &[Round]) -> Vec<Figure> {
    let sample = |of: &dyn Fn(&Round) -> f64| all.iter().map(of).collect::<Vec<f64>>();
    let some = |of: &dyn Fn(&Round) -> Option<f64>| all.iter().filter_map(of).collect::<Vec<f64>>();
    let mut figures = vec![
        Figure::of("overheard, incompressible", sample(&|round| round.incompressible), "Gbit/s"),
        Figure::of("overheard, half repeats", sample(&|round| round.half_repeating), "Gbit/s"),
        Figure::of("bare cable", sample(&|round| round.bare), "Gbit/s"),
        Figure::of(
            "half repeats / incompressible",
            sample(&|round| round.half_repeating / round.incompressible),
            "ratio",
        )
        .wanted("1 or more"),
        Figure::of("echo, bare cable", sample(&|round| round.echo_bare), "µs"),
        Figure::of("echo, added by overheard", sample(&|round| round.echo_tunnel - round.echo_bare), "µs"),
        Figure::of(
            "echo, added by an empty tunnel",
            sample(&|round| round.echo_empty - round.echo_bare),
            "µs",
        ),
        Figure::of("echo, the node's own share", sample(&|round| round.echo_tunnel - round.echo_empty), "µs")
            .wanted("below 100"),
    ];
    if all.iter().any(|round| round.wireguard.is_some()) {
        figures.extend([
            Figure::of("wireguard-go, incompressible", some(&|round| round.wireguard), "Gbit/s"),
            Figure::of(
                "overheard / wireguard-go",
                some(&|round| Some(round.incompressible / round.wireguard?)),
                "ratio",
            )
            .wanted("1.2 or more"),
            Figure::of(
                "echo, added by wireguard-go",
                some(&|round| Some(round.echo_wireguard? - round.echo_bare)),
                "µs",
            ),
        ]);
    }
    figures
}

fn show(figures: &[Figure], absent: Option<&str>, json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(figures)?)?;
    } else {
        let mut table = Table::new(&["figure", "median", "lowest", "highest", "unit", "wanted"]);
        for Figure { name, median, lowest, highest, unit, wanted } in figures {
            let digits = if *unit == "µs" { 0 } else { 2 };
            let cell = |value: &f64| format!("{value:.digits$}");
            let wanted = wanted.clone().unwrap_or_default();
            table.row([name.clone(), cell(median), cell(lowest), cell(highest), (*unit).to_owned(), wanted]);
        }
        table.write(&mut out)?;
    }
    if let Some(why) = absent {
        console::hint!("the comparison with wireguard-go is missing: {why}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds_and_what_was_not_measured_is_left_out() {
        let round = |incompressible, wireguard| Round {
            incompressible,
            wireguard,
            half_repeating: 2.0,
            bare: 9.0,
            ..Round::default()
        };
        // a slow round is slow for both: the ratios differ less than the rates
        let rounds = [round(1.0, Some(0.5)), round(4.0, Some(2.0)), round(2.0, Some(1.0))];
        let all = figures(&rounds);
        let named = |name: &str| all.iter().find(|figure| figure.name == name).map(|figure| figure.median);
        assert_eq!(named("overheard / wireguard-go"), Some(2.0));
        assert_eq!(named("overheard, incompressible"), Some(2.0));
        assert!(figures(&[round(1.0, None)]).iter().all(|figure| !figure.name.contains("wireguard")));
    }
}
