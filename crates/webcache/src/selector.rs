//! Which other router to ask.

use crate::config::Mesh;
use crate::proxy::Way;
use crate::semantics::key::Key;
use crate::store::Store;
use serde::Serialize;
use std::sync::Arc;

/// Chooses.
#[derive(Debug)]
pub struct Selector;

/// Report.
#[derive(Debug, Clone, Serialize)]
pub struct Report {}

impl Selector {
    /// Ways.
    pub async fn ways(&self, _key: &Key, _from_peer: bool) -> Vec<Way> {
        Vec::new()
    }
    /// Start
    pub async fn start(_mesh: &Mesh, _store: Arc<Store>) -> Result<Arc<Self>, String> {
        Ok(Arc::new(Selector))
    }
    /// report
    pub fn report(&self) -> Report { Report {} }
}
