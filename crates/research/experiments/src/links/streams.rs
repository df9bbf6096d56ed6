//! The same download where TCP ends at both nodes and its bytes cross the hop as streams.

use anyhow::Result;
use lab::Scenario;

use super::downloads::{self, BYTES, SECONDS};
use super::form::Form;
use super::place::Place;
use super::recorded;
use super::way::Way;
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// Streams.
pub const FIGURE: Figure = Figure {
    id: "streams",
    title: "One download of 3 MB over 20 Mbit/s as a stream, by loss and round trip",
    x: "packets lost, %",
    remark: "Content, link and queue of figure `downloads`, with `streams = true` on both nodes and cubic at both hosts. The server \
             speaks first, as in Hysteria's recorded values: a download without a request, timed from connect to the last byte. \
             *rate told*: both nodes have `[link] rate = \"20 Mbit/s\"`.",
    needs,
    rows,
};

/// Series of times by the recorded ones of Hysteria, with or without a told rate as ours.
pub(super) const BY_HYSTERIA: &str = "time by Hysteria's";
/// The most of it.
pub(super) const BY_HYSTERIA_AT_MOST: f64 = 1.1;

/// All losses of the grid, in percent.
const LOSSES: [u32; 5] = [0, 1, 5, 10, 20];

/// An answer before the server's makes no difference here.
const FORMS: [Form; 3] = [Form::Packets, Form::Streams, Form::StreamsTold];

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(place: Place, form: Form) -> String {
    format!("download, {form}, {place}")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let places = Place::of(&setting.plan, &LOSSES).into_iter();
    let runs = places.flat_map(|place| FORMS.map(|form| scenario(setting, place, form)));
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn scenario(setting: &Setting<'_>, place: Place, form: Form) -> Scenario {
    let seeds = seeds(&setting.plan);
    let mut scenario = downloads::download(setting, name(place, form), seeds, place.topology(), Way::DEFAULT);
    form.configure(&mut scenario);
    scenario
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let note = results.content_note(File::Long);
    for place in Place::of(&results.setting.plan, &LOSSES) {
        let row = |what: &str, form: Form, unit: &str, estimate, seeds: usize| {
            let row = Row::new(FIGURE.id, place.series(what, form), place.loss_percent, unit);
            row.measured(estimate, results.setting.driver, seeds as u32).note(&note)
        };
        for form in FORMS {
            let outcomes = results.outcomes(&name(place, form))?;
            let seconds: Vec<f64> = outcomes.iter().map(downloads::seconds).collect();
            rows.push(row(SECONDS, form, "s", Estimate::median(&seconds), seconds.len()));
            let bytes: Vec<f64> = outcomes.iter().filter_map(downloads::sent_by_arrived).collect();
            rows.push(row(BYTES, form, "ratio", Estimate::median(&bytes), bytes.len()));
            let (round_trip, loss) = (place.round_trip_milliseconds, place.loss_percent);
            let mut recorded = recorded::values("downloads", SECONDS, round_trip, loss);
            if let Some(theirs) = recorded.find(|value| Some(value.program()) == form.rival()) {
                let ratios: Vec<f64> = seconds.iter().map(|ours| ours / theirs.get()).collect();
                let by_rival = row(BY_HYSTERIA, form, "ratio", Estimate::median(&ratios), ratios.len());
                rows.push(by_rival.goal(BY_HYSTERIA_AT_MOST));
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
    fn both_nodes_have_streams_or_none_and_each_rival_is_recorded() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let needs = needs(&setting);
        assert_eq!(needs.len(), 15 * FORMS.len());
        for need in needs {
            let Need::Scenario(scenario) = need else { panic!("a scenario") };
            scenario.check().unwrap();
            let has_streams = scenario.name.contains("streams");
            assert!(scenario.daemons.iter().all(|it| it.config.contains("streams") == has_streams));
        }
        for rival in FORMS.into_iter().filter_map(Form::rival) {
            let values: Vec<_> = LOSSES
                .iter()
                .flat_map(|&loss| recorded::values("downloads", SECONDS, 600, loss))
                .filter(|value| value.program() == rival)
                .collect();
            assert_eq!(values.len(), LOSSES.len(), "{rival}");
        }
    }
}
