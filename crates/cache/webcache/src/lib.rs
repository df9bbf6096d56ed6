//! A cooperative HTTP cache for mesh routers, after MeshCache (Das, Pucha, Hu: Purdue TR-ECE-06, 2006).
//!
//! A client asks an origin and knows of nothing else. The first router on the way takes the connection
//! ([`interception`], or one of the other doors of [`proxy`]) and reads the request as HTTP
//! means it ([`semantics`]). What the [`store`] has and may use is served at once: whole, in parts, or as
//! "not modified". Otherwise one request is sent for all who wait, and while its answer comes in, all of them
//! follow it byte by byte, and the store keeps it in chunks.
//!
//! Whom that request is sent to is [`selection`]'s to say: a router that a search found to have it, the next
//! router towards it or towards the gateway, a cache of another kind ([`icp`]), the origin last. Each router
//! on the way does the same, so that the content is left behind at every hop (the paper's per-hop transport).
//! A way that fails is left for the next one, also in the middle of a content; what cannot be had whole
//! breaks the client's connection off and is never completed short.
//!
//! `semantics` and `selection` know neither sockets nor clocks; [`selector`] drives the latter over UDP and
//! the routing protocol's table, [`cache`] opens all that a [`config`]uration names, [`statistics`] counts
//! what was done.

#![forbid(unsafe_code)]
// The proxy waits for sockets and reads the clock; what is without either stands in `semantics` and
// `selection`.
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
