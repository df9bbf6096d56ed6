//! `overheard keygen`: the keys of a node and of a network.

use anyhow::Context;
use daemon::config::{Mistake, read_key};
use node::{NetworkKey, PrivateKey};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Make a node's keys, or a network's
///
/// Without --out the key goes to standard output and its public key to standard error, so that
/// `overheard keygen > private.key` works.
#[derive(clap::Args)]
pub struct Args {
    /// Make the key that all nodes of a network share, instead of a node's own
    #[arg(long)]
    network: bool,
    /// Write the key into files in this directory (made if it is not there) instead of printing it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the public key that belongs to the private key in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["network", "out"])]
    public_of: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(file) = &args.public_of {
        let private: PrivateKey = read_key(file).map_err(|why| Mistake::new(why.to_string()))?;
        println!("{}", private.public());
        return Ok(());
    }
    let mut rng = rand::rng();
    let text = if args.network {
        NetworkKey::generate(&mut rng).to_string()
    } else {
        PrivateKey::generate(&mut rng).to_string()
    };
    let public = if args.network { None } else { Some(text.parse::<PrivateKey>()?.public().to_string()) };
    match &args.out {
        Some(directory) => write_files(directory, &text, public.as_deref()),
        None => print(&text, public.as_deref()),
    }
}

fn print(key: &str, public: Option<&str>) -> anyhow::Result<()> {
    // a shell's redirection makes the file before we can say how
    let readable_by_others = fs::metadata("/dev/stdout")
        .is_ok_and(|stdout| stdout.is_file() && stdout.permissions().mode() & 0o077 != 0);
    if readable_by_others {
        eprintln!("warning: others may read the file that this key goes to; chmod 600 it, or use --out DIR");
    }
    writeln!(std::io::stdout().lock(), "{key}")?;
    match public {
        Some(public) => eprintln!("public key, for [[peer]] public_key of the other nodes: {public}"),
        None => eprintln!("network key: put the same into network_key_file of every node"),
    }
    Ok(())
}

fn write_files(directory: &Path, key: &str, public: Option<&str>) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|why| Mistake::new(format!("cannot make the directory {}: {why}", directory.display())))?;
    let Some(public) = public else {
        let file = directory.join("network.key");
        write_new(&file, 0o600, key)?;
        println!("{}: the network's key; copy it to every node, and nowhere else\n", file.display());
        println!("[node]\nnetwork_key_file = {:?}", absolute(&file)?);
        return Ok(());
    };
    let (private_file, public_file) = (directory.join("private.key"), directory.join("public.key"));
    write_new(&private_file, 0o600, key)?;
    write_new(&public_file, 0o644, public)?;
    println!("{}: the private key; it stays here", private_file.display());
    println!("{}: the public key, for the other nodes\n", public_file.display());
    println!("In this node's configuration:\n\n[node]\nprivate_key_file = {:?}\n", absolute(&private_file)?);
    println!("In the configuration of the nodes that talk to it:\n\n[[peer]]\npublic_key = {public:?}");
    Ok(())
}

fn absolute(file: &Path) -> anyhow::Result<PathBuf> {
    std::path::absolute(file).with_context(|| format!("cannot tell where {} is", file.display()))
}

/// A key that is there may be in use: it is never overwritten.
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
