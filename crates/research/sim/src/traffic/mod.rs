//! Where packets come from.
//!
//! A [`Source`] is both ends of one application: it says when a packet enters the network, and is told when
//! one has come out. Sources are sans-IO like everything else here, and there is no TCP among them; a
//! schedule of packets from a capture would be one more.

mod constant_rate;
mod content;
mod packet;
mod ping;
mod segments;

pub use constant_rate::ConstantRate;
pub use content::Content;
pub use packet::{Ends, Family};
pub use ping::Ping;
pub use segments::Segments;

use crate::delays::Delays;
use std::time::Duration;

/// Where a packet enters the network and where it is to leave it: numbers of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Where it enters.
    pub from: usize,
    /// Where it is to leave.
    pub to: usize,
}

/// Both ends of an application.
pub trait Source: Send {
    /// When [`Source::poll_packet`] has something next; `None`: only after a delivery, or never again.
    fn poll_timeout(&self) -> Option<Duration>;

    /// The next packet that is due at `now`, written to `packet` (which is empty).
    fn poll_packet(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<Passage>;

    /// A packet of this source has come out at a host, the first time that it did.
    fn handle_delivery(&mut self, now: Duration, host: usize, packet: &[u8]) {
        let _ = (now, host, packet);
    }

    /// Whether everything that the source wanted has happened: for a source that can tell.
    fn is_complete(&self) -> bool {
        false
    }

    /// When it became so.
    fn completed_at(&self) -> Option<Duration> {
        None
    }

    /// The share of what it wanted to bring over that has come out without a gap from the beginning, for a
    /// source that can tell.
    fn in_order_share(&self) -> Option<f64> {
        None
    }

    /// The round trips that it measured, if it does that.
    fn round_trips(&self) -> Option<&Delays> {
        None
    }
}
