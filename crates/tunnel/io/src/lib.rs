//! What stands between a sans-IO [`node::Node`] and Linux.
//!
//! [`System::set_up`] makes what a node needs of the machine, or nothing: a TUN device with its addresses
//! ([`tun`]), a UDP socket for both families that never lets its datagrams be fragmented ([`udp`]), and the
//! routes that lead the peers' addresses into the tunnel without leading the tunnel into itself ([`routes`]).
//! Dropping it takes everything out again; what a killed process could not take out, the next start with the
//! same interface name removes.
//!
//! [`drive()`] is the loop: one thread that waits in [`reactor`] for packets, datagrams, timers with a
//! resolution of nanoseconds and requests of other threads ([`mod@control`]), hands them to the node and
//! carries out what the node says. Datagrams that leave in a row to one peer share a system call
//! ([`outbox`]).
//!
//! What is sent to others is heard by an [`ear`], where there is an interface that brings it by.
//!
//! TCP's segments have to fit the tunnel also where hosts behind this one open the connection: their SYNs are
//! clamped on the way in ([`mss`]), here and not by firewall rules, so that nothing has to be installed for
//! it and nothing can be left behind.

// This crate is where the sans-IO rule ends: it is the one that reads the clock and waits.
#![allow(clippy::disallowed_methods)]

pub mod clock;
pub mod control;
mod crew;
pub mod drive;
pub mod ear;
mod error;
mod load;
pub mod mss;
pub mod netlink;
pub mod offload;
pub mod outbox;
mod outlet;
pub mod path;
pub mod ports;
pub mod radio;
pub mod rates;
pub mod reactor;
pub mod routes;
mod system;
pub mod tap;
pub mod tun;
pub mod udp;

pub use control::{Control, Counters, Snapshot, control};
pub use drive::drive;
pub use error::Error;
pub use system::{Overhear, Settings, System};
