//! A build that does not ask radios: only nodes that share content with several peers need the rates.

use crate::Error;
use std::net::IpAddr;

/// A station, and the rate of transmissions to it in bits a second.
pub type Rate = (IpAddr, u64);

/// Nothing looks rates up.
pub(crate) struct Watch;

impl Watch {
    /// Calls nobody.
    pub fn begin(_: impl FnMut(Vec<Rate>) -> bool + Send + 'static) -> Result<Self, Error> {
        Ok(Watch)
    }
}
