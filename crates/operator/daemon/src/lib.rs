//! A node as a process: it sets everything up or nothing, drives a node, and takes everything out.
//!
//! [`config`] is the file that says how, [`tunnel`] the run from start to end. While it runs,
//! [`status_socket`] answers for it and [`watch`] keeps what has happened. [`sockets`] finds the nodes and
//! the web caches of this machine, and asks them. [`service`] is what the service manager is told.
//!
//! [`cache`] is the same for a web cache. What takes rights is kept by a process of its own, the [`keeper`];
//! what is left is held by a `sandbox`, and keys stay in [`memory`].
//!
//! Both programs run nodes by this crate: `overheard up`, and the laboratory's `node`, which lets more
//! policies through.

#![forbid(unsafe_code)]
// A driver: it may read clocks and wait.
#![allow(clippy::disallowed_methods)]

mod boost;
pub mod cache;
mod capture_stream;
pub mod config;
pub mod keeper;
pub mod memory;
mod next_hops;
pub mod revocations;
mod rotation;
mod sandbox;
pub mod service;
pub mod sockets;
pub mod status_socket;
pub mod tunnel;
mod watch;
