//! `overheard keep`: privileged work for a node or a cache.

pub use console::keep::{Args, run};
