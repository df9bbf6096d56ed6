//! `overheard up`: runs a node until it is told to stop.

use daemon::config::{Config, Kind, Product};
use daemon::tunnel::{self, Watched};
use std::path::PathBuf;
use std::time::Duration;

/// Run a node by its configuration, until SIGINT or SIGTERM; SIGHUP reloads a correct configuration
#[derive(clap::Args)]
pub struct Args {
    /// The node's configuration, such as gateway.toml or station.toml
    config: PathBuf,
    /// The kind of the link, for defaults that suit it: satellite, lte, mesh or wifi. Keys of the
    /// configuration win, and the log tells which keys the kind sets
    #[arg(long, value_name = "KIND")]
    preset: Option<Kind>,
    /// End with exit code 1 and the reason if no session begins within this time; 30 s without a number
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "30")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=86_400))]
    wait: Option<u32>,
    /// Write what each packet refers to into this file, as JSON lines
    #[arg(long, hide = true)]
    trace: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    daemon::memory::protect();
    daemon::memory::spare();
    let watched = args
        .wait
        .map_or(Watched::Always, |seconds| Watched::WithSessionWithin(Duration::from_secs(seconds.into())));
    tunnel::run(Config::load(&args.config, args.preset, &Product)?, args.trace.as_deref(), watched)
}
