//! What stands for the programs where they are not built.

use crate::{Error, Told, Wrapped};
use wire::inner::Flow;

/// A congestion control that cannot be loaded.
pub enum Controller {}

impl Controller {
    /// Says that there is nothing to load.
    ///
    /// # Errors
    ///
    /// [`Error::NotBuilt`], always.
    pub fn load(_: Wrapped) -> Result<Self, Error> {
        Err(Error::NotBuilt)
    }

    /// What it wraps.
    #[must_use]
    pub fn wrapped(&self) -> Wrapped {
        match *self {}
    }

    /// What sockets and routes choose it by.
    #[must_use]
    pub fn name(&self) -> &str {
        match *self {}
    }

    /// Whether it ends with this process.
    #[must_use]
    pub fn ends_with_process(&self) -> bool {
        match *self {}
    }

    /// Says how many segments a wire packet carries of a flow.
    pub fn tell(&self, _: &Flow, _: f64) {
        match *self {}
    }

    /// Takes what a node says.
    pub fn note(&self, _: &Told) {
        match *self {}
    }

    /// Whether this process may tell ratios with the rights that it has now.
    #[must_use]
    pub fn may_tell(&self) -> bool {
        match *self {}
    }
}
