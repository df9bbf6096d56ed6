//! `overheard-lab analyze`: what each method would save on captures.

pub use console::analyze::{Args, run};
