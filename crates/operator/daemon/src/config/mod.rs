//! A node's configuration: a TOML file, read as a whole and checked as a whole before anything is started.
//!
//! [`mod@file`] is the file as it is written, [`resolve`] what it means, [`mistake`] how mistakes are told.

mod boost;
mod dashboard;
mod destinations;
mod file;
mod gateways;
mod mesh;
mod mistake;
mod mtu;
mod overhear;
mod overlap;
mod policies;
mod preshared;
mod renamed;
mod resolve;
pub(crate) mod secret;
mod snoop;
mod split;

use crate::revocations::Revocations;
pub use crate::sandbox::Files;
pub use boost::Boost;
pub use dashboard::Dashboard;
pub use file::Role;
pub use mistake::Mistake;
pub use policies::{Policies, Product};
pub(crate) use resolve::beside;
pub use resolve::read_key;

use std::fs;
use std::path::{Path, PathBuf};

/// A configuration that makes sense. Whether the machine allows it is found when it is set up.
pub struct Config {
    /// The file it came from.
    pub path: PathBuf,
    /// The node's part in the network.
    pub role: Role,
    /// What the node is told.
    pub node: node::Config,
    /// What is needed of the machine.
    pub system: io::Settings,
    /// Whether, and how, TCP senders here are boosted.
    pub boost: Option<Boost>,
    /// Which TCP connections are split.
    pub split: Option<::split::Settings>,
    /// How many threads share the peers out among them, at most.
    pub threads: usize,
    /// Where `overheard status` asks.
    pub status_socket: PathBuf,
    /// Where keys are kept that were revoked.
    pub revocations: Revocations,
    /// The page for whoever looks after the node.
    pub dashboard: Option<Dashboard>,
    /// Where next hops are learnt, in a mesh whose routes change.
    pub next_hops: Option<crate::next_hops::Settings>,
    /// At which rate its radio is reckoned to send, in bits a second.
    pub radio_bits_per_second: u64,
    /// What it reaches as long as it runs; none: everything.
    pub files: Option<Files>,
}

impl Config {
    /// Reads and checks the file at `path`. Looks up the peers' names; touches nothing else.
    pub fn load(path: &Path, policies: &dyn Policies) -> anyhow::Result<Config> {
        resolve::resolve(path, read(path)?, policies)
    }
}

/// Where the node of the configuration at `path` answers `overheard status`; its keys are not needed for
/// that.
pub fn status_socket(path: &Path) -> Result<PathBuf, Mistake> {
    Ok(resolve::status_socket(path, &read(path)?))
}

fn read(path: &Path) -> Result<file::File, Mistake> {
    read_toml(path)
}

/// Reads a configuration file of any form; mistakes in it are told as those of a node's are.
pub fn read_toml<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, Mistake> {
    let text = fs::read_to_string(path)
        .map_err(|why| Mistake::new(format!("cannot read the configuration {}: {why}", path.display())))?;
    let read = toml::from_str(&text).map_err(|error| mistake::from_toml(path, &text, &error))?;
    for key in renamed::old_keys(&text) {
        tracing::warn!("{}: {key}", path.display());
    }
    Ok(read)
}
