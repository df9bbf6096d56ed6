//! All tests of this crate from outside, in one program, so that dependencies are linked once.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod conditions;
mod configuration;
mod conservation;
mod driver;
mod frames;
mod loss_rates;
mod medium;
mod pairing;
mod recorded;
