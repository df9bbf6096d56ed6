//! Nodes and air in one process and in virtual time.
//!
//! A [`Simulation`] joins a gateway and its stations by pairs of [`air::Link`]s, drives their [`node::Node`]s
//! as a program would, and jumps from one timer to the next instead of waiting. Packets come from [`traffic`]
//! sources; [`Fault`]s happen when they are scheduled to: reboots, lost caches, changes of address, links
//! that go down or get worse. Without a tunnel ([`Setup::tunnel`]) packets go straight over the links: the
//! *bare* baseline. The *off* baseline is a tunnel with [`re::Policy::Off`].
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
//! Frames on a link are IP packets: in the tunnel, a datagram behind 28 bytes of outer IPv4 and UDP header;
//! in the bare run, the application's packet. A link's counters therefore count everything that is sent. The
//! outer headers are protected by checksums and the datagram is not: a corrupted datagram reaches the node,
//! which must notice.
//!
//! A host's socket takes every datagram at once: what waits, waits in the link's queue. There is no TCP here;
//! what a real one makes of a link is measured in the lab.
//!
//! # What is known of a packet
//!
//! Every packet offered is remembered by a 64-bit digest of all its bytes until it is five minutes old. What
//! a node delivers is looked up: a packet is *delivered* the first time, a *duplicate* the next, and
//! *unrecognised* if no such packet was offered to that host, which for a tunnel must never happen. In the
//! bare run corrupted packets are unrecognised; a host would drop them, since one flipped bit never passes
//! the Internet checksum.
//!
//! # Determinism
//!
//! Whatever happens follows from the [`Setup`], its seed, and what is added to the simulation, in the order
//! in which it is added. What is due at the same instant happens in a fixed order: mishaps, links, nodes,
//! sources. An [`EventLog`] writes one line an event, digests of all bytes included; two logs of equal runs
//! are equal.
//!
//! # Nodes without links
//!
//! A [`Network`] is the smaller thing: whole nodes and a function that says who hears what they send. The
//! tests of the node, fuzzing and measurements of speed drive their nodes with it. A [`Simulation`] has a
//! loop of its own, since links with queues decide there what is due, and since hosts without a node take
//! part.
//!
//! An [`Insider`] is a member of a group that forges what it can; tests and fuzzing attack with it.
//!
//! [`trial`] builds on all this what the byte-caching paper's experiments need of a simulation; [`workload`]
//! has fixed amounts of work for measurements of speed.

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
