//! Nodes and air in one process and in virtual time.
//!
//! A [`Simulation`] connects a gateway and its stations by pairs of [`air::Link`]s, drives their
//! [`node::Node`]s like a program, and jumps from one timer to the next. Packets come from [`traffic`]
//! sources. [`Fault`]s occur at scheduled times: reboots, lost caches, changes of address, and links that go
//! down or get worse. Without a tunnel ([`Setup::tunnel`]) packets use the links directly: the *bare*
//! baseline. The *off* baseline is a tunnel with [`re::Policy::Off`].
//!
//! ```
//! use sim::traffic::{ConstantRate, Content, Ends};
//! use sim::{GATEWAY, Setup, Simulation};
//! use std::time::Duration;
//!
//! let clean = air::presets::clean();
//! let mut simulation = Simulation::new(&Setup::pair(1, clean.down, clean.up)).unwrap();
//! let ends = Ends::between(GATEWAY, 1);
//! let stream = ConstantRate::new(ends, Content::random(1), 1000, Duration::from_millis(2));
//! simulation.add_source("stream", Box::new(stream.starting_at(Duration::from_secs(1)).ending_after(500)));
//! simulation.run_until(Duration::from_secs(3), &mut ()).unwrap();
//! let stream = &simulation.report().sources[0].forwards;
//! assert_eq!((stream.offered.packets, stream.delivered.packets), (500, 500));
//! ```
//!
//! # What is on a link
//!
//! Frames on a link are IP packets. With a tunnel they are datagrams behind 28 bytes of outer IPv4 and UDP
//! headers; in the bare run they are the application's packets. A link's counters thus count everything that
//! is sent. Checksums protect the outer headers but not the datagram, so a corrupted datagram reaches the
//! node, which must detect it.
//!
//! A host's socket takes every datagram at once, so all waiting happens in the link's queue. There is no TCP
//! here; the lab measures real TCP.
//!
//! # What is known of a packet
//!
//! Every offered packet is remembered for five minutes by a 64-bit digest of all its bytes. A node's delivery
//! is *delivered* the first time, a *duplicate* afterwards, and *unrecognised* if no such packet was offered
//! to that host, which must never happen with a tunnel. In the bare run corrupted packets are unrecognised; a
//! host would drop them, because one flipped bit never passes the Internet checksum.
//!
//! # Determinism
//!
//! Everything follows from the [`Setup`], its seed, and the additions to the simulation in their order.
//! Simultaneous events have a fixed order: faults, links, nodes, sources. An [`EventLog`] writes one line for
//! each event, with digests of all bytes; equal runs have equal logs.
//!
//! # Nodes without links
//!
//! A [`Network`] is smaller: whole nodes, and a function that selects the receivers of each datagram. The
//! node's tests, fuzzing and speed measurements use it. A [`Simulation`] has its own loop, because links with
//! queues determine its events, and because hosts without a node take part.
//!
//! An [`Insider`] is a member of a group that forges units, for tests and fuzzing.
//!
//! [`trial`] has the simulation part of the byte-caching paper's experiments. [`workload`] has fixed amounts
//! of work for speed measurements.

#![forbid(unsafe_code)]

mod addresses;
mod delays;
mod dependencies;
mod event_log;
mod fault;
mod host;
mod insider;
mod ledger;
pub mod network;
mod observer;
mod outer;
mod path;
mod report;
mod setup;
mod simulation;
mod sources;
pub mod traffic;
pub mod trial;
pub mod workload;

pub use addresses::{GATEWAY, MOST_STATIONS};
pub use delays::{DelayReport, Delays};
pub use dependencies::{Dependencies, Link as DependencyLink, Row as DependencyRow};
pub use event_log::EventLog;
pub use fault::{Fault, FaultRefused};
pub use host::Outcomes;
pub use insider::{Insider, Opened};
pub use network::Network;
pub use observer::{Observation, Observer};
pub use path::{down_link, up_link};
pub use report::{FlowReport, HostReport, LinkReport, Packets, Report, SourceReport};
pub use setup::{Setup, SetupError, Station, Tunnel};
pub use simulation::{Simulation, Stuck};

/// A 64-bit digest of some bytes; equal in every run of the same build.
#[must_use]
pub fn digest(bytes: &[u8]) -> u64 {
    use std::hash::BuildHasher;
    foldhash::quality::FixedState::default().hash_one(bytes)
}
