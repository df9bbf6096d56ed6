//! What is known of radios: loss models, links and media, emulated without any clock of their own.
//!
//! A [`Link`] is one direction of a point-to-point path. Whoever drives it (a simulation in one process, a
//! program between two TAP devices, the same program in a kernel whose time is virtual) offers frames with
//! [`Link::send`], asks [`Link::poll_timeout`] when to come back, and takes what arrived with
//! [`Link::poll_deliver`]. Time is what the driver says it is: a `Duration` since an origin of its choice.
//!
//! A frame passes four places, in this order:
//!
//! 1. the **queue**, bounded in bytes; what does not fit is dropped from the tail and counted apart, for it
//!    never touched the air;
//! 2. the **transmitter**, one frame at a time: a fixed [`Bitrate`], a recorded capacity ([`mahimahi`]), or
//!    802.11 with its preambles, backoff, acknowledgements and retries ([`timing`]);
//! 3. the **air**, which may lose the frame ([`LossConfig`]), flip one of its bits, deliver it twice, or hold
//!    it back so that later ones overtake it;
//! 4. the **flight**: the delay, in order unless held back.
//!
//! A [`Medium`] is one channel that many stations share, over distances: who hears whom, who holds whom back,
//! and whose frames meet on the air. It is driven in the same way.
//!
//! # Paired comparisons
//!
//! Two runs that differ only in what is sent (with and without redundancy elimination, say) must meet the
//! same air, or the difference between them drowns in chance. So the air's decision on a frame depends on the
//! seed and on the frame's **index among those that were transmitted**, and on nothing that happened to other
//! frames' sizes or contents: the variates of [`variates`] are addressed by purpose and index, not drawn in
//! passing. Under Bernoulli, Simple-Gilbert and recorded losses the lost indexes are therefore the same
//! whatever the sizes. Where loss depends on length, the same variate is compared with a probability that
//! grows with length: a longer frame is lost whenever the shorter one with its index is.

#![forbid(unsafe_code)]

mod config;
mod counters;
mod fate;
mod link;
pub mod loss;
pub mod mahimahi;
pub mod medium;
mod milliseconds;
pub mod presets;
pub mod receptions;
mod transmitter;
pub mod variates;

pub use config::{CapacityConfig, ConfigError, LinkConfig, RadioConfig, ReorderConfig, TraceError};
pub use counters::{LinkCounters, Tally};
pub use link::Link;
pub use loss::LossConfig;
pub use medium::{Medium, MediumConfig};
pub use radio::{Bitrate, MalformedBitrate, timing};
