//! All tests of this crate from outside, in one program, so that dependencies are linked once.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod hop;
mod repair;
mod two_hops;
