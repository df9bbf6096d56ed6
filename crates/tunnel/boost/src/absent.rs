//! Replacement of the programs in a build without them.

use crate::{Error, Told, Wrapped};
use wire::inner::Flow;

/// A congestion control that cannot be loaded.
pub enum Controller {}

impl Controller {
    /// Fails, because there is nothing to load.
    ///
    /// # Errors
    ///
    /// [`Error::NotBuilt`], always.
    pub fn load(_: Wrapped) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    /// The wrapped congestion control.
    #[must_use]
    pub fn wrapped(&self) -> Wrapped {
        match *self {}
    }

    /// Its name for sockets and routes.
    #[must_use]
    pub fn name(&self) -> &str {
        match *self {}
    }

    /// Whether it ends with this process.
    #[must_use]
    pub fn ends_with_process(&self) -> bool {
        match *self {}
    }

    /// Sets the number of segments of a flow in a wire packet.
    pub fn tell(&self, _: &Flow, _: f64) {
        match *self {}
    }

    /// Writes a node's ratio.
    pub fn note(&self, _: &Told) {
        match *self {}
    }

    /// Whether this process has the right to write ratios now.
    #[must_use]
    pub fn may_tell(&self) -> bool {
        match *self {}
    }
}
