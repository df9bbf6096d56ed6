//! What stands for the lists of calls on processors whose numbers nobody has tried.

use super::Profile;

/// Why this is not held.
#[derive(Debug, thiserror::Error)]
#[error("which they are is not known for this processor")]
pub struct NotHeld;

/// Holds nothing.
pub fn hold(_: Profile) -> Result<(), NotHeld> {
    Err(NotHeld)
}
