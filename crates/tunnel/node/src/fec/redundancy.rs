//! How many repairs leave for the sources that left.
//!
//! Of sources that leave in a row, a fixed share of repairs goes between them: a little less than twice the
//! air's loss. Half of it replaces what is lost, and the rest is why it does not take long. At the end of a
//! burst the last sources are repaired at once, because nothing follows them that would be.

/// Losses below this are left to ARQ: repairs would cost more than they bring.
const LEAST_LOSS: f64 = 0.003;
/// From this loss on, the end of a burst has a repair of its own.
const LEAST_LOSS_AT_END: f64 = 0.008;
/// Repairs a source and loss.
const SHARE_OF_LOSS: f64 = 1.85;
/// Repairs a source beside that.
const SHARE: f64 = 0.008;
/// The largest share of repairs.
const MAX_SHARE: f64 = 0.6;

/// Repairs for each source, where the air loses this share.
#[must_use]
pub fn share(loss: f64) -> f64 {
    if loss < LEAST_LOSS { 0.0 } else { (loss * SHARE_OF_LOSS + SHARE).min(MAX_SHARE) }
}

/// Whether the end of a burst has repairs of its own.
#[must_use]
pub fn covers_end(loss: f64) -> bool {
    loss >= LEAST_LOSS_AT_END
}

/// Repairs for a burst of so many sources that restore nearly all of what it loses: the expected losses, and
/// two standard deviations.
#[must_use]
pub fn for_burst(loss: f64, sources: usize) -> f64 {
    let expected = sources as f64 * loss;
    expected / (1.0 - loss).max(0.1) + 2.0 * expected.sqrt() + 0.5
}
