//! A node as a process: it sets everything up or nothing, drives a node, and removes everything.
//!
//! [`config`] is the configuration, and [`tunnel`] the run from start to end. [`reload`] changes the peers
//! of a running node. [`status_socket`] answers for the node, and [`watch`] keeps its history and names
//! silent peers and troubles. [`sockets`] finds the nodes and web caches of this machine and queries them.
//! [`service`] notifies the service manager.
//!
//! [`cache`] is the same for a web cache. The [`keeper`] is a separate process for privileged work. A
//! `sandbox` restricts the rest, and [`memory`] protects keys.
//!
//! Both programs run nodes by this crate: `overheard up`, and the laboratory's `node`, which allows more
//! policies.

#![forbid(unsafe_code)]
// A driver may read clocks and wait.
#![allow(clippy::disallowed_methods)]

mod boost;
#[cfg(feature = "cache")]
pub mod cache;
#[cfg(feature = "capture")]
mod capture_stream;
pub mod config;
pub mod keeper;
mod last_addresses;
pub mod memory;
mod next_hops;
pub mod reload;
pub mod revocations;
// A build without web caches has no use for their profile.
#[cfg_attr(not(feature = "cache"), allow(dead_code))]
mod sandbox;
pub mod service;
mod silence;
pub mod sockets;
pub mod status_socket;
mod trouble;
pub mod tunnel;
mod watch;
