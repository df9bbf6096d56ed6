//! The layer between a sans-IO [`node::Node`] and Linux.
//!
//! [`System::set_up`] creates everything that a node needs of the machine, or nothing. That is a TUN device
//! with its addresses ([`tun`]), and a UDP socket for both families whose datagrams are never fragmented
//! ([`udp`]). It is also the routes that lead the peers' addresses, but not the tunnel's own datagrams, into
//! the tunnel ([`routes`]). Dropping it removes everything. The next start with the same interface name
//! removes the leftovers of a killed process.
//!
//! [`drive()`] is the loop. One thread waits in [`reactor`] for packets, datagrams, timers with nanosecond
//! resolution, and other threads' requests ([`mod@control`]). It passes them to the node and executes the
//! node's results. Consecutive datagrams to one peer share a system call ([`outbox`]).
//!
//! A [`sniffer`] overhears datagrams to others, if an interface carries them. [`frames`] captures an
//! interface. A [`probe`] asks why a peer is silent.
//!
//! TCP segments must fit the tunnel even if hosts behind this one open the connection. Their SYNs are
//! therefore clamped at the entry ([`mss`]). This needs no firewall rules, so nothing is installed and
//! nothing is left behind.

// The sans-IO rule ends at this crate: it reads the clock and waits.
#![allow(clippy::disallowed_methods)]

pub mod clock;
pub mod control;
pub mod drive;
mod egress;
mod error;
pub mod frames;
mod load;
pub mod mss;
pub mod netlink;
pub mod offload;
pub mod outbox;
pub mod path;
pub mod ports;
pub mod probe;
pub mod processor;
#[cfg(feature = "wifi")]
pub mod radio;
#[cfg_attr(not(feature = "wifi"), path = "rates/absent.rs")]
pub mod rates;
pub mod reactor;
pub mod routes;
pub mod sniffer;
mod system;
pub mod tap;
pub mod text;
pub mod tun;
pub mod udp;
mod workers;

pub use control::{Control, Counters, Snapshot, control};
pub use drive::drive;
pub use error::Error;
pub use system::{Overhear, Settings, System};
