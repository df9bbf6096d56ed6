//! Files that the tunnel never carried, over the links of the demo.

use air::presets::{self, Preset};
use anyhow::Result;
use lab::{Download, Outcome, Scenario, Start};

use super::downloads;
use super::way::Way;
use crate::cell::File;
use crate::estimate::Estimate;
use crate::figure::{Figure, Need, Results, Setting};
use crate::pair::{AIR, GATEWAY, Pair, STATION};
use crate::plan::Plan;
use crate::row::{Row, X};

/// Content that is new.
pub const FIGURE: Figure = Figure {
    id: "presets",
    title: "Content never seen, over the links of the demo",
    x: "link",
    remark: "Two files, one after the other, each once: 588 KB of web pages and 1 MB of a package index. The first starts 20 s \
             after the tunnel. Time is the sum of both. Bytes are those of both directions of the link. Ratios are by the bare \
             link with the same seed, as medians.",
    needs,
    rows,
};

const WAYS: [Way; 3] = [Way::BARE, Way::OFF, Way::DEFAULT];
const FILES: [File; 2] = [File::One, File::Two];
const START_SECONDS: f64 = 20.0;
const STALL_SECONDS: u32 = 300;
const BOUND_SECONDS: f64 = 3600.0;

/// Series of times by the bare link's.
pub(super) const TIME_BY_BARE: &str = "time by bare's";
/// Series of bytes by the bare link's.
pub(super) const BYTES_BY_BARE: &str = "bytes by bare's";
/// The most of the bare link's time.
pub(super) const TIME_GOAL: f64 = 1.0;
/// The most of the bare link's bytes, over the satellite.
pub(super) const BYTES_GOAL: f64 = 0.55;
/// The link with a goal of bytes.
pub(super) const SATELLITE: &str = "satellite";

fn links(plan: &Plan) -> Vec<Preset> {
    let mut links = presets::all();
    links.retain(|link| {
        plan.choose(true, [SATELLITE, "lossy-wifi"].contains(&link.name), link.name == "rural")
    });
    links
}

fn seeds(plan: &Plan) -> u32 {
    plan.seeds(10, 1, 1)
}

fn name(link: &Preset, way: Way) -> String {
    format!("never seen, {way}, {}", link.name)
}

fn needs(setting: &Setting<'_>) -> Vec<Need> {
    let links = links(&setting.plan);
    let runs = links.iter().flat_map(|link| WAYS.map(|way| scenario(setting, link, way)));
    runs.map(|scenario| Need::Scenario(Box::new(scenario))).collect()
}

fn scenario(setting: &Setting<'_>, link: &Preset, way: Way) -> Scenario {
    let carrier = way.carrier();
    let contents = FILES.map(|file| setting.testbed.lab_content(file));
    let downloads = contents.iter().enumerate().map(|(number, content)| Download {
        place: STATION.to_owned(),
        from: Pair::server(&carrier),
        content: content.name.clone(),
        port: lab::HTTP_PORT,
        start: number.checked_sub(1).map_or(Start::AtSeconds(START_SECONDS), Start::After),
        stall_seconds: STALL_SECONDS,
    });
    Scenario {
        name: name(link, way),
        seeds: (1..=u64::from(seeds(&setting.plan))).collect(),
        topology: Pair::topology(&link.down, &link.up),
        parameters: way.parameters(),
        downloads: downloads.collect(),
        contents: contents.to_vec(),
        servers: vec![GATEWAY.to_owned()],
        daemons: setting.testbed.pair().daemons_with_repairs(&carrier),
        bound_seconds: BOUND_SECONDS,
        ..Scenario::default()
    }
}

/// Bytes of both directions of the link.
fn bytes(outcome: &Outcome) -> Option<f64> {
    let link = outcome.link(AIR)?;
    Some((link.forward.transmitted.bytes + link.backward.transmitted.bytes) as f64)
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let notes: Vec<String> = FILES.map(|file| results.content_note(file)).into();
    for link in links(&results.setting.plan) {
        let row = |what: &str, way: Way, unit: &str, estimate, seeds: usize| {
            let row = Row::new(FIGURE.id, format!("{what}: {way}"), X::Name(link.name.to_owned()), unit);
            let row = row.measured(estimate, results.setting.driver, seeds as u32);
            notes.iter().fold(row, |row, note| row.note(note))
        };
        let bare = results.outcomes(&name(&link, Way::BARE))?;
        for way in WAYS {
            let outcomes = results.outcomes(&name(&link, way))?;
            let times: Vec<f64> = outcomes.iter().filter_map(Outcome::waited_seconds).collect();
            rows.push(row(downloads::SECONDS, way, "s", Estimate::median(&times), times.len()));
            if way == Way::BARE {
                continue;
            }
            let is_ours = way == Way::DEFAULT;
            let times = downloads::pairs(outcomes, bare, Outcome::waited_seconds);
            let time = row(TIME_BY_BARE, way, "ratio", Estimate::paired_median(&times), times.len());
            rows.push(time.goal((is_ours && link.name != "clean").then_some(TIME_GOAL)));
            let all = downloads::pairs(outcomes, bare, bytes);
            let all = row(BYTES_BY_BARE, way, "ratio", Estimate::paired_median(&all), all.len());
            rows.push(all.goal((is_ours && link.name == SATELLITE).then_some(BYTES_GOAL)));
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
    fn every_link_of_the_demo_carries_each_file_once_in_every_way() {
        let contents = Contents::substitutes();
        let testbed = Testbed::new(&contents).unwrap();
        let plan = Plan { extent: Extent::Whole, seeds: None, trace: Traced::default() };
        let setting = Setting { plan, testbed: &testbed, contents: &contents, driver: Driver::Virtual };
        let needs = needs(&setting);
        assert_eq!(needs.len(), presets::all().len() * WAYS.len());
        for need in needs {
            let Need::Scenario(scenario) = need else { panic!("a scenario") };
            scenario.check().unwrap();
            let names: Vec<&str> = scenario.downloads.iter().map(|it| it.content.as_str()).collect();
            assert_eq!(names, FILES.map(File::slug));
            assert_eq!(scenario.daemons.is_empty(), scenario.name.contains("bare"), "{}", scenario.name);
        }
    }
}
