//! Namespaces, TAP radios on the emulated air, real daemons and programs; on this kernel or inside the
//! virtual-time kernel.
//!
//! A [`Scenario`] describes places (network namespaces), links and shared channels, daemons, downloads by
//! curl from nginx, browsing clients, UDP streams, and events. [`run()`] runs it with each of its seeds and
//! returns an [`Outcome`] for each: counts of the links, and the received traffic.
//!
//! Every seed gets a new environment: a `Ground` of [`Namespace`]s, cables, and TAPs whose packets the
//! [`Radio`] carries through the emulated air of the crate `air`. HTTP servers and daemons start and become
//! ready. Downloads and streams run to their ends or their bounds. The daemons report their state and end,
//! and everything is removed. The next run finds and removes the leftovers of a dead one ([`Run`]).
//!
//! There are two [`Driver`]s. `lab` uses this kernel and the wall clock, as root. `virtual` boots the
//! User-Mode Linux kernel of [`virtual_time`], an ordinary program, and runs inside it. Its clock jumps to
//! the next timer when nothing can run, so a run costs its packets and not its seconds, and a seed determines
//! everything. The rest of this crate is independent of the driver.

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
mod exchange;
mod ground;
pub mod guest;
mod http_server;
mod namespace;
mod outcome;
mod processor;
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
mod wi_fi;

pub use channel::AirChannel;
pub use check::Mistake;
pub use driver::{Driver, Virtual, run, run_reporting};
pub use error::LabError;
pub use http_server::HttpServer;
pub use namespace::Namespace;
pub use outcome::{
    ChannelOutcome, Count, Delay, DownloadOutcome, Ending, ExchangeOutcome, FetchOutcome, LinkCount,
    LinkOutcome, Outcome, StationCount, StreamOutcome,
};
pub use processor::{processor_seconds, processor_seconds_with_children};
pub use program::Program;
pub use programs::Programs;
pub use radio::{AirLink, Counts, Direction, Radio};
pub use run::Run;
pub use scenario::{
    Action, Client, Connections, Content, Daemon, Download, Event, Exchange, HTTP_PORT, Page, Ready,
    Scenario, Start, Stream,
};
pub use topology::{Channel, Link, Medium, Place, Route, Topology};
pub use trial::{Progress, Watcher, run_here, run_watched};
pub use wi_fi::{Cells, Protection, WiFi};
