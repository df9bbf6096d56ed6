//! The two programs behind scenarios' placeholders.

use std::path::PathBuf;

/// Paths of this project's programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The shipped program: `{overheard}` in scenarios.
    pub overheard: PathBuf,
    /// The laboratory's: `{lab}` in scenarios.
    pub laboratory: PathBuf,
}
