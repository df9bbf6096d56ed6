//! The papers' experiments, one file a figure or table, and the report that sets ours beside theirs.
//!
//! An experiment asks a [`run::Runner`] for [`lab::Scenario`]s and makes [`row::Row`]s of their outcomes: a figure, a
//! series, a place on the axis, a value with its interval, and the paper's value where its text states one. Contents
//! come from the evaluation data beside the project, or are generated where it is not ([`contents`]). Everything
//! compares pairs: same seed, same losses by packet index ([`estimate`]).
//!
//! [`byte_caching`] is the first.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods)] // Experiments are drivers: they may read clocks and wait.

pub mod byte_caching;
pub mod contents;
pub mod estimate;
pub mod mesh_cache;
pub mod pair;
pub mod report;
pub mod row;
pub mod run;
