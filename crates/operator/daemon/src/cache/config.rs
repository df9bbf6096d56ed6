//! A web cache's configuration: a TOML file, read and checked as a whole before anything starts.
//!
//! `file` is the file's structure, and `resolve` its meaning.

mod file;
pub mod key;
mod resolve;

use crate::config::{Dashboard, Files, Mistake, from_text, text_of};
use std::path::{Path, PathBuf};

/// A valid configuration. Opening the cache shows whether the machine allows it.
#[derive(Debug)]
pub struct Config {
    /// The configuration file.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// The cache's settings.
    pub settings: webcache::config::Config,
    /// The operator's page.
    pub management: Option<Dashboard>,
    /// The files it may access at run time; `None` for all.
    pub files: Option<Files>,
}

impl Config {
    /// Reads and checks the file at `path`, and the keys and tokens that it names.
    ///
    /// # Errors
    ///
    /// The first mistake.
    pub fn load(path: &Path) -> Result<Config, Mistake> {
        let text = text_of(path)?;
        let file = from_text(path, &text)?;
        resolve::resolve(path, text, file)
    }
}
