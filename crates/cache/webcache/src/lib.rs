//! A cooperative HTTP cache for mesh routers, after MeshCache (Das, Pucha, Hu: Purdue TR-ECE-06, 2006).
//!
//! A client requests content from an origin and knows nothing of caches. The first router on the path takes
//! the connection ([`interception`], or one of the other doors of [`proxy`]) and reads the request by HTTP's
//! rules ([`semantics`]). It serves usable content of the [`store`] at once: whole, in parts, or as "not
//! modified". Otherwise it sends one request for all waiting clients. They follow the answer byte by byte as
//! it arrives, and the store keeps it in chunks.
//!
//! [`selection`] chooses the receiver of that request: a router found by a search, the next router towards it
//! or towards the gateway, a cache of another kind ([`icp`]), and finally the origin. Each router on the path
//! does the same, so every hop keeps the content (the paper's per-hop transport). If a way fails, even in the
//! middle of a content, the next way is used. Content that cannot be completed resets the client's
//! connection; it never ends short.
//!
//! `semantics` and `selection` have neither sockets nor clocks. [`selector`] drives the latter over UDP and
//! the routing table. [`cache`] opens all parts of a [`config`]uration, and [`statistics`] has the counters.

#![forbid(unsafe_code)]
// The proxy waits for sockets and reads the clock. Code without either is in `semantics` and `selection`.
#![allow(clippy::disallowed_methods)]

pub mod cache;
mod client;
pub mod config;
mod datagrams;
pub mod destinations;
pub mod icp;
pub mod proxy;
mod resolution;
pub mod selection;
pub mod selector;
pub mod semantics;
pub mod site;
pub mod statistics;
pub mod store;
