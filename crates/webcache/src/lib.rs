//! A cooperative HTTP cache for mesh routers, after MeshCache (Das, Pucha, Hu: Purdue TR-ECE-06, 2006).

#![forbid(unsafe_code)]

pub mod semantics;
pub mod store;
