//! What must come out, held against the rows: goals of ours.

use super::grid::{ADDED, AGAINST_BEST, BY_BASELINE, WAITED};
use crate::claim::{Claim, Judging};
use crate::row::Row;

/// The largest ratio of everything together to the best of all combinations.
const WITHIN: f64 = 1.03;

/// Holds rows against every claim.
#[must_use]
pub fn claims(rows: &[Row]) -> Vec<Claim> {
    vec![all_is_best(rows), all_beats_the_baseline(rows), all_end(rows)]
}

fn all_is_best(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "everything on is within 3% of the best combination in every cell");
    for (row, value) in judging.all(AGAINST_BEST.id, "wire of ", |_| true) {
        judging.found(value <= WITHIN, format!("{value:.3} at {}% and {} ({})", row.x, row.series, row.note));
    }
    judging.done()
}

/// What needs no redundancy elimination, no overhearing and no cache must not do as well.
fn all_beats_the_baseline(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "everything on is quicker than zstd and ARQ alone in every cell");
    for (row, value) in judging.all(ADDED.id, BY_BASELINE, |row| row.series.ends_with(", everything")) {
        judging.found(value < 1.0, format!("{value:.3} at {}% and {}", row.x, row.series));
    }
    judging.done()
}

fn all_end(rows: &[Row]) -> Claim {
    let mut judging = Judging::new(rows, "every download ends whole, whatever is on");
    for (row, _) in judging.all(WAITED.id, "waited: ", |_| true) {
        let holds = !row.note.contains("did not end");
        judging.cell(holds, || format!("{} with {}: {}", row.series, row.x, row.note));
    }
    judging.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_did_not_end_and_a_cell_without_any_that_did_fail() {
        let row = |value| Row { value, ..Row::new(WAITED.id, "waited: 10% lost", "nothing", "s") };
        let holds = |row: Row| claims(&[row])[2].holds;
        assert_eq!(holds(row(Some(3.0))), Some(true));
        assert_eq!(holds(row(Some(3.0)).note("1 runs did not end")), Some(false));
        assert_eq!(holds(row(None)), Some(false));
    }
}
