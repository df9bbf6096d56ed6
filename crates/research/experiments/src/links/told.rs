//! The same download where the configuration tells the node the link's rate, rightly and wrongly.

use std::fmt;

use anyhow::Result;
use lab::Scenario;

use super::downloads::{self, SECONDS};
use super::place::{Place, RATE_MEGABITS};
use super::way::Way;
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::{Row, X};

/// Told rates.
pub const FIGURE: Figure = Figure {
    id: "told",
    title: "One download of 3 MB over 20 Mbit/s, by the rate that the configuration tells",
    x: "`[link] rate`",
    remark: "The download, link and queue of figure `downloads`, through the default tunnel with cubic inside. Both nodes have the \
             same `[link] rate`: half the link's, the link's, twice the link's, or none. The ratio is by the time without it, with \
             the same seed.",
    needs,
    rows,
};

/// Series of times by those without a told rate.
pub(super) const BY_UNTOLD: &str = "time by untold";
/// The most of it, as a bound of measurement.
pub(super) const BY_UNTOLD_AT_MOST: f64 = 1.02;

/// The told rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    Half,
    Right,
    Double,
}

impl Told {
    const ALL: [Self; 4] = [Self::Nothing, Self::Half, Self::Right, Self::Double];

    fn megabits(self) -> Option<u32> {
        match self {
            Self::Nothing => None,
            Self::Half => Some(RATE_MEGABITS / 2),
            Self::Right => Some(RATE_MEGABITS),
            Self::Double => Some(2 * RATE_MEGABITS),
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.megabits() {
            None => f.write_str("none"),
            Some(megabits) => write!(f, "{megabits} Mbit/s"),
        }
    }
}

fn places(plan: &Plan) -> Vec<Place> {
    let place = |(loss_percent, round_trip_milliseconds)| Place { loss_percent, round_trip_milliseconds };
    let whole = [0, 5, 10].into_iter().flat_map(|loss| [20, 100, 600].map(|round_trip| (loss, round_trip)));
    plan.choose(whole.collect(), vec![(5, 100)], vec![(5, 20)]).into_iter().map(place).collect()
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(place: Place, told: Told) -> String {
    format!("told, {told}, {place}")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let runs = places(&setting.plan)
        .into_iter()
        .flat_map(|place| Told::ALL.map(|told| scenario(setting, place, told)));
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn scenario(setting: &Setting<'_>, place: Place, told: Told) -> Scenario {
    let seeds = seeds(&setting.plan);
    let mut scenario = downloads::download(setting, name(place, told), seeds, place.topology(), Way::DEFAULT);
    if let Some(megabits) = told.megabits() {
        for daemon in &mut scenario.daemons {
            daemon.config.insert_str(0, &format!("[link]\nrate = \"{megabits} Mbit/s\"\n"));
        }
    }
    scenario
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let note = results.content_note(File::Long);
    for place in places(&results.setting.plan) {
        let untold = results.outcomes(&name(place, Told::Nothing))?;
        for told in Told::ALL {
            let row = |what: &str, unit: &str, estimate, seeds: usize| {
                let series = place.series(what, format!("loss {}%", place.loss_percent));
                let row = Row::new(FIGURE.id, series, X::Name(told.to_string()), unit);
                row.measured(estimate, results.setting.driver, seeds as u32).note(&note)
            };
            let outcomes = results.outcomes(&name(place, told))?;
            let seconds: Vec<f64> = outcomes.iter().map(downloads::seconds).collect();
            rows.push(row(SECONDS, "s", Estimate::median(&seconds), seconds.len()));
            if told != Told::Nothing {
                let times = downloads::pairs(outcomes, untold, downloads::whole_seconds);
                let by_untold = row(BY_UNTOLD, "ratio", Estimate::paired_median(&times), times.len());
                rows.push(by_untold.goal(BY_UNTOLD_AT_MOST));
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::Contents;
    use crate::plan::{Extent, Traced};
    use crate::row::Driver;
    use crate::testbed::Testbed;

    #[test]
    fn both_nodes_are_told_and_the_rest_is_the_download_of_the_grid() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let needs = needs(&setting);
        assert_eq!(needs.len(), 9 * 4);
        for need in needs {
            let Need::Scenario(scenario) = need else { panic!("a scenario") };
            scenario.check().unwrap();
            let is_told = !scenario.name.contains("none");
            assert_eq!(scenario.daemons.len(), 2);
            for daemon in scenario.daemons {
                assert_eq!(daemon.config.starts_with("[link]\nrate = "), is_told, "{}", scenario.name);
                assert_eq!(daemon.config.matches("[link]").count(), usize::from(is_told));
            }
        }
    }
}
