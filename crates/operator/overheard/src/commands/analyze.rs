//! `overheard analyze`: savings of each method on captures.

pub use console::analyze::{Args, run};
