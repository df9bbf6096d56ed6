//! What must come out, held against the rows.

use super::grid::{AGAINST_BEST, WAITED};
use crate::report::Claim;
use crate::row::{Row, of};

/// By how much everything together may be worse than the best of all combinations.
const WITHIN: f64 = 1.03;

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    vec![all_is_best(rows), all_end(rows)]
}

fn all_is_best(rows: &[Row]) -> Claim {
    let mut holds = true;
    let found = of(rows, AGAINST_BEST.id).filter_map(|row| {
        let value = row.value?;
        holds &= value <= WITHIN;
        Some(format!("{value:.3} at {}% and {} ({})", row.x, row.series, row.note))
    });
    let found = found.collect();
    Claim::judged("everything on is within 3% of the best combination in every cell", found, holds)
}

fn all_end(rows: &[Row]) -> Claim {
    let cells = of(rows, WAITED.id).count();
    let broken: Vec<String> = of(rows, WAITED.id)
        .filter(|row| row.note.contains("did not end"))
        .map(|row| format!("{} with {}: {}", row.series, row.x, row.note))
        .collect();
    let holds = broken.is_empty();
    let found = match (cells, holds) {
        (0, _) => Vec::new(),
        (_, true) => vec![format!("in {cells} rows")],
        (_, false) => broken,
    };
    Claim::judged("every download ends whole, whatever is on", found, holds)
}
