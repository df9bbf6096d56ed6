//! What the routing protocol of a mesh knows, for programs that are not part of it (MeshCache section 7: the
//! cross-layer module).
//!
//! [`table`] answers questions about next hops and costs, whatever the source. [`babeld`], [`olsrv2`] and
//! [`fixed`] read what each source says, and hold no socket. [`config`] is what a configuration may say of a
//! source, and [`source`] asks it.

#![forbid(unsafe_code)]
// `source` asks sockets, files and the kernel; all that is read is read without.
#![allow(clippy::disallowed_methods)]

pub mod babeld;
pub mod config;
pub mod fixed;
pub mod olsrv2;
pub mod source;
pub mod table;

pub use config::{Settings, Source};
pub use table::{MOST_ROUTES, Route, Routes};
