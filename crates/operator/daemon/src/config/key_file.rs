//! Key files. Each is a line `overheard-KIND-key:` and 44 characters of base64, so that no file passes for
//! one of another kind.
//!
//! Earlier versions wrote the base64 alone. Such a file is read as long as nothing says that it holds
//! another kind: its name is none that `overheard keygen` gives to other kinds, and no key file beside it
//! is the other half of the same pair.

use super::resolve::beside;
use super::{Mistake, secret};
use node::{NetworkKey, NotAKey, PresharedKey, PrivateKey, PublicKey};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use zeroize::Zeroizing;

/// Names of the key files that `overheard keygen` writes, with their kinds.
const NAMES: [(&str, Kind); 5] = [
    ("private.key", Kind::Private),
    ("public.key", Kind::Public),
    ("network.key", Kind::Network),
    ("pair.key", Kind::Pair),
    ("cache.key", Kind::Cache),
];

/// A kind of key that has files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A node's private key.
    Private,
    /// A node's public key.
    Public,
    /// The network's key.
    Network,
    /// The key of two nodes.
    Pair,
    /// The caches' key.
    Cache,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Private, Kind::Public, Kind::Network, Kind::Pair, Kind::Cache];

    /// The beginning of its line.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Kind::Private => "overheard-private-key:",
            Kind::Public => "overheard-public-key:",
            Kind::Network => "overheard-network-key:",
            Kind::Pair => "overheard-pair-key:",
            Kind::Cache => "overheard-cache-key:",
        }
    }

    /// The kind that a line says, and the rest of the line.
    fn of(line: &str) -> Option<(Kind, &str)> {
        Kind::ALL.into_iter().find_map(|kind| Some((kind, line.strip_prefix(kind.prefix())?)))
    }

    /// What to do in place of naming a file of another kind.
    fn mend(self) -> &'static str {
        match self {
            Kind::Private => "name the file private.key that `overheard keygen --out DIR` writes",
            Kind::Public => "write the other node's public key",
            Kind::Network => "name the file network.key that `overheard keygen --network --out DIR` writes",
            Kind::Pair => "name the file pair.key that `overheard keygen --pair --out DIR` writes",
            Kind::Cache => {
                "name the file cache.key that `overheard keygen --cache-key NETWORKKEYFILE --out DIR` writes"
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Private => "a private key",
            Kind::Public => "a public key",
            Kind::Network => "a network's key",
            Kind::Pair => "the key of two nodes",
            Kind::Cache => "the caches' key",
        })
    }
}

/// A key with a form for files.
pub trait Key: FromStr<Err = NotAKey> + fmt::Display {
    /// Its kind.
    const KIND: Kind;

    /// The line of its file. Memory is wiped at the end.
    fn line(&self) -> Zeroizing<String> {
        let base64 = Zeroizing::new(self.to_string());
        // Without a reallocation, which would leave a copy behind.
        let mut line = Zeroizing::new(String::with_capacity(Self::KIND.prefix().len() + base64.len()));
        line.push_str(Self::KIND.prefix());
        line.push_str(&base64);
        line
    }

    /// Reads a line with its kind, or base64 alone.
    ///
    /// # Errors
    ///
    /// [`Unread::Other`] for a line of another kind, otherwise [`Unread::NotAKey`].
    fn from_line(line: &str) -> Result<Self, Unread> {
        match Kind::of(line.trim()) {
            Some((kind, base64)) if kind == Self::KIND => base64.parse().map_err(Unread::NotAKey),
            Some((kind, _)) => Err(Unread::Other { is: kind, wanted: Self::KIND }),
            None => line.trim().parse().map_err(Unread::NotAKey),
        }
    }
}

impl Key for PrivateKey {
    const KIND: Kind = Kind::Private;
}

impl Key for PublicKey {
    const KIND: Kind = Kind::Public;
}

impl Key for NetworkKey {
    const KIND: Kind = Kind::Network;
}

impl Key for PresharedKey {
    const KIND: Kind = Kind::Pair;
}

/// Reason why a line is not the wanted key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It is another kind of key.
    #[error("holds {is}, and {wanted} belongs here; {}", .wanted.mend())]
    Other {
        /// The kind.
        is: Kind,
        /// The kind that belongs here.
        wanted: Kind,
    },
    /// It is no key.
    #[error(transparent)]
    NotAKey(NotAKey),
}

/// Reason why a file has no key.
#[derive(Debug, thiserror::Error)]
pub enum NoKey {
    /// The file cannot be read.
    #[error("cannot read {}: {why}; make one with `overheard keygen`", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        why: std::io::Error,
    },
    /// The file has other contents.
    #[error("{} holds no key: {why}; make one with `overheard keygen`", .file.display())]
    NotAKey {
        /// The file.
        file: PathBuf,
        /// The fault.
        why: NotAKey,
    },
    /// The file has another kind of key.
    #[error("{} {what}", .file.display())]
    Other {
        /// The file.
        file: PathBuf,
        /// The kinds, and what to do.
        what: Unread,
    },
    /// The file has the name of another kind's files, and its line says no kind.
    #[error(
        "{} has the name of a file with {named}, and its line says no kind; {}, or write {} before the key if it is one",
        .file.display(), .wanted.mend(), .wanted.prefix()
    )]
    Named {
        /// The file.
        file: PathBuf,
        /// The kind by its name.
        named: Kind,
        /// The kind that belongs here.
        wanted: Kind,
    },
}

/// Reads a key from its file.
///
/// # Errors
///
/// [`NoKey`]. A file without a kind is refused if its name or a key file beside it says another one.
pub fn read_key<K: Key>(file: &Path) -> Result<K, NoKey> {
    let unreadable = |why| NoKey::Unreadable { file: file.to_owned(), why };
    let text = secret::read_text(file).map_err(unreadable)?;
    let key = K::from_line(&text).map_err(|why| match why {
        Unread::NotAKey(why) => NoKey::NotAKey { file: file.to_owned(), why },
        Unread::Other { .. } => NoKey::Other { file: file.to_owned(), what: why },
    })?;
    if Kind::of(text.trim()).is_none() {
        check_untyped(file, &text, K::KIND)?;
    }
    Ok(key)
}

/// Looks for signs that a file without a kind holds another kind than `wanted`.
fn check_untyped(file: &Path, text: &str, wanted: Kind) -> Result<(), NoKey> {
    let other = |is| NoKey::Other { file: file.to_owned(), what: Unread::Other { is, wanted } };
    // The file beside it that may be the other half of a pair; a file is no pair with itself.
    let neighbour = |name: &str| {
        let neighbour = file.with_file_name(name);
        if neighbour == file { None } else { secret::read_text(&neighbour).ok() }
    };
    if wanted != Kind::Public
        && let Some(private) = neighbour("private.key")
        && let (Ok(private), Ok(ours)) = (PrivateKey::from_line(&private), text.parse::<PublicKey>())
        && private.public() == ours
    {
        return Err(other(Kind::Public));
    }
    if wanted != Kind::Private
        && let Some(public) = neighbour("public.key")
        && let (Ok(public), Ok(ours)) = (PublicKey::from_line(&public), text.parse::<PrivateKey>())
        && ours.public() == public
    {
        return Err(other(Kind::Private));
    }
    let name = file.file_name().and_then(|name| name.to_str());
    match NAMES.into_iter().find(|(of, kind)| name == Some(of) && *kind != wanted) {
        Some((_, named)) => Err(NoKey::Named { file: file.to_owned(), named, wanted }),
        None => Ok(()),
    }
}

/// Reads the file of `key`. A file that others may read is logged.
pub(super) fn key_of<K: Key>(path: &Path, key: &str, named: &Path) -> Result<K, Mistake> {
    use std::os::unix::fs::PermissionsExt;
    let file = beside(path, named);
    let read = read_key(&file).map_err(|why| Mistake::at(path, key, why))?;
    if std::fs::metadata(&file).is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0) {
        tracing::warn!("others may read the key in {0}; chmod 600 {0}", file.display());
    }
    Ok(read)
}

/// Reads a public key in the configuration.
pub(super) fn public_key(path: &Path, key: &str, text: &str) -> Result<PublicKey, Mistake> {
    PublicKey::from_line(text).map_err(|why| Mistake::at(path, key, why))
}

/// Checks that no secret of this node stands for another key.
pub(super) fn check_secrets<'a>(
    path: &Path,
    private: &PrivateKey,
    network: &[(&str, &NetworkKey)],
    public: impl IntoIterator<Item = (String, &'a PublicKey)>,
) -> Result<(), Mistake> {
    for (key, network) in network {
        let what = if network.as_bytes() == private.as_bytes() {
            "holds this node's private key, which stays secret"
        } else if network.as_bytes() == private.public().as_bytes() {
            "holds this node's public key, which is no secret"
        } else {
            continue;
        };
        return Err(Mistake::at(path, key, format!("{what}; {}", Kind::Network.mend())));
    }
    for (key, public) in public {
        if public.as_bytes() == private.as_bytes() {
            let what = "is the key in [node] private_key_file too, so that it is no secret; name this node's own private key there";
            return Err(Mistake::at(path, &key, what));
        }
        if let Some((of, _)) = network.iter().find(|(_, network)| network.as_bytes() == public.as_bytes()) {
            let what = format!("is the key in {of}; {}", Kind::Public.mend());
            return Err(Mistake::at(path, &key, what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
