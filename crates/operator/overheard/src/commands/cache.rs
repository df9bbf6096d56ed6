//! `overheard cache`: runs the web cache of a router until it is told to stop.

use daemon::cache::config::{File, resolve};
use daemon::config::{Mistake, read_toml};
use daemon::service;
use daemon::sockets::SOCKET_DIRECTORY;
use std::path::{Path, PathBuf};
use webcache::cache::NotStarted;
use webcache::config::Config;

/// Run the cooperative web cache of a mesh router as its configuration says, until SIGINT or SIGTERM
#[derive(clap::Args)]
pub struct Args {
    /// The cache's configuration, such as cache.toml
    config: PathBuf,
    /// Print the rules that take connections on their way, and end
    #[arg(long)]
    print_nft: bool,
    /// Where to answer `overheard status`; /run/overheard/NAME.cache by default
    #[arg(long, hide = true)]
    socket: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let file: File = read_toml(&args.config)?;
    let config = resolve(&args.config, file)
        .map_err(|mistake| Mistake::at(&args.config, &mistake.key, mistake.sentence))?;
    if args.print_nft {
        return print_rules(&args.config, &config);
    }
    let socket = args.socket.clone();
    let socket = socket.unwrap_or_else(|| Path::new(SOCKET_DIRECTORY).join(format!("{}.cache", config.name)));
    let ready = || {
        tracing::info!("the cache is open; HTTPS passes untouched, for nothing of it can be kept");
        service::is_ready();
    };
    daemon::cache::run(config, &socket, ready).map_err(|why| match why {
        NotStarted::System(why) => anyhow::Error::new(why),
        mistake => Mistake::new(format!("{}: {mistake}", args.config.display())).into(),
    })
}

fn print_rules(path: &Path, config: &Config) -> anyhow::Result<()> {
    let Some((plan, _)) = &config.transparent else {
        return Err(
            Mistake::at(path, "[transparent]", "is not there, so that no rules are needed; add it").into()
        );
    };
    println!("# nft -f\n{}# and\n{}", plan.ruleset(), plan.commands().trim_end());
    Ok(())
}
