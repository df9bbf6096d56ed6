//! The savings of the tunnel itself: two nodes of the product carry the capture's packets in virtual time.
//!
//! One node stands on the servers' side and one on the clients' side. Both have the default configuration,
//! except the size of their stores. The link between them loses nothing. All of the tunnel is counted:
//! references, shorter headers, compressed literals, packing, seals, receipts, and outer headers of IPv4.
//!
//! Savings are those that `overheard status` calls SAVED: the share by which the datagrams with their outer
//! headers are smaller than the IP packets that they carry. The base is therefore whole packets, and not only
//! their payload.

mod curve;
mod pair;
mod report;
mod schedule;

pub(crate) use curve::{curve, store_to_take};
pub(crate) use pair::Pair;
pub use report::{Carried, TunnelReport};

use std::time::Duration;

/// The link between the two nodes, and the sizes of their stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TunnelOptions {
    /// The round-trip time of the link.
    pub round_trip: Duration,
    /// Longer pauses between packets are shortened to this. A jump of the capture's clock is such a pause.
    pub longest_pause: Duration,
    /// The largest store that is tried, in MiB.
    pub largest_store_mib: usize,
}

impl Default for TunnelOptions {
    fn default() -> Self {
        TunnelOptions {
            round_trip: Duration::from_millis(40),
            longest_pause: Duration::from_secs(60),
            largest_store_mib: 256,
        }
    }
}

/// The store of the default configuration, in MiB.
#[must_use]
pub fn default_store_mib() -> usize {
    re::Parameters::default().store_bytes >> 20
}
