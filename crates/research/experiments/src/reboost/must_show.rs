//! What must come out, held against the rows.

use super::content::File;
use super::{figure_2, figure_3, figure_4, harm, headline, table_1, table_2};
use crate::papers;
use crate::report::Claim;
use crate::row::{Row, X, of, value};

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    let pages = File::Pages.name();
    let anomaly = |series: &str, x: &str| named(rows, headline::FIGURE.id, series, x);
    let reduced = |id| papers::REBOOST.value(id).number();
    let left = reduced("section-2.b/reduced-size").over(reduced("section-2.b/stream-size"));
    let mut claims = vec![
        judge(
            "at 100 ms and 1% the 10 MB file takes REboost at most 0.50 of no RE's time",
            anomaly("to no RE: REboost", &pages),
            |it| it <= 0.50,
        ),
        judge("... and IP RE more than 0.85: the anomaly", anomaly("to no RE: IP RE", &pages), |it| {
            it > 0.85
        }),
        judge(
            "... and REboost at most 1.10 of what no RE takes for a file of the compressed size",
            anomaly("to the reference: REboost", &pages),
            |it| it <= 1.10,
        ),
        judge(
            &format!("bytes on the link by those of no RE: {left}, give or take 0.03"),
            anomaly("bytes to no RE: REboost", &pages),
            |it| (it - left.get()).abs() <= 0.03,
        ),
    ];
    for file in File::RATIOS.into_iter().skip(1) {
        let found = anomaly("to the reference: REboost", &file.name());
        let claim =
            format!("{}: REboost at most 1.15 of what no RE takes for the compressed size", file.name());
        claims.push(judge(&claim, found, |it| it <= 1.15));
    }
    claims.extend([figure_2_is_no_slower(rows), table_1_is_faster(rows), rate_is_the_reference(rows)]);
    claims.extend(fair(rows));
    claims.push(every_control_gains(rows));
    let harm: Vec<f64> = harm::ROUND_TRIPS
        .iter()
        .filter_map(|&round_trip| value(rows, harm::FIGURE.id, "boosted to not boosted", round_trip.into()))
        .collect();
    claims.push(judge_all("where nothing repeats, boosted within 2% of not boosted", &harm, |it| {
        (it - 1.0).abs() <= 0.02
    }));
    claims
}

fn judge(claim: &str, found: Option<f64>, holds: impl Fn(f64) -> bool) -> Claim {
    judge_all(claim, found.as_slice(), holds)
}

fn judge_all(claim: &str, found: &[f64], holds: impl Fn(f64) -> bool) -> Claim {
    let texts = found.iter().map(|it| format!("{it:.3}")).collect();
    Claim::judged(claim, texts, found.iter().copied().all(holds))
}

/// The value of a series at a named place.
fn named(rows: &[Row], figure: &str, series: &str, x: &str) -> Option<f64> {
    of(rows, figure).find(|row| row.series == series && row.x == X::Name(x.to_owned()))?.value
}

/// No cell slower than no RE or IP RE beyond the interval.
fn figure_2_is_no_slower(rows: &[Row]) -> Claim {
    let is_quotient = |row: &&Row| row.unit == "ratio" && row.value.is_some();
    let quotients: Vec<&Row> = of(rows, figure_2::FIGURE.id).filter(is_quotient).collect();
    let count = quotients.len();
    let is_slower = |row: &&Row| row.low.or(row.value).is_some_and(|low| low > 1.0);
    let slower = quotients.into_iter().filter(is_slower);
    let slower: Vec<String> = slower.map(|row| format!("{} at {}", row.series, row.x)).collect();
    let found = match (count, slower.is_empty()) {
        (0, _) => Vec::new(),
        (_, true) => vec![format!("none of {count} quotients")],
        (_, false) => slower.clone(),
    };
    Claim::judged("no cell of figure 2 slower with REboost, beyond the interval", found, slower.is_empty())
}

fn table_1_is_faster(rows: &[Row]) -> Claim {
    let found: Vec<f64> = table_1::names()
        .iter()
        .filter_map(|name| named(rows, table_1::FIGURE.id, "to IP RE: REboost", &table_1::place(name, true)))
        .collect();
    judge_all("table I with loss: at most 0.80 of IP RE's time", &found, |it| it <= 0.80)
}

fn every_control_gains(rows: &[Row]) -> Claim {
    let found: Vec<f64> = of(rows, figure_4::FIGURE.id)
        .filter(|row| row.series == figure_4::QUOTIENT)
        .filter_map(|row| row.value)
        .collect();
    judge_all("figure 4: at most 0.75 of IP RE's time under each congestion control", &found, |it| it <= 0.75)
}

fn rate_is_the_reference(rows: &[Row]) -> Claim {
    let found = named(rows, figure_3::FIGURE.id, figure_3::QUOTIENT, "REboost");
    judge("figure 3: the data rate within 0.90 to 1.05 of no RE's", found, |it| (0.90..=1.05).contains(&it))
}

fn fair(rows: &[Row]) -> [Claim; 2] {
    let of = |series, system| named(rows, table_2::FIGURE.id, series, system);
    let jain = of(table_2::JAIN, "REboost").zip(of(table_2::JAIN, "no RE"));
    let plain = of(table_2::PLAIN, "REboost").zip(of(table_2::PLAIN, "no RE"));
    [
        judge(
            "table II: Jain's index no more than 0.01 below no RE's",
            jain.map(|(ours, theirs)| ours - theirs),
            |it| it >= -0.01,
        ),
        judge(
            "a plain flow loses at most 5% beside a boosted one",
            plain.map(|(ours, theirs)| ours / theirs),
            |it| it >= 0.95,
        ),
    ]
}
