//! All tests of this crate from outside, in one program, so that dependencies are linked once.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod circles;
mod link;
mod round_trip;
mod schedules;
mod sharing;
mod store;
