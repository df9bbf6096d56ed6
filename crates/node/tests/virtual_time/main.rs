//! Two nodes in virtual time, in one process.

#![allow(clippy::unwrap_used)] // a harness fails by panicking

mod carrying;
mod packing;
mod pair;
mod sessions;
