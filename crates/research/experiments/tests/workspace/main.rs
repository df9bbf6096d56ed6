//! Properties of the workspace as a whole.

#![allow(clippy::unwrap_used)] // a test fails by panicking

mod clocks;
mod drawing;
mod faults;
mod folders;
mod graph;
mod modules;
mod rows;

use std::path::{Path, PathBuf};

/// The folder of the root `Cargo.toml`.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}
