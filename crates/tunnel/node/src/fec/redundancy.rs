//! How many repairs leave for the sources that left.
//!
//! Of sources that leave in a row, a fixed share of repairs goes between them: a little less than twice
//! the air's loss. More than half of it replaces what is lost, and the rest is why it does not take long.
//! At the end of a burst the last sources are repaired at once, because nothing follows them that would
//! be. Where fewer repairs came than sources are missing, the receiver names as many missing ones as
//! repairs lack. They have repairs of them alone, once. A lost retransmission would be a further round
//! trip; any repairs of the same number restore all.

/// Losses below this are left to ARQ: repairs would cost more than they bring.
const LEAST_LOSS: f64 = 0.003;
/// From this loss on, the end of a burst has a repair of its own.
const LEAST_LOSS_AT_END: f64 = 0.008;
/// Repairs a source and loss.
const SHARE_OF_LOSS: f64 = 1.8;
/// Repairs a source beside that.
const SHARE: f64 = 0.008;
/// A burst of so many sources is small.
const FEW: usize = 3;
/// The largest share of repairs.
const MAX_SHARE: f64 = 0.6;

/// Repairs for each source, where the air loses this share.
#[must_use]
pub fn share(loss: f64) -> f64 {
    if loss < LEAST_LOSS { 0.0 } else { (loss * SHARE_OF_LOSS + SHARE).min(MAX_SHARE) }
}

/// Repairs of what was not restored, for each source: with the others at most twice the loss, and two in a
/// hundred.
#[must_use]
pub fn share_again(loss: f64) -> f64 {
    (2.0 * loss + 0.02 - share(loss)).max(0.0)
}

/// Whether the end of a burst has repairs of its own.
#[must_use]
pub fn covers_end(loss: f64) -> bool {
    loss >= LEAST_LOSS_AT_END
}

/// Repairs for a burst of so many sources that restore nearly all of what it loses: the expected losses, and
/// three standard deviations; two where every repair is many for what it repairs.
#[must_use]
pub fn for_burst(loss: f64, sources: usize) -> f64 {
    let deviations = if sources <= FEW { 2.0 } else { 3.0 };
    let expected = sources as f64 * loss;
    expected / (1.0 - loss).max(0.1) + deviations * expected.sqrt() + 0.5
}

/// A burst that somebody waits for is not restored with this probability at most.
const MOST_UNRESTORED: f64 = 0.002;

/// Repairs for so many sources that somebody waits for: more losses than repairs, of both together, are
/// improbable.
#[must_use]
pub fn for_awaited(loss: f64, sources: usize) -> usize {
    let mut repairs = 0;
    while repairs < 2 * sources + 2 && more_lost(loss, sources + repairs, repairs) > MOST_UNRESTORED {
        repairs += 1;
    }
    repairs
}

/// The probability of more than `most` losses among so many units.
fn more_lost(loss: f64, units: usize, most: usize) -> f64 {
    let mut of_count = (1.0 - loss).powi(units as i32);
    let mut at_most = of_count;
    for count in 1..=most {
        of_count *= loss / (1.0 - loss) * (units + 1 - count) as f64 / count as f64;
        at_most += of_count;
    }
    1.0 - at_most
}

/// The largest loss at which sources are repaired alone: a path that loses more may be a narrow one, on which
/// no repair of a long source arrives.
pub const MOST_LOSS_AGAIN: f64 = 0.35;

/// Repairs of so many lost sources alone that restore all of them in most cases: the expected losses, and one
/// standard deviation.
#[must_use]
pub fn for_lost(loss: f64, sources: usize) -> usize {
    let each = 1.0 / (1.0 - loss).max(0.1);
    let lost = sources as f64 * each * loss;
    (sources as f64 * each + lost.sqrt() + 0.5) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_waits_for_is_nearly_always_restored() {
        for (loss, sources, repairs) in [(0.0, 8, 0), (0.05, 1, 2), (0.05, 8, 3), (0.1, 8, 5), (0.2, 1, 3)] {
            assert_eq!(for_awaited(loss, sources), repairs, "{loss} {sources}");
        }
        // two of two: a quarter
        assert!((more_lost(0.5, 2, 1) - 0.25).abs() < 1e-12);
    }
}
