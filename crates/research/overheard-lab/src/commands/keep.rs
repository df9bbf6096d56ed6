//! `overheard-lab keep`: what takes rights, for a node that has none.

pub use console::keep::{Args, run};
