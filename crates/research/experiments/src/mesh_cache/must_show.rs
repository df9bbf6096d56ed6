//! What must come out, held against the rows.

use super::protocol::{Form, Protocol, Variant};
use super::tables::by_default;
use super::testbed_figures as testbed;
use super::{figure_1, tables, transport};
use crate::claim::Band;
use crate::report::Claim;
use crate::row::{Row, X, of};

/// The three placements.
const SCENARIOS: [u8; 3] = [1, 2, 3];
/// The largest difference of a share from the paper's.
const POINTS: f64 = 0.1;

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    vec![
        without_loss(rows),
        with_loss(rows),
        orderings(rows, tables::AGGREGATE),
        orderings(rows, tables::TOGETHER),
        least_load(rows),
        best_throughput(rows, tables::AGGREGATE),
        best_throughput(rows, tables::TOGETHER),
        imbalance_gains_most(rows, tables::AGGREGATE),
        imbalance_gains_most(rows, tables::TOGETHER),
        gateway_relief(rows),
        throughput_gain(rows),
        fast_in_scenario_2(rows),
        testbed_relief(rows),
        testbed_throughput(rows),
        testbed_fast(rows),
        auto_harms_nobody(rows),
        locality_grows(rows),
        whole(rows),
    ]
}

/// The value of a series for a protocol as printed.
fn by_protocol(rows: &[Row], figure: &str, series: &str, protocol: Protocol) -> Option<f64> {
    by_variant(rows, figure, series, Variant(protocol, Form::AsPrinted))
}

fn by_variant(rows: &[Row], figure: &str, series: &str, variant: Variant) -> Option<f64> {
    let x = X::Name(variant.to_string());
    of(rows, figure).find(|row| row.series == series && row.x == x)?.value
}

fn table(rows: &[Row], series: &str, scenario: u8, protocol: Protocol) -> Option<f64> {
    by_protocol(rows, tables::TABLES.id, &format!("{series}: scenario {scenario}"), protocol)
}

fn table_by_default(rows: &[Row], series: &str, scenario: u8) -> Option<f64> {
    by_protocol(rows, tables::TABLES.id, &by_default(series, scenario), Protocol::PhBcp)
}

/// Quotients of per-hop and end-to-end throughput, by whether something was lost.
fn quotients(rows: &[Row], lossy: bool) -> Vec<(String, f64)> {
    let figures = [transport::FIGURE_4.id, transport::FIGURE_5.id, transport::FIGURE_6.id];
    let wanted = rows.iter().filter(|row| {
        let is_clean = row.series.contains("no fading");
        figures.contains(&row.figure.as_str())
            && row.series.starts_with(transport::THROUGHPUT)
            && row.series.ends_with(transport::QUOTIENT)
            && is_clean != lossy
    });
    wanted.filter_map(|row| Some((format!("figure {} at {}", row.figure, row.x), row.value?))).collect()
}

fn at_least(claim: &str, quotients: &[(String, f64)], least: f64) -> Claim {
    let short: Vec<String> = quotients
        .iter()
        .filter(|(_, value)| *value < least)
        .map(|(name, value)| format!("{value:.3} in {name}"))
        .collect();
    let holds = short.is_empty();
    let found = match holds {
        true if quotients.is_empty() => Vec::new(),
        true => {
            let lowest = quotients.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
            vec![format!("at least {lowest:.3} in {} cells", quotients.len())]
        }
        false => short,
    };
    Claim::judged(claim, found, holds)
}

fn without_loss(rows: &[Row]) -> Claim {
    at_least("per-hop transport at least 0.97 of end-to-end without loss", &quotients(rows, false), 0.97)
}

fn with_loss(rows: &[Row]) -> Claim {
    at_least("per-hop transport above end-to-end with loss", &quotients(rows, true), 1.0)
}

fn orderings(rows: &[Row], series: &str) -> Claim {
    let families = [
        [Protocol::Default, Protocol::Thcp, Protocol::PhThcp],
        [Protocol::Default, Protocol::Bcp, Protocol::PhBcp],
        [Protocol::Default, Protocol::Ghcp, Protocol::PhGhcp],
    ];
    let (mut found, mut holds) = (Vec::new(), true);
    for scenario in SCENARIOS {
        for family in families {
            let values: Vec<f64> =
                family.into_iter().filter_map(|protocol| table(rows, series, scenario, protocol)).collect();
            if let [one, two, three] = values[..] {
                let ordered = one < two && two < three;
                holds &= ordered;
                let not = if ordered { "" } else { " NOT" };
                found.push(format!("scenario {scenario}, {}: {one:.0} {two:.0} {three:.0}{not}", family[1]));
            }
        }
    }
    Claim::judged(
        format!("as printed, {series}: A3 above A2 above A1 for every protocol (kbit/s)"),
        found,
        holds,
    )
}

/// A measure of every protocol in a scenario.
fn all(rows: &[Row], series: &str, scenario: u8) -> Vec<(Protocol, f64)> {
    let value = |protocol| Some((protocol, table(rows, series, scenario, protocol)?));
    Protocol::PAPER.into_iter().filter_map(value).collect()
}

fn least_load(rows: &[Row]) -> Claim {
    let (mut found, mut holds) = (Vec::new(), true);
    for scenario in SCENARIOS {
        let loads = all(rows, tables::GATEWAY, scenario);
        let least = loads.iter().map(|(_, load)| *load).fold(f64::INFINITY, f64::min);
        if let Some((_, ours)) = loads.iter().find(|(protocol, _)| *protocol == Protocol::PhBcp) {
            // Equal in the paper's scenario 2, to three digits.
            holds &= *ours <= least * 1.005;
            found.push(format!("scenario {scenario}: {ours:.0} KB where the least is {least:.0}"));
        }
    }
    Claim::judged("as printed: PH-BCP's gateway load lowest or equal", found, holds)
}

fn best_throughput(rows: &[Row], series: &str) -> Claim {
    let (mut found, mut holds) = (Vec::new(), true);
    for scenario in SCENARIOS {
        let all = all(rows, series, scenario);
        let best = all.iter().map(|(_, throughput)| *throughput).fold(0.0, f64::max);
        if let Some((_, ours)) = all.iter().find(|(protocol, _)| *protocol == Protocol::PhBcp) {
            holds &= *ours >= best * 0.98;
            found.push(format!("scenario {scenario}: {:.3} of the best", ours / best));
        }
    }
    Claim::judged(format!("as printed, {series}: PH-BCP's within 2% of the best"), found, holds)
}

fn imbalance_gains_most(rows: &[Row], series: &str) -> Claim {
    let claim = format!("as printed, {series}: scenario 2 gains most by PH-BCP");
    let gains: Vec<f64> = SCENARIOS.into_iter().filter_map(|it| table_by_default(rows, series, it)).collect();
    let [one, two, three] = gains[..] else {
        return Claim::judged(claim, Vec::new(), false);
    };
    Claim::judged(
        claim,
        vec![format!("{one:.2}, {two:.2}, {three:.2} times Default's")],
        two > one && two > three,
    )
}

fn gateway_relief(rows: &[Row]) -> Claim {
    let (mut found, mut holds) = (Vec::new(), true);
    let papers = SCENARIOS.map(|scenario| tables::paper_relief(scenario).get());
    for (scenario, paper) in SCENARIOS.into_iter().zip(papers) {
        if let Some(ratio) = table_by_default(rows, tables::GATEWAY, scenario) {
            holds &= (1.0 - ratio) >= paper - POINTS;
            found.push(format!("scenario {scenario}: {:.2} less, the paper's {paper:.2}", 1.0 - ratio));
        }
    }
    let [one, two, three] = papers.map(|share| format!("{:.0}", 100.0 * share));
    let claim = format!(
        "as printed: PH-BCP takes {one}, {two} and {three}% off the gateway, within 10 points or more"
    );
    Claim::judged(claim, found, holds)
}

fn throughput_gain(rows: &[Row]) -> Claim {
    let (mut found, mut holds) = (Vec::new(), true);
    let papers = SCENARIOS.map(|scenario| tables::paper_gain(scenario).get());
    for (scenario, paper) in SCENARIOS.into_iter().zip(papers) {
        if let Some(ratio) = table_by_default(rows, tables::AGGREGATE, scenario) {
            holds &= ratio >= paper;
            found.push(format!("scenario {scenario}: {:+.2}, the paper's {:+.2}", ratio - 1.0, paper - 1.0));
        }
    }
    let [one, two, three] = papers.map(|paper| format!("{:+}", (1000.0 * (paper - 1.0)).round() / 10.0));
    Claim::judged(format!("as printed: PH-BCP's throughput at least {one}, {two} and {three}%"), found, holds)
}

fn fast_in_scenario_2(rows: &[Row]) -> Claim {
    let papers = [Protocol::Default, Protocol::PhBcp]
        .map(|protocol| (protocol, tables::paper_fast(2, protocol).expect("the paper says it of both")));
    let (mut found, mut holds) = (Vec::new(), true);
    for (protocol, paper) in papers {
        if let Some(share) = table(rows, tables::FAST, 2, protocol) {
            let is_more = protocol != Protocol::Default && share > paper.get();
            holds &= Band::around(paper, POINTS).has(share) || is_more;
            found.push(format!("{protocol} {share:.2}, the paper's {:.2}", paper.get()));
        }
    }
    let [from, to] = papers.map(|(_, paper)| 100.0 * paper.get());
    Claim::judged(
        format!("as printed, scenario 2: transfers above 1 Mbit/s from {from} to {to}%, within 10 points"),
        found,
        holds,
    )
}

fn testbed_by_default(rows: &[Row], series: &str) -> Option<f64> {
    by_protocol(rows, testbed::FIGURE_14.id, &format!("{series} by Default's"), Protocol::PhBcp)
}

fn testbed_relief(rows: &[Row]) -> Claim {
    let (ratio, relief) = (testbed_by_default(rows, testbed::GATEWAY), testbed::paper_relief());
    Claim::judged(
        format!("testbed: at least {relief}% less from the gateway by PH-BCP as printed"),
        ratio.iter().map(|ratio| format!("{:.3} less", 1.0 - ratio)).collect(),
        ratio.is_some_and(|ratio| ratio <= relief.left().get()),
    )
}

fn testbed_throughput(rows: &[Row]) -> Claim {
    let (ratio, gain) = (testbed_by_default(rows, testbed::TOGETHER), testbed::paper_gain());
    Claim::judged(
        format!("testbed: throughput of all clients together +{gain}% by PH-BCP as printed"),
        ratio.iter().map(|ratio| format!("{:+.2}", ratio - 1.0)).collect(),
        ratio.is_some_and(|ratio| ratio >= gain.grown().get()),
    )
}

fn testbed_fast(rows: &[Row]) -> Claim {
    let (mut found, mut holds) = (Vec::new(), true);
    let mut last = 0.0;
    for row in of(rows, testbed::FIGURE_14.id).filter(|row| row.series == testbed::FAST) {
        let (Some(share), Some(paper)) = (row.value, row.paper) else { continue };
        holds &= Band::around(paper, POINTS).has(share) && share >= last;
        last = share;
        found.push(format!("{} {share:.2}, the paper's {:.2}", row.x, paper.get()));
    }
    let protocols = [Protocol::Default, Protocol::Thcp, Protocol::PhThcp, Protocol::PhBcp];
    let papers = protocols.map(|protocol| testbed::paper_fast(protocol).expect("the paper says it of all"));
    let [one, two, three, four] = papers.map(|paper| 100.0 * paper.get());
    Claim::judged(
        format!(
            "testbed as printed: transfers above 1 Mbit/s {one}, {two}, {three} and {four}%, within 10 points and in this order"
        ),
        found,
        holds,
    )
}

fn auto_harms_nobody(rows: &[Row]) -> Claim {
    let (mut found, mut holds) = (Vec::new(), true);
    let mut judge = |name: String, figure: &str, series: &str| {
        let of = |protocol| by_variant(rows, figure, series, Variant(protocol, Form::Ours));
        if let (Some(ours), Some(theirs)) = (of(Protocol::Auto), of(Protocol::PhThcp)) {
            holds &= ours >= theirs * 0.97;
            found.push(format!("{name}: {:.3}", ours / theirs));
        }
    };
    for scenario in SCENARIOS {
        let series = format!("{}: scenario {scenario}", tables::AGGREGATE);
        judge(format!("scenario {scenario}"), tables::TABLES.id, &series);
    }
    judge("testbed".to_owned(), testbed::FIGURE_14.id, testbed::AGGREGATE);
    Claim::judged("ours, searching where it pays: at least 0.97 of PH-THCP's throughput", found, holds)
}

fn locality_grows(rows: &[Row]) -> Claim {
    let (mut found, mut holds) = (Vec::new(), true);
    for (_, name) in super::log::LOGS {
        for series in [figure_1::HITS, figure_1::WORKING_SET] {
            let at = |population: usize| {
                let rows = of(rows, figure_1::FIGURE.id);
                let mut rows = rows.filter(|row| row.series == format!("{series}: {name}"));
                rows.find(|row| row.x == X::Number(population as f64))?.value
            };
            if let [Some(few), Some(many)] = figure_1::POPULATIONS.map(at) {
                holds &= few < many;
                found.push(format!("{name}, {series}: {few:.2} to {many:.2}"));
            }
        }
    }
    Claim::judged("hit rate and working set grow from 50 clients to 500", found, holds)
}

fn whole(rows: &[Row]) -> Claim {
    let broken: Vec<&Row> =
        rows.iter().filter(|row| row.series.starts_with("files that did not come whole")).collect();
    let short: Vec<String> = broken
        .iter()
        .filter(|row| row.value != Some(0.0))
        .map(|row| format!("{:.1} of {}, {}", row.value.unwrap_or(f64::NAN), row.series, row.x))
        .collect();
    let holds = short.is_empty();
    let found =
        if holds && !broken.is_empty() { vec![format!("in all of {} runs", broken.len())] } else { short };
    Claim::judged("every file comes whole", found, holds)
}
