//! Keys that this node shares with one peer each, in addition to the network's.

use super::Mistake;
use super::file::File;
use super::key_file::key_of;
use node::{NetworkKey, PeerConfig, PresharedKey, PublicKey};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The preshared key files of peers and gateways, in order, with their keys in the configuration.
fn named(file: &File) -> impl Iterator<Item = (String, Option<&PathBuf>)> {
    let key = |table: &str, name: &str| format!("[[{table}]] {name:?} preshared_key_file");
    let peers = file.peer.iter().map(move |it| (key("peer", &it.name), it.preshared_key_file.as_ref()));
    let gateways =
        file.gateway.iter().map(move |it| (key("gateway", &it.name), it.preshared_key_file.as_ref()));
    peers.chain(gateways)
}

/// The preshared key files.
pub fn files(file: &File) -> impl Iterator<Item = &PathBuf> {
    named(file).filter_map(|(_, file)| file)
}

/// The values of the `preshared_key_file`s in the file at `path`; `peers` are those of that file.
pub fn preshared_keys(
    path: &Path,
    file: &File,
    peers: &[PeerConfig],
    network_key: &NetworkKey,
) -> Result<BTreeMap<PublicKey, PresharedKey>, Mistake> {
    let mut keys = BTreeMap::new();
    for (peer, (key, named)) in peers.iter().zip(named(file)) {
        let Some(named) = named else { continue };
        let read: PresharedKey = key_of(path, &key, named)?;
        if read.as_bytes() == network_key.as_bytes() {
            let what =
                "holds the network's key, which all nodes have; make another with `overheard keygen --pair`";
            return Err(Mistake::at(path, &key, what));
        }
        keys.insert(peer.public_key, read);
    }
    Ok(keys)
}
