//! `overheard keep`: what takes rights, for a node or a cache that has none.

pub use console::keep::{Args, run};
