//! Kept rows beside those that the same command gives now.

use super::KeptRun;
use crate::row::Row;

/// The largest relative difference of a value without an interval: less than three printed digits show.
const UNSEEN: f64 = 0.005;

/// Kept values from which the rows of a later run differ, or that are not there any more. A line for each.
#[must_use]
pub fn differences(kept: &KeptRun, again: &[Row]) -> Vec<String> {
    let place = |row: &Row| format!("figure {}, {}, {}", row.figure, row.series, row.x);
    let mut differences = Vec::new();
    for row in &kept.rows {
        let same = |it: &&Row| it.figure == row.figure && it.series == row.series && it.x == row.x;
        let Some(found) = again.iter().find(same) else {
            differences.push(format!("{}: there is no such row any more", place(row)));
            continue;
        };
        let is_within = match (row.value, found.value) {
            (None, None) => true,
            (Some(before), Some(now)) => {
                let [low, high] = bounds(row, before, found.seeds);
                (low..=high).contains(&now)
            }
            _ => false,
        };
        if !is_within {
            let text =
                |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| value.to_string());
            differences.push(format!(
                "{}: {} was kept, now {}",
                place(row),
                text(row.value),
                text(found.value)
            ));
        }
    }
    differences
}

/// Where a later mean of `seeds` runs lies with 95% confidence, or what rounding allows. The kept interval
/// encloses the true mean. A later mean lies farther away: by the square root of 1 + kept / later seeds.
fn bounds(row: &Row, value: f64, seeds: u32) -> [f64; 2] {
    let unseen = UNSEEN * value.abs();
    let farther = (1.0 + f64::from(row.seeds) / f64::from(seeds.max(1))).sqrt();
    let end = |end: Option<f64>| value + (end.unwrap_or(value) - value) * farther;
    [end(row.low).min(value - unseen), end(row.high).max(value + unseen)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(rows: Vec<Row>) -> KeptRun {
        KeptRun::sample("6", rows)
    }

    #[test]
    fn a_value_that_is_too_far_from_the_kept_interval_is_named() {
        let row = |value| Row::new("6", "a", 1.0, "s").exactly(value);
        let with_interval = kept(vec![Row { low: Some(0.8), high: Some(1.2), seeds: 3, ..row(1.0) }]);
        let later = |seeds, value| differences(&with_interval, &[Row { seeds, ..row(value) }]);
        assert!(later(1, 1.4).is_empty());
        assert!(later(1, 1.41)[0].contains("1 was kept, now 1.41"));
        assert!(later(3, 1.28).is_empty());
        assert!(later(3, 1.29)[0].contains("1 was kept, now 1.29"));
        let without = kept(vec![row(1.0)]);
        assert!(differences(&without, &[row(1.004)]).is_empty());
        assert_eq!(differences(&without, &[row(1.006)]).len(), 1);
    }

    #[test]
    fn a_row_that_is_gone_or_has_lost_its_value_is_named() {
        let row = Row::new("6", "a", 1.0, "s");
        let valued = kept(vec![row.clone().exactly(1.0)]);
        assert!(differences(&valued, &[])[0].contains("no such row"));
        assert!(differences(&valued, std::slice::from_ref(&row))[0].contains("now none"));
        assert!(differences(&kept(vec![row.clone()]), &[row]).is_empty());
    }
}
