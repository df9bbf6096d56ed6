//! `overheard lab-node`: `up` for experiments, with the policies that `up` refuses.

use crate::config::{Config, Policies};
use crate::tunnel::{self, Watched};
use std::path::PathBuf;

/// Run a node in an experiment: as `up`, with any policy
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Args {
    /// The node's configuration
    config: PathBuf,
    /// Write what each packet refers to into this file, as JSON lines
    #[arg(long)]
    trace: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    // nothing that is not part of the experiment shall take time in it
    tunnel::run(Config::load(&args.config, Policies::Any)?, args.trace.as_deref(), Watched::Never)
}
