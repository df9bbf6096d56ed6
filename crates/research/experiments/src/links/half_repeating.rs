//! A download of which half was sent before, where TCP ends at both nodes.

use anyhow::Result;
use lab::{Exchange, Scenario};

use super::downloads::{self, SECONDS, START_SECONDS};
use super::form::Form;
use super::place::Place;
use super::recorded;
use super::way::Way;
use crate::cell::File;
use crate::contents::HALF_REPEATING_BYTES;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::plan::Plan;
use crate::row::Row;

/// A download that repeats.
pub const FIGURE: Figure = Figure {
    id: "half-repeating",
    title: "10 MB over 20 Mbit/s, half of them sent before, by loss and round trip",
    x: "packets lost, %",
    remark: "Every second block of 50 KB is one of another download of 5 MB, which ended before. Link, queue and nodes are those of \
             figure `streams`, and each direction has a store of 16 MiB. Hysteria's recorded 10 MB repeat nothing, because it \
             removes nothing. *Time by Hysteria's* is that without a round trip of both.",
    needs,
    rows,
};

/// Series of times without a round trip, by the recorded ones of Hysteria.
pub(super) const BY_HYSTERIA: &str = "time by Hysteria's";
/// The most of it.
pub(super) const BY_HYSTERIA_AT_MOST: f64 = 0.65;
/// The first download ends within this time.
const FIRST_SECONDS: f64 = 120.0;

/// All losses of the grid, in percent.
const LOSSES: [u32; 3] = [0, 5, 10];
const FORMS: [Form; 3] = [Form::Packets, Form::Streams, Form::StreamsTold];

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(place: Place, form: Form) -> String {
    format!("half repeating, {form}, {place}")
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let places = Place::of(&setting.plan, &LOSSES).into_iter();
    let runs = places.flat_map(|place| FORMS.map(|form| scenario(setting, place, form)));
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn scenario(setting: &Setting<'_>, place: Place, form: Form) -> Scenario {
    let seeds = seeds(&setting.plan);
    let mut scenario = downloads::download(setting, name(place, form), seeds, place.topology(), Way::DEFAULT);
    let content = setting.testbed.lab_content(File::HalfRepeating);
    for content in &mut scenario.contents {
        content.length_bytes = None;
    }
    // the one that is timed stands first
    let timed = scenario.exchanges.iter().map(|first| Exchange {
        answer_bytes: HALF_REPEATING_BYTES,
        content: content.name.clone(),
        start_seconds: START_SECONDS + FIRST_SECONDS,
        ..first.clone()
    });
    let first = scenario
        .exchanges
        .iter()
        .map(|first| Exchange { answer_bytes: HALF_REPEATING_BYTES / 2, ..first.clone() });
    scenario.exchanges = timed.chain(first).collect();
    scenario.contents.push(content);
    scenario.bound_seconds += FIRST_SECONDS;
    form.configure(&mut scenario);
    scenario
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let note = results.content_note(File::HalfRepeating);
    for place in Place::of(&results.setting.plan, &LOSSES) {
        let row = |what: &str, form: Form, unit: &str, values: &[f64]| {
            let row = Row::new(FIGURE.id, place.series(what, form), place.loss_percent, unit);
            row.measured(Estimate::median(values), results.setting.driver, values.len() as u32).note(&note)
        };
        let mut ran = false;
        for form in FORMS {
            let outcomes = results.outcomes(&name(place, form))?;
            ran |= !outcomes.is_empty();
            let seconds: Vec<f64> = outcomes.iter().map(downloads::seconds).collect();
            rows.push(row(SECONDS, form, "s", &seconds));
            let (round_trip, loss) = (place.round_trip_milliseconds, place.loss_percent);
            let rival = form.rival();
            if let Some(theirs) =
                rival.and_then(|rival| recorded::value(rival, (FIGURE.id, SECONDS), round_trip, loss))
            {
                let trip = f64::from(round_trip) / 1000.0;
                let ratios: Vec<f64> = seconds.iter().map(|ours| (ours - trip) / (theirs - trip)).collect();
                rows.push(row(BY_HYSTERIA, form, "ratio", &ratios).goal(BY_HYSTERIA_AT_MOST));
            }
        }
        if ran {
            rows.extend(recorded::rows(FIGURE.id, SECONDS, "s", place));
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
    fn half_of_it_was_sent_before_and_every_cell_of_streams_has_a_rival() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let needs = needs(&setting);
        assert_eq!(needs.len(), 9 * FORMS.len());
        for need in needs {
            let Need::Scenario(scenario) = need else { panic!("a scenario") };
            scenario.check().unwrap();
            assert_eq!(scenario.exchanges.len(), 2);
        }
        let (first, second) =
            (&testbed.content(File::Long).bytes, &testbed.content(File::HalfRepeating).bytes);
        assert_eq!(second[50_000..100_000], first[..50_000]);
        assert_eq!(second[9_950_000..], first[4_950_000..5_000_000]);
        for rival in FORMS.into_iter().filter_map(Form::rival) {
            for (round_trip, loss) in [20, 100, 600].iter().flat_map(|trip| LOSSES.map(|loss| (*trip, loss)))
            {
                assert!(recorded::value(rival, (FIGURE.id, SECONDS), round_trip, loss).is_some());
            }
        }
    }
}
