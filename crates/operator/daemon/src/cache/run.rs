//! A cache's run: it opens everything or nothing, and serves until SIGINT or SIGTERM.

use super::config::Config;
use super::status_socket::StatusSocket;
use crate::config::Mistake;
use crate::service;
use std::path::Path;
use tokio::signal::unix::{SignalKind, signal};
use webcache::cache::{Cache, NotStarted};

/// Runs until SIGINT or SIGTERM, and answers `overheard status` on `status_socket`.
///
/// # Errors
///
/// What the machine does not allow: a [`Mistake`] where the configuration can mend it.
pub fn run(config: Config, status_socket: &Path) -> anyhow::Result<()> {
    raise_descriptors();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(config, status_socket))
}

/// Descriptors as many as the system allows: the usual soft limit is for programs that still call `select`.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(why) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!("descriptors stay at {:?}: {why}", limit.current);
    }
}

async fn serve(config: Config, status_socket: &Path) -> anyhow::Result<()> {
    let Config { path, settings, management } = config;
    let not_started = |why| match why {
        NotStarted::System(why) => anyhow::Error::new(why),
        mistake => Mistake::new(format!("{}: {mistake}", path.display())).into(),
    };
    let cache = Cache::open(settings).await.map_err(not_started)?;
    if let Some(management) = management {
        let page = management.open(&path, "[management]")?;
        tokio::spawn(dashboard::cache::serve(page, cache.proxy().clone()));
    }
    let status = StatusSocket::open(status_socket)?;
    let _removed_at_the_end = status.removal();
    tokio::spawn(status.serve(cache.proxy().clone()));
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stopped = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    let ready = || {
        tracing::info!("the cache is open; HTTPS passes untouched, for nothing of it can be kept");
        service::is_ready();
    };
    cache.serve(ready, stopped).await.map_err(not_started)
}
