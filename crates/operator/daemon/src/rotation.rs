//! Replacement of the network's key on a running node: sessions stay, and only handshakes change.

use crate::config::Config;
use node::{NetworkKey, PresharedKey, PublicKey};
use std::collections::BTreeMap;
use std::path::Path;

/// The keys of a running node's network, and the rest of its configuration.
pub struct Rotation {
    keys: (NetworkKey, Option<NetworkKey>),
    preshared_keys: BTreeMap<PublicKey, PresharedKey>,
    beside: toml::Table,
}

impl Rotation {
    /// The state of a node that starts by `config`.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let node = &config.node;
        Rotation {
            keys: (node.network_key.clone(), node.previous_network_key.clone()),
            preshared_keys: node.preshared_keys.clone(),
            beside: beside(&config.path),
        }
    }

    /// The network's new keys in its files, if they differ and nothing else has changed.
    pub fn take_up(&mut self, config: &Config) -> Option<(NetworkKey, Option<NetworkKey>)> {
        let now = Rotation::of(config);
        let keys_alone =
            now.keys != self.keys && now.preshared_keys == self.preshared_keys && now.beside == self.beside;
        keys_alone.then(|| {
            *self = now;
            self.keys.clone()
        })
    }
}

/// The contents of a file without the network's key files.
fn beside(path: &Path) -> toml::Table {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut table: toml::Table = toml::from_str(&text).unwrap_or_default();
    if let Some(node) = table.get_mut("node").and_then(toml::Value::as_table_mut) {
        node.remove("network_key_file");
        node.remove("previous_network_key_file");
    }
    table
}
