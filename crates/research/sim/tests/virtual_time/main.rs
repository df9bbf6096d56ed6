//! Tests of whole simulations.
#![allow(clippy::unwrap_used, reason = "what does not succeed fails the test")]

mod adversary;
mod determinism;
mod long_day;
mod mishaps;
mod scenes;
mod siege;
mod streams;
mod trials;
