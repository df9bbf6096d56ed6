//! The two programs that scenarios start by placeholders.

use std::path::PathBuf;

/// Where the programs of this project are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The shipped program: `{overheard}` in scenarios.
    pub overheard: PathBuf,
    /// The laboratory's: `{lab}` in scenarios.
    pub laboratory: PathBuf,
}
