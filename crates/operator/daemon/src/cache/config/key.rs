//! The key by which caches authenticate each other, and its file.
//!
//! A one-way function derives it from the network's key, so a router's cache need not have that. The file is
//! a line `overheard-cache-key:` and 64 bytes of base64. Caches with the network's key derive the same key
//! themselves, and so did earlier versions; all of them interoperate.

use crate::config::key_file::Kind;
use crate::config::{Mistake, secret};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::path::{Path, PathBuf};
use webcache::selection::message::NetworkKey;
use zeroize::Zeroizing;

const SHORTEST_KEY_BYTES: usize = 16;

/// Reason why a file has no key.
#[derive(Debug, thiserror::Error)]
pub enum NoCacheKey {
    /// The file cannot be read.
    #[error("cannot read {}: {why}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// The file has other contents.
    #[error("{} is no key; make one with `overheard keygen --cache-key NETWORKKEYFILE`", .0.display())]
    NotAKey(PathBuf),
}

/// The shared secret of caches, and whether its file has the network's key itself.
#[derive(Debug)]
pub struct CacheKey {
    shared: Zeroizing<Vec<u8>>,
    /// Whether the file contains more than a cache needs.
    pub is_the_networks: bool,
}

impl CacheKey {
    /// Reads either form of file.
    ///
    /// # Errors
    ///
    /// [`NoCacheKey`].
    pub fn read(file: &Path) -> Result<Self, NoCacheKey> {
        let read = secret::read(file).map_err(|why| NoCacheKey::Unreadable { file: file.to_owned(), why })?;
        let text = read.trim_ascii();
        let Some(written) = text.strip_prefix(Kind::Cache.prefix().as_bytes()) else {
            // The base64 alone, as in files without a kind: all routers derive the same key.
            let text = text.strip_prefix(Kind::Network.prefix().as_bytes()).unwrap_or(text);
            if text.len() < SHORTEST_KEY_BYTES || text.starts_with(b"overheard-") {
                return Err(NoCacheKey::NotAKey(file.to_owned()));
            }
            return Ok(CacheKey { shared: text.to_vec().into(), is_the_networks: true });
        };
        let held = STANDARD.decode(written).ok().map(Zeroizing::new);
        let shared = held.as_deref().and_then(|held| NetworkKey::shared_as(held));
        let shared = shared.ok_or_else(|| NoCacheKey::NotAKey(file.to_owned()))?;
        Ok(CacheKey { shared: shared.into(), is_the_networks: false })
    }

    /// The bytes from which the crate `webcache` derives its keys.
    #[must_use]
    pub fn shared(&self) -> &[u8] {
        &self.shared
    }

    /// The line of a file with the caches' key, without the network's key.
    #[must_use]
    pub fn text(&self) -> Zeroizing<String> {
        let held = Zeroizing::new(NetworkKey::held_by_caches(&self.shared));
        let mut text = Zeroizing::new(Kind::Cache.prefix().to_owned());
        STANDARD.encode_string(&*held, &mut text);
        text
    }
}

/// The secret in the file of `[peers] cache_key_file`, in the configuration at `path`.
pub(super) fn cache_key(path: &Path, file: &Path) -> Result<Vec<u8>, Mistake> {
    let key =
        CacheKey::read(file).map_err(|why| Mistake::at(path, "[peers] cache_key_file", why.to_string()))?;
    if key.is_the_networks {
        tracing::warn!(
            "{}: [peers] cache_key_file: {} is the network's key, which a cache does not need and will not take with the next \
             release; make one for caches with `overheard keygen --cache-key {1}`",
            path.display(),
            file.display()
        );
    }
    Ok(key.shared().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};
    use webcache::selection::message::{Kind, Message};

    fn written(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn a_file_for_caches_makes_the_proofs_of_the_networks_key_and_does_not_hold_it() {
        let network = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
        let from_network = CacheKey::read(written(&format!("{network}\n")).path()).unwrap();
        let text = from_network.text();
        assert!(text.starts_with("overheard-cache-key:") && !text.contains(network), "{}", *text);
        let from_caches = CacheKey::read(written(&format!("{}\n", *text)).path()).unwrap();
        assert!(from_network.is_the_networks && !from_caches.is_the_networks);
        let typed = CacheKey::read(written(&format!("overheard-network-key:{network}\n")).path()).unwrap();
        assert_eq!((typed.text(), typed.is_the_networks), (from_network.text(), true));
        assert_eq!(from_caches.text(), text, "derived again it is the same");
        // Keys of searches and of requests.
        for key in [NetworkKey::new, NetworkKey::for_requests] {
            assert!(understand(&key(from_network.shared()), &key(from_caches.shared())));
            assert!(!understand(&key(b"another network's key"), &key(from_caches.shared())));
        }
    }

    /// Whether messages under one key are accepted under another.
    fn understand(ours: &NetworkKey, theirs: &NetworkKey) -> bool {
        let nobody = IpAddr::from(Ipv4Addr::LOCALHOST);
        let message = Message {
            kind: Kind::Locate,
            ttl: 1,
            boot: 2,
            sequence: 3,
            origin: nobody,
            target: nobody,
            key: "http://a/",
        };
        Message::parse(&message.emit(ours).unwrap(), theirs).is_ok()
    }

    #[test]
    fn what_is_cut_short_or_no_base64_is_no_key() {
        let private = "overheard-private-key:dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
        for text in [
            "",
            "short",
            "overheard-cache-key:",
            "overheard-cache-key:AAAA",
            "overheard-cache-key:!",
            private,
        ] {
            assert!(CacheKey::read(written(text).path()).is_err(), "{text}");
        }
    }
}
