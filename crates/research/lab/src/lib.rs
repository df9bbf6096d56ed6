//! Namespaces, TAP radios on the emulated air, real daemons and programs; on this kernel or inside the
//! virtual-time kernel.
//!
//! A [`Scenario`] says what is to be tried: places (network namespaces), the links between them and the
//! channels that they share, daemons, downloads by curl from nginx, clients that browse, UDP streams, and
//! what happens meanwhile. [`run()`] tries it with each of its seeds and gives an [`Outcome`] for each: what
//! crossed the links, and what arrived.
//!
//! For each seed everything is made afresh. A `Ground` is laid: [`Namespace`]s, cables, and TAPs whose
//! packets the [`Radio`] carries through the emulated air of the `air` crate. HTTP servers and the scenario's
//! daemons start and become ready; downloads and streams run to their ends, or are given up; the daemons are
//! asked for their state and ended, and everything goes again. Whatever a run that died leaves behind, the
//! next one finds and removes ([`Run`]).
//!
//! The same is done by two [`Driver`]s. `lab` does it here: this kernel, the clock on the wall, root.
//! `virtual` boots the User-Mode Linux kernel of [`virtual_time`], an ordinary program, and does it in there:
//! its clock jumps to the next timer whenever nothing can run, so that a run costs its packets and not its
//! seconds, and a seed determines everything. Nothing else in this crate knows which of the two it serves.

#![allow(clippy::disallowed_methods)] // The lab runs real programs in real time, or in what they take for it.

mod channel;
mod check;
mod client;
mod congestion_control;
mod daemon;
mod download;
mod driver;
mod error;
mod ethernet;
mod ground;
pub mod guest;
mod http_server;
mod namespace;
mod outcome;
mod program;
mod programs;
mod radio;
mod run;
mod scenario;
mod stream;
mod topology;
mod traffic;
mod trial;
pub mod virtual_time;

pub use channel::AirChannel;
pub use check::Mistake;
pub use driver::{Driver, Virtual, run, run_reporting};
pub use error::LabError;
pub use http_server::HttpServer;
pub use namespace::Namespace;
pub use outcome::{
    ChannelOutcome, Count, Delay, DownloadOutcome, Ending, FetchOutcome, LinkCount, LinkOutcome, Outcome,
    StationCount, StreamOutcome,
};
pub use program::Program;
pub use programs::Programs;
pub use radio::{AirLink, Counts, Direction, Radio};
pub use run::Run;
pub use scenario::{
    Action, Client, Content, Daemon, Download, Event, HTTP_PORT, Page, Ready, Scenario, Start, Stream,
};
pub use topology::{Channel, Link, Medium, Place, Route, Topology};
pub use trial::{Progress, Watcher, run_here, run_watched};
