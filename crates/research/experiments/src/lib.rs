//! The papers' experiments, one file a figure or table, and the report that sets ours beside theirs.
//!
//! An experiment asks a [`run::Runner`] for [`lab::Scenario`]s and makes [`row::Row`]s of their outcomes: a
//! figure, a series, a place on the axis, a value with its interval, and the paper's value where its text
//! states one. Contents come from the evaluation data beside the project, or are generated where it is not
//! ([`contents`]). Everything compares pairs: same seed, same losses by packet index ([`estimate`]).
//!
//! An [`experiment::Experiment`] consists of [`figure::Figure`]s, which name their [`cell`]s and make rows of
//! the results; a cell that several need runs once ([`wanted`]). [`byte_caching`] is the paper of that name.
//! [`no_harm`] shows the default tunnel's effect beyond it, without harm to others. [`links`] is one download
//! over loss and distance, beside other programs. [`reboost`] is TCP that
//! knows of redundancy elimination. [`together`] switches all mechanisms in one network. [`site`] is a folder
//! with a report on all of them.

#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods)] // Experiments are drivers: they may read clocks and wait.

pub mod budget;
pub mod byte_caching;
pub mod cell;
pub mod claim;
pub mod contents;
pub mod documents;
pub mod estimate;
pub mod experiment;
pub mod figure;
pub mod kept_claims;
pub mod kept_rows;
pub mod links;
pub mod mesh_cache;
mod named_node;
pub mod no_harm;
pub mod pair;
pub mod papers;
mod parallel;
pub mod plan;
pub mod reading;
pub mod reboost;
pub mod refactor;
pub mod report;
pub mod row;
pub mod run;
pub mod scheme;
pub mod simulate;
pub mod site;
pub mod testbed;
pub mod together;
pub mod trace;
pub mod wanted;
mod whole_file;
pub mod xbc;

/// All experiments, in the order of a report on everything.
pub const ALL: [&experiment::Experiment; 9] = [
    &byte_caching::EXPERIMENT,
    &no_harm::EXPERIMENT,
    &links::EXPERIMENT,
    &refactor::EXPERIMENT,
    &refactor::WITH_TCP,
    &reboost::EXPERIMENT,
    &xbc::EXPERIMENT,
    &mesh_cache::EXPERIMENT,
    &together::EXPERIMENT,
];
