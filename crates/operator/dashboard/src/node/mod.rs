//! What an operator looks at: the last hour of a node.
//!
//! A node counts and keeps no times. Once a second somebody asks it how it is ([`report`]), and tells a
//! [`History`], which keeps what has happened since the question before: a [`Sample`] for each peer and one
//! for the node as a whole, ten minutes in steps of a second and an hour in steps of ten. Rings are bounded
//! in steps and in peers, so that a gateway of a thousand stations needs no more than 10 MB for it.
//!
//! The same series are shown three times. [`terminal`] draws them with characters (`overheard top`), from
//! what the status socket says. [`page`] serves them as a web page, with nothing on it that comes from
//! elsewhere, as JSON, and, counted since the start, as [`metrics`] for Prometheus. Whoever reads a page, and
//! however often, costs the node nothing: answers come from the last second's report, and the thread that
//! carries packets is not asked.
//!
//! Bytes that a mechanism saved are told apart as the pipeline does it: what redundancy elimination
//! *reduced*, what shorter headers and compressed literals left out beyond that, what was *overheard* and
//! therefore not sent, what left *coded* with what is for others, and what *packing* several packets into one
//! datagram saved in headers of datagrams. What the air time would have been is reckoned by [`air_time`].

pub mod air_time;
pub mod gathered;
pub mod history;
pub mod metrics;
pub mod page;
pub mod report;
pub mod sample;
pub mod terminal;

pub use ::page::ring::Step;
pub use gathered::Gathered;
pub use history::{History, Series};
pub use report::{About, Report};
pub use sample::{Columns, Sample};
