//! Routes of a mesh's routing protocol, for other programs (MeshCache section 7: the cross-layer module).
//!
//! [`table`] answers questions about next hops and costs for any source. [`babeld`], [`olsrv2`] and [`fixed`]
//! parse each source's output, and hold no socket. [`config`] is the configuration of a source, and
//! [`source`] queries it.

#![forbid(unsafe_code)]
// `source` uses sockets, files and the kernel. The parsers do not.
#![allow(clippy::disallowed_methods)]

pub mod babeld;
pub mod config;
pub mod fixed;
pub mod olsrv2;
pub mod source;
pub mod table;

pub use config::{Settings, Source};
pub use table::{MOST_ROUTES, Route, Routes};
