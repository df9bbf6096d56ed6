//! A cooperative HTTP cache for mesh routers, after MeshCache (Das, Pucha, Hu: Purdue TR-ECE-06, 2006).
//!
//! [`semantics`] is HTTP without a socket or a clock, [`store`] what is kept, [`proxy`] the doors and the requests,
//! [`selector`] which other router is asked, [`interception`](::interception) how connections are taken on their way, [`run`] all of it
//! together as a [`config`]uration says.

#![forbid(unsafe_code)]
// The proxy waits for sockets and reads the clock; what is without either stands in `semantics` and `selection`.
#![allow(clippy::disallowed_methods)]

pub mod config;
mod datagrams;
pub mod icp;
pub mod management;
pub mod proxy;
pub mod run;
pub mod selection;
pub mod selector;
pub mod semantics;
pub mod site;
pub mod statistics;
pub mod store;
