//! No redundancy elimination.

use super::ReferencePolicy;
use crate::store::Stored;
use wire::inner::Inner;

/// Allows no reference.
#[derive(Debug, Clone, Copy)]
pub struct Off;

impl ReferencePolicy for Off {
    fn admit(&mut self, _: u64, _: &Inner) -> bool {
        false
    }

    fn may_refer(&self, _: &Stored<'_>) -> bool {
        false
    }
}
