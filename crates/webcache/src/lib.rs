//! A cooperative HTTP cache for mesh routers, after MeshCache (Das, Pucha, Hu: Purdue TR-ECE-06, 2006).

#![forbid(unsafe_code)]
// The proxy waits for sockets and reads the clock; what is without either stands in `semantics` and `selection`.
#![allow(clippy::disallowed_methods)]

pub mod proxy;
pub mod selector;
pub mod semantics;
pub mod site;
pub mod statistics;
pub mod store;
