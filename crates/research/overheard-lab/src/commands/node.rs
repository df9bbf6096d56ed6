//! `overheard-lab node`: `overheard up` for experiments, with the papers' policies.

use daemon::config::{Config, Policies};
use daemon::tunnel::{self, Watched};
use published::{form, policy};
use re::{Form, Policy};
use std::path::PathBuf;

/// Run a node in an experiment, as `overheard up` does, with any policy
#[derive(clap::Args)]
pub struct Args {
    /// The node's configuration
    config: PathBuf,
    /// Write the references of each packet into this file, as JSON lines
    #[arg(long)]
    trace: Option<PathBuf>,
}

/// Every policy of the product and of the papers.
struct Laboratory;

impl Policies for Laboratory {
    fn named(&self, name: &str) -> anyhow::Result<Policy> {
        Ok(policy::named(name)?)
    }

    fn with_k(&self, policy: Policy, k: u32) -> Option<Policy> {
        policy::distance(policy).map(|_| policy::k_distance(k))
    }

    fn form(&self, name: &str) -> anyhow::Result<Form> {
        Ok(form::named(name)?)
    }
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    daemon::memory::protect();
    // Nothing that is not part of the experiment may take time in it.
    tunnel::run(Config::load(&args.config, None, &Laboratory)?, args.trace.as_deref(), Watched::Never)
}
