//! A node's configuration: a TOML file, read and checked as a whole before anything starts.
//!
//! [`mod@file`] is the file's structure, [`resolve`] its meaning, and [`mistake`] the form of its mistakes.

mod boost;
mod dashboard;
mod destinations;
mod edit;
pub mod features;
mod file;
mod gateways;
pub mod key_file;
mod memory;
mod mesh;
mod mistake;
mod mtu;
mod overhear;
mod overlap;
mod policies;
mod preset;
mod preshared;
mod rate;
mod renamed;
mod resolve;
pub(crate) mod secret;
mod snoop;
mod split;
mod streams;
pub mod uci;

use crate::revocations::Revocations;
pub use crate::sandbox::Files;
pub use boost::Boost;
pub use dashboard::Dashboard;
pub use edit::{Change, NewPeer};
pub use file::{Kind, Role};
pub use key_file::read_key;
pub use mistake::Mistake;
pub use policies::{Policies, Product};
pub use preset::Preset;
#[cfg(feature = "cache")]
pub(crate) use resolve::beside;

use std::fs;
use std::path::{Path, PathBuf};

/// A valid configuration. The set-up shows whether the machine allows it.
pub struct Config {
    /// The configuration file.
    pub path: PathBuf,
    /// The node's role.
    pub role: Role,
    /// The preset of its link.
    pub preset: Option<Preset>,
    /// The node's configuration.
    pub node: node::Config,
    /// The machine's configuration.
    pub system: io::Settings,
    /// Boosting of local TCP senders, if any.
    pub boost: Option<Boost>,
    /// Settings of split TCP connections.
    pub split: Option<::split::Settings>,
    /// The most threads that share the peers.
    pub threads: usize,
    /// Path of the socket for `overheard status`.
    pub status_socket: PathBuf,
    /// The file of revoked keys.
    pub revocations: Revocations,
    /// The operator's page.
    pub dashboard: Option<Dashboard>,
    /// The source of next hops, in a mesh with changing routes.
    pub next_hops: Option<crate::next_hops::Settings>,
    /// The assumed rate of its radio, in bits a second.
    pub radio_bits_per_second: u64,
    /// The files it may access at run time; `None` for all.
    pub files: Option<Files>,
}

impl Config {
    /// Reads and checks the file at `path`. `preset` is that of the command line. It resolves the peers'
    /// names and has no other side effects.
    pub fn load(path: &Path, preset: Option<Kind>, policies: &dyn Policies) -> anyhow::Result<Config> {
        Ok(Config::load_with_text(path, preset, policies)?.1)
    }

    /// The same, with the text of the file.
    pub fn load_with_text(
        path: &Path,
        preset: Option<Kind>,
        policies: &dyn Policies,
    ) -> anyhow::Result<(String, Config)> {
        let text = text_of(path)?;
        let config = Config::of_text(path, &text, preset, policies)?;
        Ok((text, config))
    }

    /// Checks this text of the file at `path`.
    pub fn of_text(
        path: &Path,
        text: &str,
        preset: Option<Kind>,
        policies: &dyn Policies,
    ) -> anyhow::Result<Config> {
        resolve::resolve(path, from_text(path, text)?, preset, policies)
    }
}

/// Path of the socket for `overheard status`, for the configuration at `path`. The node's keys are not read.
pub fn status_socket(path: &Path) -> Result<PathBuf, Mistake> {
    Ok(resolve::status_socket(path, &read(path)?))
}

fn read(path: &Path) -> Result<file::File, Mistake> {
    from_text(path, &text_of(path)?)
}

/// The text of a configuration file.
pub(crate) fn text_of(path: &Path) -> Result<String, Mistake> {
    fs::read_to_string(path)
        .map_err(|why| Mistake::new(format!("cannot read the configuration {}: {why}", path.display())))
}

/// Reads the text of a configuration file of any structure. Mistakes have the form of a node's.
pub(crate) fn from_text<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> Result<T, Mistake> {
    let read = toml::from_str(text).map_err(|error| mistake::from_toml(path, text, &error))?;
    for key in renamed::old_keys(text) {
        tracing::warn!("{}: {key}", path.display());
    }
    Ok(read)
}
