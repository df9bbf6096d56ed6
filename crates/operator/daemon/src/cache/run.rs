//! Runs a cache until it is told to stop, and answers for its state.

use super::status_socket::StatusSocket;
use dashboard::cache::{self as management, History};
use std::path::Path;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use webcache::cache::{Cache, NotStarted};
use webcache::config::Config;

/// Runs until SIGINT or SIGTERM, answering for its state on `status_socket`; `ready` is told when everything is open.
pub fn run(config: Config, status_socket: &Path, ready: impl FnOnce()) -> Result<(), NotStarted> {
    raise_descriptors();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(config, status_socket, ready))
}

/// Descriptors as many as the system allows: the usual soft limit is for programs that still call `select`.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(why) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!("descriptors stay at {:?}: {why}", limit.current);
    }
}

async fn serve(mut config: Config, status_socket: &Path, ready: impl FnOnce()) -> Result<(), NotStarted> {
    let management = config.management.take();
    let cache = Cache::open(config).await?;
    if let Some((address, token)) = management {
        let (proxy, history) = (cache.proxy().clone(), Arc::new(History::default()));
        let page = management::open(address, token)?;
        tokio::spawn(management::watch(history.clone(), proxy.clone()));
        tokio::spawn(page.serve(move |question| management::answer(question, &proxy, &history)));
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
    cache.serve(ready, stopped).await
}
