//! All tests of this crate from outside, in one program, so that dependencies are linked once.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod content;
mod flush;
mod hostile_stations;
mod neighbourhood;
mod one_access_point;
mod several_senders;
