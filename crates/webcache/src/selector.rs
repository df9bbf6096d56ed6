//! Which other router to ask.

use crate::proxy::Way;
use crate::semantics::key::Key;

/// Chooses.
#[derive(Debug)]
pub struct Selector;

impl Selector {
    /// Ways.
    pub async fn ways(&self, _key: &Key, _from_peer: bool) -> Vec<Way> {
        Vec::new()
    }
}
