//! `overheard uci`: OpenWrt's configuration as a configuration file of a node.

use anyhow::Context;
use console::say;
use daemon::config::uci::translate;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Translate OpenWrt's /etc/config/overheard into the configuration of one tunnel, on standard output
#[derive(clap::Args)]
pub struct Args {
    /// The name of the section `tunnel`, which is the interface
    tunnel: String,
    /// The file in the format of UCI
    #[arg(long, value_name = "FILE", default_value = "/etc/config/overheard")]
    from: PathBuf,
    /// Write this file, and its folder; a mistake leaves the file as it is
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let text =
        fs::read_to_string(&args.from).with_context(|| format!("cannot read {}", args.from.display()))?;
    let toml = translate(&args.from, &text, &args.tunnel)?;
    match &args.out {
        None => Ok(say!("{}", toml.trim_end())?),
        Some(out) => write(out, &toml).with_context(|| format!("cannot write {}", out.display())),
    }
}

/// A file that was there is replaced as a whole.
fn write(out: &Path, toml: &str) -> std::io::Result<()> {
    if let Some(folder) = out.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut draft = out.as_os_str().to_owned();
    draft.push(".new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(toml.as_bytes())?;
    fs::rename(&draft, out)
}
