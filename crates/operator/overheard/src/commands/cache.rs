//! `overheard cache`: runs the web cache of a router until it is told to stop.

use daemon::cache;
use daemon::cache::config::Config;
use daemon::config::Mistake;
use daemon::sockets::CACHE_SOCKET_DIRECTORY;
use std::path::{Path, PathBuf};

/// Run the cooperative web cache of a mesh router by its configuration, until SIGINT or SIGTERM; SIGHUP
/// reloads a correct configuration
#[derive(clap::Args)]
pub struct Args {
    /// The cache's configuration, such as cache.toml
    config: PathBuf,
    /// Print the firewall rules that intercept connections, and end
    #[arg(long)]
    print_nft: bool,
    /// Where to answer `overheard status`; /run/overheard-cache/NAME.cache by default
    #[arg(long, hide = true)]
    socket: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    daemon::memory::protect();
    daemon::memory::spare();
    let config = Config::load(&args.config)?;
    if args.print_nft {
        return print_rules(&config);
    }
    let named = || Path::new(CACHE_SOCKET_DIRECTORY).join(format!("{}.cache", config.settings.name));
    let socket = args.socket.clone().unwrap_or_else(named);
    cache::run(config, &socket)
}

fn print_rules(config: &Config) -> anyhow::Result<()> {
    let Some((plan, _)) = &config.settings.transparent else {
        let what = "is not there, so that no rules are needed; add it";
        return Err(Mistake::at(&config.path, "[transparent]", what).into());
    };
    Ok(console::say!("# nft -f\n{}# and\n{}", plan.ruleset(), plan.commands().trim_end())?)
}
