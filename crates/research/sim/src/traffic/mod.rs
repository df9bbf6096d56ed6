//! Traffic sources.
//!
//! A [`Source`] is both ends of one application: it returns packets that enter the network, and is told of
//! deliveries. Sources are sans-IO like everything here, and none is TCP.

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

/// Entry and destination of a packet, by host number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// Where it enters.
    pub from: usize,
    /// The destination.
    pub to: usize,
}

/// Both ends of an application.
pub trait Source: Send {
    /// Time of the next [`Source::poll_packet`]; `None` before another delivery, or for ever.
    fn poll_timeout(&self) -> Option<Duration>;

    /// The next packet that is due at `now`, written to `packet` (which is empty).
    fn poll_packet(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<Passage>;

    /// Notes the first delivery of a packet of this source.
    fn handle_delivery(&mut self, now: Duration, host: usize, packet: &[u8]) {
        let _ = (now, host, packet);
    }

    /// Whether the source has completed, if it knows that.
    fn is_complete(&self) -> bool {
        false
    }

    /// Time of its completion.
    fn completed_at(&self) -> Option<Duration> {
        None
    }

    /// The share of its content that was delivered without a gap from the beginning, if it knows that.
    fn in_order_share(&self) -> Option<f64> {
        None
    }

    /// Its measured round trips, if any.
    fn round_trips(&self) -> Option<&Delays> {
        None
    }
}
