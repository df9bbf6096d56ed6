//! Figure 3: the data rate of the link over time.

use air::LossConfig;
use anyhow::Result;
use lab::{Action, Event, Scenario};

use super::content::File;
use super::system::System;
use super::trial::{START_SECONDS, Trial, link_bytes, links, pairs};
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{AIR, GATEWAY};
use crate::plan::Plan;
use crate::row::Row;

/// Figure 3.
pub const FIGURE: Figure = Figure {
    id: "3",
    title: "Data rate at the link layer",
    x: "seconds",
    remark: "100 ms, every 100th packet dropped. Bytes that the sender's interface to the link has sent, in steps of a \
             second; the seed's runs are averaged. The quotient is that of the rates over the whole transfers. The letter \
             shows curves without numbers, REboost's like that without RE.",
    needs,
    rows,
};

const SYSTEMS: [System; 5] =
    [System::NoRe, System::IpReChunks, System::ReboostChunks, System::IpRe, System::Reboost];
/// For how long the rate is shown: longer than any transfer takes.
const SHOWN_SECONDS: u32 = 70;
/// The quotient's series.
pub(super) const QUOTIENT: &str = "rate to no RE";

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 2)
}

fn trial(system: System) -> Trial {
    let recorded = format!("{}0", "1".repeat(99));
    // it is one of the characters that a recording has
    let loss = recorded.parse().map_or(LossConfig::None, |receptions| LossConfig::Trace { receptions });
    Trial::new("figure 3", system, File::Pages, links(100, loss))
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let watched = |system| {
        let scenario = trial(system).scenario(setting, seeds(&setting.plan));
        let scenario = scenario.map_err(|error| tracing::error!("{error:#}")).ok()?;
        // of the namespace in which it is read
        let command = ["cat", "/proc/thread-self/net/dev"].map(str::to_owned).to_vec();
        let look = |second: u32| Event {
            at_seconds: START_SECONDS + f64::from(second),
            action: Action::Run { place: GATEWAY.to_owned(), command: command.clone() },
        };
        let events = (0..=SHOWN_SECONDS).map(look).collect();
        Some(Need::Scenario(Box::new(Scenario { events, ..scenario })))
    };
    SYSTEMS.into_iter().filter_map(watched).collect()
}

/// What the link's interface has sent, by the kernel's table of interfaces: the ninth number behind its name.
fn sent_bytes(table: &str) -> Option<f64> {
    let line = table.lines().find_map(|line| line.trim().strip_prefix(AIR)?.strip_prefix(':'))?;
    line.split_whitespace().nth(8)?.parse().ok()
}

/// Bytes a second, for every second in which the transfer went on.
fn rates(said: &[String]) -> Vec<f64> {
    let bytes: Vec<f64> = said.iter().filter_map(|table| sent_bytes(table)).collect();
    bytes.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let (driver, seeds) = (results.setting.driver, seeds(&results.setting.plan));
    let mut rows = Vec::new();
    for system in SYSTEMS {
        let runs: Vec<Vec<f64>> =
            results.outcomes(&trial(system).name())?.iter().map(|outcome| rates(&outcome.said)).collect();
        for second in 0..SHOWN_SECONDS {
            let sample: Vec<f64> = runs.iter().filter_map(|run| run.get(second as usize).copied()).collect();
            if !sample.is_empty() {
                let mean = Estimate::mean(&sample).map(|mean| mean.times(8e-6));
                let series = format!("rate: {}", system.name());
                rows.push(Row::new(FIGURE.id, series, second, "Mbit/s").measured(mean, driver, seeds));
            }
        }
        if system != System::NoRe {
            let rate = |outcome: &lab::Outcome| Some(link_bytes(outcome)? / outcome.first_seconds()?);
            let pairs = pairs(results, &trial(system), &trial(System::NoRe), rate)?;
            let row = Row::new(FIGURE.id, QUOTIENT, system.name(), "ratio");
            rows.push(row.measured(Estimate::paired_median(&pairs), driver, seeds));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_differences_of_what_the_interface_had_sent() {
        let table = |sent: u64| {
            format!(
                "Inter-| Receive\n  face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10\n   air:  5 4 0 0 0 0 0 0 {sent} 7 0\n"
            )
        };
        assert_eq!(rates(&[table(100), table(350), table(350)]), [250.0, 0.0]);
        assert_eq!(sent_bytes("nothing"), None);
    }
}
