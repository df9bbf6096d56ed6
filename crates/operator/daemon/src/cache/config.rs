//! A web cache's configuration: a TOML file, read as a whole and checked as a whole before anything is
//! started.
//!
//! `file` is the file as it is written, `resolve` what it means.

mod file;
pub mod key;
mod resolve;

use crate::config::{Dashboard, Files, Mistake, read_toml};
use std::path::{Path, PathBuf};

/// A configuration that makes sense. Whether the machine allows it is found when the cache is opened.
#[derive(Debug)]
pub struct Config {
    /// The file it came from.
    pub path: PathBuf,
    /// What the cache is told.
    pub settings: webcache::config::Config,
    /// The page for whoever looks after the cache.
    pub management: Option<Dashboard>,
    /// What it reaches as long as it runs; none: everything.
    pub files: Option<Files>,
}

impl Config {
    /// Reads and checks the file at `path`, and the keys and tokens that it names.
    ///
    /// # Errors
    ///
    /// The first mistake.
    pub fn load(path: &Path) -> Result<Config, Mistake> {
        resolve::resolve(path, read_toml(path)?)
    }
}
