//! `overheard up`: runs a node until it is told to stop.

use daemon::config::{Config, Product};
use daemon::tunnel::{self, Watched};
use std::path::PathBuf;

/// Run a node by its configuration, until SIGINT or SIGTERM; SIGHUP reloads a correct configuration
#[derive(clap::Args)]
pub struct Args {
    /// The node's configuration, such as gateway.toml or station.toml
    config: PathBuf,
    /// Write what each packet refers to into this file, as JSON lines
    #[arg(long, hide = true)]
    trace: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    daemon::memory::protect();
    tunnel::run(Config::load(&args.config, &Product)?, args.trace.as_deref(), Watched::Always)
}
