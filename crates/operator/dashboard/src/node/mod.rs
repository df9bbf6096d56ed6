//! The operator's view: the last hour of a node.
//!
//! A node counts and keeps no history. Once a second a caller requests its [`report`] and passes it to a
//! [`History`], which keeps the differences: a [`Sample`] for each peer and one for the whole node, ten
//! minutes in steps of a second and an hour in steps of ten. Rings are bounded in steps and in peers, so a
//! gateway with a thousand stations needs at most 12 MB.
//!
//! There are three views of the series. [`terminal`] draws them with characters (`overheard top`), from the
//! status socket. [`page`] serves them as a self-contained web page and as JSON, and the counts since the
//! start as [`metrics`] for Prometheus. Readers cost the node nothing: answers come from the last second's
//! report, without the thread that carries packets.
//!
//! Saved bytes are distinguished by mechanism. *Reduced* bytes are those of redundancy elimination; shorter
//! headers and compressed literals save more. *Overheard* bytes were not sent because the receiver has them.
//! *Coded* bytes left combined with others' packets. *Packing* several packets into one datagram saves
//! datagram headers. [`air_time`] estimates the air time.

pub mod air_time;
pub mod gathered;
pub mod history;
pub mod known;
#[cfg(feature = "views")]
pub mod metrics;
#[cfg(feature = "views")]
pub mod page;
pub mod report;
pub mod sample;
#[cfg(feature = "views")]
pub mod terminal;

pub use ::page::ring::Step;
pub use gathered::Gathered;
pub use history::{History, Series};
pub use known::Known;
pub use report::{About, Report};
pub use sample::{Columns, Sample};
