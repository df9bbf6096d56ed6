//! `overheard keygen`: keys of a node, of a network, of two nodes and of the network's caches.

use anyhow::Context;
use console::{hint, say};
#[cfg(feature = "cache")]
use daemon::cache::config::key::CacheKey;
use daemon::config::key_file::Key;
use daemon::config::{Mistake, read_key};
use node::{NetworkKey, PresharedKey, PrivateKey, PublicKey};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Make the keys of a node, a network, a pair of nodes, or the caches
///
/// Without --out the key goes to standard output and its public key to standard error, so that
/// `overheard keygen > private.key` works.
#[derive(clap::Args)]
pub struct Args {
    /// Make the key that all nodes of a network share
    #[arg(long)]
    network: bool,
    /// Make the key that two nodes share beside the network's
    #[arg(long, conflicts_with_all = ["network", "cache_key"])]
    pair: bool,
    /// Make the key that the caches of a network share, from the network's key in this file; the new key
    /// does not disclose the network's
    #[arg(long, value_name = "NETWORKKEYFILE", conflicts_with = "network")]
    cache_key: Option<PathBuf>,
    /// Write the key into files in this directory, and make the directory if needed; without it, print the
    /// key
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the public key of the private key in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "cache_key", "pair", "out"])]
    public_of: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(file) = &args.public_of {
        let private: PrivateKey = read_key(file).map_err(|why| Mistake::new(why.to_string()))?;
        return Ok(say!("{}", private.public())?);
    }
    let made = match &args.cache_key {
        Some(file) => Made::of_caches(file)?,
        None if args.network => Made::of_a_network(),
        None if args.pair => Made::of_a_pair(),
        None => Made::of_a_node(),
    };
    match &args.out {
        Some(directory) => write_files(directory, &made),
        None => print(&made),
    }
}

/// A key as text, with its kind. The text is wiped at the end.
struct Made {
    key: Zeroizing<String>,
    whose: Whose,
}

enum Whose {
    /// A node's key, with its public key.
    Node(PublicKey),
    Network,
    Pair,
    #[cfg_attr(not(feature = "cache"), allow(dead_code))]
    Caches,
}

impl Made {
    fn of_a_node() -> Self {
        let private = PrivateKey::generate(&mut rand::rng());
        Made { key: private.line(), whose: Whose::Node(private.public()) }
    }

    fn of_a_network() -> Self {
        Made { key: NetworkKey::generate(&mut rand::rng()).line(), whose: Whose::Network }
    }

    fn of_a_pair() -> Self {
        Made { key: PresharedKey::generate(&mut rand::rng()).line(), whose: Whose::Pair }
    }

    #[cfg(not(feature = "cache"))]
    fn of_caches(_: &Path) -> Result<Self, Mistake> {
        let what = "this program was built without the feature \"cache\"; make the key by a build with it";
        Err(Mistake::new(format!("--cache-key: {what}")))
    }

    #[cfg(feature = "cache")]
    fn of_caches(network_key: &Path) -> Result<Self, Mistake> {
        let read = CacheKey::read(network_key).map_err(|why| Mistake::new(why.to_string()))?;
        Ok(Made { key: read.text(), whose: Whose::Caches })
    }
}

fn print(made: &Made) -> anyhow::Result<()> {
    // The shell's redirection creates the file before we can set its mode.
    let readable_by_others = fs::metadata("/dev/stdout")
        .is_ok_and(|stdout| stdout.is_file() && stdout.permissions().mode() & 0o077 != 0);
    if readable_by_others {
        hint!("warning: others may read the file that this key goes to; chmod 600 it, or use --out DIR");
    }
    say!("{}", *made.key)?;
    match &made.whose {
        Whose::Node(public) => hint!("public key, for [[peer]] public_key of the other nodes: {public}"),
        Whose::Network => hint!("network key: put the same into network_key_file of every node"),
        Whose::Pair => {
            hint!("key of two nodes: put the same into preshared_key_file of either, at the other one")
        }
        Whose::Caches => hint!("key of caches: put the same into [peers] cache_key_file of every cache"),
    }
    Ok(())
}

fn write_files(directory: &Path, made: &Made) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|why| Mistake::new(format!("cannot make the directory {}: {why}", directory.display())))?;
    let public = match &made.whose {
        Whose::Node(public) => public,
        Whose::Network => {
            let file = directory.join("network.key");
            write_new(&file, 0o600, &made.key)?;
            say!("{}: the network's key; copy it to every node, and nowhere else\n", file.display())?;
            return Ok(say!("[node]\nnetwork_key_file = {:?}", absolute(&file)?)?);
        }
        Whose::Pair => {
            let file = directory.join("pair.key");
            write_new(&file, 0o600, &made.key)?;
            say!("{}: the key of two nodes; copy it to the other one, and nowhere else\n", file.display())?;
            return Ok(say!("[[peer]]\npreshared_key_file = {:?}", absolute(&file)?)?);
        }
        Whose::Caches => {
            let file = directory.join("cache.key");
            write_new(&file, 0o600, &made.key)?;
            say!("{}: the caches' key; copy it to every router with a cache\n", file.display())?;
            return Ok(say!("[peers]\ncache_key_file = {:?}", absolute(&file)?)?);
        }
    };
    let (private_file, public_file) = (directory.join("private.key"), directory.join("public.key"));
    write_new(&private_file, 0o600, &made.key)?;
    write_new(&public_file, 0o644, &public.line())?;
    say!("{}: the private key; it stays here", private_file.display())?;
    say!("{}: the public key, for the other nodes\n", public_file.display())?;
    say!("In this node's configuration:\n\n[node]\nprivate_key_file = {:?}\n", absolute(&private_file)?)?;
    Ok(say!("In the configuration of the nodes that talk to it:\n\n[[peer]]\npublic_key = \"{public}\"")?)
}

fn absolute(file: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(file).with_context(|| format!("cannot tell where {} is", file.display()))
}

/// Writes a new file. An existing key may be in use, so it is never overwritten.
fn write_new(file: &Path, mode: u32, text: &str) -> anyhow::Result<()> {
    let mut options = OpenOptions::new();
    let mut opened = options.write(true).create_new(true).mode(mode).open(file).map_err(|why| {
        if why.kind() == std::io::ErrorKind::AlreadyExists {
            Mistake::new(format!("{} exists; move it away or choose another directory", file.display()))
        } else {
            Mistake::new(format!("cannot write {}: {why}", file.display()))
        }
    })?;
    writeln!(opened, "{text}").with_context(|| format!("cannot write {}", file.display()))
}
