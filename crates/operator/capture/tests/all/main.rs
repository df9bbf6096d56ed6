//! All tests of this crate from outside, in one program, so that dependencies are linked once.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod accounting;
mod advice;
mod figures;
mod hostile;
mod links;
mod made;
mod tunnel;
