//! `overheard-lab cache`: `overheard cache` for experiments, with the searches of the MeshCache paper.

use daemon::cache;
use daemon::cache::config::Config;
use std::path::PathBuf;
use webcache::config::Search;

/// Run a web cache in an experiment, as `overheard cache` does; searches end as in the MeshCache paper
///
/// Every router passes a search on, and the searcher waits for the whole search timeout (sections 4.2.2 and
/// 7.3).
#[derive(clap::Args)]
pub struct Args {
    /// The cache's configuration
    config: PathBuf,
    /// Where to answer `overheard status`
    #[arg(long)]
    socket: PathBuf,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    daemon::memory::protect();
    let mut config = Config::load(&args.config)?;
    if let Some(mesh) = &mut config.settings.mesh {
        mesh.search = Search::Whole;
    }
    cache::run(config, &args.socket)
}
