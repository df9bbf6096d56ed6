//! What must come out, held against the rows.
//!
//! The letter's claims are judged on its system as printed: the codec of whole chunks, REboost above it.
//! Where the letter states no number, its order is the claim. Goals are ours and are judged on our codec.

use super::content::File;
use super::system::System;
use super::{chunk_match, figure_2, figure_3, figure_4, harm, headline, table_1, table_2};
use crate::claim::{Band, Claim, Judging};
use crate::row::Row;

/// How far the share of bytes may be from the letter's, to either side.
const BYTES_WITHIN: f64 = 0.03;
/// How far IP RE's time may be from that of no RE, to either side: "comparable".
const COMPARABLE_WITHIN: f64 = 0.15;
/// How far indices, shares and rates that are to be like no RE's may be from it, to either side.
const LIKE_WITHIN: f64 = 0.05;
/// How far our form of an algorithm may be from the kernel's own in time, to either side.
const CONTROL_WITHIN: f64 = 0.10;
/// How far a boosted time may be from the other where nothing repeats, to either side.
const HARM_WITHIN: f64 = 0.02;

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let mut claims = vec![bytes_are_the_letters(rows), anomaly(rows), cure(rows)];
    claims.push(table_1_is_the_letters(rows));
    claims.extend([System::PRINTED, System::OURS].map(|systems| figure_2_is_no_slower(rows, systems)));
    claims.extend([System::PRINTED, System::OURS].map(|[_, boosted]| rate_is_like_no_re(rows, boosted)));
    claims.extend([System::PRINTED, System::OURS].map(|[_, boosted]| fair(rows, boosted)));
    claims.extend([every_control_gains(rows), goal_of_every_control(rows), control(rows)]);
    claims.extend([goal_of_anomaly(rows), goal_of_reference(rows), goal_of_table_1(rows), no_harm(rows)]);
    claims
}

fn bytes_are_the_letters(rows: &[Row]) -> Claim {
    let left = chunk_match::left();
    let claim = format!("bytes on the link by those of no RE: {left}, within {BYTES_WITHIN}");
    let mut judging = Judging::new(rows, claim);
    for system in System::PRINTED {
        if let Some(value) = judging.value(chunk_match::FIGURE.id, chunk_match::BYTES, system.name()) {
            let holds = Band::around(left, BYTES_WITHIN).has(value);
            judging.found(holds, format!("{} {value:.3}", system.name()));
        }
    }
    judging.done()
}

/// Section II-B: comparable to no RE.
fn anomaly(rows: &[Row]) -> Claim {
    let claim = format!("the anomaly: IP RE takes no RE's time, within {COMPARABLE_WITHIN}");
    let mut judging = Judging::new(rows, claim);
    let [ip_re, _] = System::PRINTED;
    if let Some(value) = judging.value(chunk_match::FIGURE.id, chunk_match::TIME, ip_re.name()) {
        judging.found((value - 1.0).abs() <= COMPARABLE_WITHIN, format!("{value:.3}"));
    }
    judging.done()
}

fn cure(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "the cure: REboost takes less time than IP RE and than no RE");
    let [ip_re, boosted] =
        System::PRINTED.map(|system| judging.value(chunk_match::FIGURE.id, chunk_match::TIME, system.name()));
    if let (Some(ip_re), Some(boosted)) = (ip_re, boosted) {
        judging.found(boosted < ip_re && boosted < 1.0, format!("{boosted:.3} and {ip_re:.3} of no RE's"));
    }
    judging.done()
}

/// The letter's number is of one network, which is not ours: its order is the claim.
fn table_1_is_the_letters(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "table I: REboost takes less time than IP RE on every network");
    for (name, with_loss) in table_1::names().into_iter().flat_map(|name| [(name, false), (name, true)]) {
        let place = table_1::place(name, with_loss);
        if let Some(value) = judging.value(table_1::FIGURE.id, table_1::PRINTED, place.as_str()) {
            judging.found(value < 1.0, format!("{value:.3} ({place})"));
        }
    }
    judging.done()
}

/// No cell slower than no RE or IP RE beyond the interval.
fn figure_2_is_no_slower(rows: &[Row], [ip_re, boosted]: [System; 2]) -> Claim {
    let claim = format!("figure 2: no cell slower with {}, beyond the interval", boosted.name());
    let mut judging = Judging::new(rows, claim);
    let ends = [System::NoRe, ip_re].map(|other| format!(": {} to {}", boosted.name(), other.name()));
    let chosen = |row: &Row| row.unit == "ratio" && ends.iter().any(|end| row.series.ends_with(end.as_str()));
    for (row, value) in judging.all(figure_2::FIGURE.id, "", chosen) {
        let least = row.low.unwrap_or(value);
        judging.cell(least <= 1.0, || format!("{} at {}: {value:.3}", row.series, row.x));
    }
    judging.done()
}

fn rate_is_like_no_re(rows: &[Row], boosted: System) -> Claim {
    let claim = format!("figure 3: {}'s data rate is no RE's, within {LIKE_WITHIN}", boosted.name());
    let mut judging = Judging::new(rows, claim);
    if let Some(value) = judging.value(figure_3::FIGURE.id, figure_3::QUOTIENT, boosted.name()) {
        judging.found((value - 1.0).abs() <= LIKE_WITHIN, format!("{value:.3}"));
    }
    judging.done()
}

/// An index above no RE's, or a plain flow that gets more, is no more like no RE than the reverse.
fn fair(rows: &[Row], boosted: System) -> Claim {
    let name = boosted.name();
    let claim =
        format!("table II, {name}: Jain's index and the plain flow's rate are no RE's, within {LIKE_WITHIN}");
    let mut judging = Judging::new(rows, claim);
    for series in [table_2::JAIN, table_2::PLAIN] {
        let [ours, theirs] =
            [boosted, System::NoRe].map(|system| judging.value(table_2::FIGURE.id, series, system.name()));
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            let holds = (ours / theirs - 1.0).abs() <= LIKE_WITHIN;
            judging.found(holds, format!("{series} {ours:.3} and {theirs:.3}"));
        }
    }
    judging.done()
}

fn every_control_gains(rows: &[Row]) -> Claim {
    let claim = "figure 4: REboost takes less time than IP RE under each of the five congestion controls";
    let mut judging = Judging::new(rows, claim);
    for control in figure_4::CONTROLS {
        if let Some(value) = judging.value(figure_4::FIGURE.id, figure_4::PRINTED, control) {
            judging.found(value < 1.0, format!("{value:.3} {control}"));
        }
    }
    judging.done()
}

/// What another form of the algorithm gains by itself does not count.
fn goal_of_every_control(rows: &[Row]) -> Claim {
    let claim = "our goal, figure 4: at most 0.75 of IP RE's time under each congestion control, by the control at \
                 ratio 1";
    let mut judging = Judging::new(rows, claim);
    for control in figure_4::CONTROLS {
        let [boosted, plain] = [figure_4::OURS, figure_4::CONTROL]
            .map(|series| judging.value(figure_4::FIGURE.id, series, control));
        if let (Some(boosted), Some(plain)) = (boosted, plain) {
            let value = boosted / plain;
            judging.found(value <= 0.75, format!("{value:.3} {control}"));
        }
    }
    judging.done()
}

fn control(rows: &[Row]) -> Claim {
    let claim = format!(
        "figure 4's control: at ratio 1 REboost's algorithms take the time of the kernel's own, within {CONTROL_WITHIN}"
    );
    let mut judging = Judging::new(rows, claim);
    for control in figure_4::CONTROLS {
        if let Some(value) = judging.value(figure_4::FIGURE.id, figure_4::CONTROL, control) {
            judging.found((value - 1.0).abs() <= CONTROL_WITHIN, format!("{value:.3} {control}"));
        }
    }
    judging.done()
}

fn goal_of_anomaly(rows: &[Row]) -> Claim {
    let claim = "our goal: at 100 ms and 1% the 10 MB file takes REboost at most 0.50 of no RE's time";
    let mut judging = Judging::new(rows, claim);
    if let Some(value) = judging.value(headline::FIGURE.id, "to no RE: REboost", File::Pages.name().as_str())
    {
        judging.found(value <= 0.50, format!("{value:.3}"));
    }
    judging.done()
}

/// Time as if the file had the size of its sent bytes.
fn goal_of_reference(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(
        rows,
        "our goal: REboost at most 1.15 of what no RE takes for the compressed size (1.10 for the 10 MB file)",
    );
    for file in File::RATIOS {
        let most = if file == File::Pages { 1.10 } else { 1.15 };
        let name = file.name();
        if let Some(value) = judging.value(headline::FIGURE.id, "to the reference: REboost", name.as_str()) {
            judging.found(value <= most, format!("{value:.3} ({name})"));
        }
    }
    judging.done()
}

fn goal_of_table_1(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "our goal, table I with loss: at most 0.80 of IP RE's time");
    for name in table_1::names() {
        let place = table_1::place(name, true);
        if let Some(value) = judging.value(table_1::FIGURE.id, table_1::OURS, place.as_str()) {
            judging.found(value <= 0.80, format!("{value:.3} ({name})"));
        }
    }
    judging.done()
}

fn no_harm(rows: &[Row]) -> Claim {
    let claim = format!("where nothing repeats, boosted within {}% of not boosted", HARM_WITHIN * 100.0);
    let mut judging = Judging::new(rows, claim);
    for round_trip in harm::ROUND_TRIPS {
        if let Some(value) = judging.value(harm::FIGURE.id, "boosted to not boosted", round_trip) {
            judging.found((value - 1.0).abs() <= HARM_WITHIN, format!("{value:.3} at {round_trip} ms"));
        }
    }
    judging.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(rows: &[Row], beginning: &str) -> Option<bool> {
        crate::claim::holds(&claims(rows), beginning)
    }

    #[test]
    fn a_fairer_index_than_no_res_is_no_more_like_it() {
        let row =
            |series, system: System, value| Row::new("table-2", series, system.name(), "").exactly(value);
        let rows = |jain| {
            [System::NoRe, System::ReboostChunks].map(|system| {
                let jain = if system == System::NoRe { 0.9 } else { jain };
                [row(table_2::JAIN, system, jain), row(table_2::PLAIN, system, 5.0)]
            })
        };
        let claim = "table II, REboost, chunk-match";
        let found = [0.84, 0.86, 0.94, 0.96].map(|jain| holds(rows(jain).as_flattened(), claim));
        assert_eq!(found, [Some(false), Some(true), Some(true), Some(false)]);
    }

    #[test]
    fn a_kernel_without_a_control_does_not_pass_for_all_five() {
        let mut rows: Vec<Row> = figure_4::CONTROLS
            .map(|control| Row::new("4", figure_4::PRINTED, control, "ratio").exactly(0.7))
            .into();
        assert_eq!(holds(&rows, "figure 4: REboost takes less"), Some(true));
        rows[2].value = None;
        assert_eq!(holds(&rows, "figure 4: REboost takes less"), Some(false));
    }

    #[test]
    fn what_our_form_of_an_algorithm_gains_by_itself_is_no_gain_of_boosting() {
        let rows = |control: f64| {
            [(figure_4::OURS, 0.6), (figure_4::CONTROL, control)]
                .map(|(series, value)| Row::new("4", series, "vegas", "ratio").exactly(value))
        };
        assert_eq!(holds(&rows(1.0), "our goal, figure 4"), Some(true));
        assert_eq!(holds(&rows(0.7), "our goal, figure 4"), Some(false));
        assert_eq!(holds(&rows(0.7), "figure 4's control"), Some(false));
        assert_eq!(holds(&rows(1.2), "figure 4's control"), Some(false));
    }
}
