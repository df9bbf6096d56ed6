//! Radio models: loss models, links and media, emulated without a clock of their own.
//!
//! A [`Link`] is one direction of a point-to-point path. Its driver is a simulation in one process, or a
//! program between two TAP devices on this or a virtual-time kernel. The driver offers frames with
//! [`Link::send`], gets its next time from [`Link::poll_timeout`], and takes arrivals with
//! [`Link::poll_deliver`]. The driver supplies the time, a `Duration` since an origin of its choice.
//!
//! A frame passes five stages, in this order:
//!
//! 1. the **policer**, if there is one: a token bucket that drops what exceeds it;
//! 2. the **queue**, bounded in bytes; when full it drops from the tail, and CoDel drops from its head. Drops
//!    of the policer and the queue are counted separately because they never reached the air;
//! 3. the **transmitter**, one frame at a time: a fixed [`Bitrate`], a recorded capacity ([`mahimahi`]), or
//!    802.11 with its preambles, backoff, acknowledgements and retries ([`timing`]);
//! 4. the **air**, which may lose the frame ([`LossConfig`]), flip one of its bits, deliver it twice, or hold
//!    it back so that later ones overtake it;
//! 5. the **flight**: the delay, in order unless held back.
//!
//! A [`Medium`] is one channel that many stations share over distances, with reception, carrier sense and
//! collisions. Its driver works in the same way.
//!
//! # Paired comparisons
//!
//! Two runs that differ only in the sent content (with and without redundancy elimination, for example) must
//! meet the same air; chance would otherwise hide the difference. The air's decision on a frame thus depends
//! only on the seed and on the frame's **index among the transmitted frames**, and not on other frames. The
//! variates of [`variates`] are addressed by purpose and index. Under Bernoulli, Simple-Gilbert and recorded
//! losses, the lost indexes are therefore equal for all sizes. If loss depends on length, the same variate is
//! compared with a probability that grows with length: a longer frame is lost whenever the shorter one of its
//! index is. Timed Gilbert is the exception: its lost frames are those at certain times.

#![forbid(unsafe_code)]

mod config;
mod counters;
mod fate;
mod link;
pub mod loss;
pub mod mahimahi;
pub mod medium;
mod milliseconds;
mod policer;
pub mod presets;
mod queue;
pub mod receptions;
mod transmitter;
pub mod variates;

pub use config::{
    CapacityConfig, ConfigError, LinkConfig, PolicerConfig, QueueDiscipline, RadioConfig, ReorderConfig,
    TraceError,
};
pub use counters::{LinkCounters, Tally};
pub use link::Link;
pub use loss::LossConfig;
pub use medium::{Medium, MediumConfig};
pub use radio::{Bitrate, MalformedBitrate, timing};
