//! A cache's run: it opens everything or nothing, and serves until SIGINT or SIGTERM. At SIGHUP it
//! adopts its configuration again ([`Reload`]).

use super::config::Config;
use super::reload::Reload;
use super::status_socket::StatusSocket;
use crate::config::Mistake;
use crate::keeper::{Keeper, Order, Rules};
use crate::sandbox::{self, Profile, rights};
use crate::service;
use anyhow::Context;
use signal_hook::consts::SIGHUP;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::signal::unix::{SignalKind, signal};
use webcache::cache::{Cache, NotStarted};

/// Runs until SIGINT or SIGTERM, and answers `overheard status` on `status_socket`.
///
/// # Errors
///
/// A refusal of the machine: a [`Mistake`] if the configuration can solve it.
pub fn run(mut config: Config, status_socket: &Path) -> anyhow::Result<()> {
    // Before there is a handler, a signal must not end the process with its socket left behind.
    signal_hook::flag::register(SIGHUP, Arc::new(AtomicBool::new(false))).context("cannot heed signals")?;
    raise_descriptors();
    let keeper = begin_keeper(&mut config)?.map(Arc::new);
    let reload = Reload::of(&config, keeper.clone());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(files) = &mut config.files {
        // A missing folder cannot be allowed; if it cannot be created, opening it reports the error.
        let folders = files.written.iter().map(PathBuf::as_path).chain(status_socket.parent());
        folders.for_each(|folder| drop(std::fs::create_dir_all(folder)));
        files.write_beside(status_socket);
        give_up(rights::OF_A_CACHE_THAT_OPENS);
        sandbox::enter(Profile::Cache, files);
        // Threads that read from the network have no capabilities from their start.
        runtime.on_thread_start(|| give_up(rights::OF_A_CACHE));
    }
    let served = runtime.enable_all().build()?.block_on(serve(config, status_socket, reload));
    // Interception has ended when this returns.
    drop(keeper);
    served
}

/// Starts a keeper that installs the interception rules, if there are any.
fn begin_keeper(config: &mut Config) -> anyhow::Result<Option<Keeper>> {
    let Some((plan, rules)) = &mut config.settings.transparent else { return Ok(None) };
    if !std::mem::take(rules) {
        return Ok(None);
    }
    let keeper = Keeper::start()?;
    let kept = keeper.order(&Order { rules: Some(Rules::from(&*plan)), boost: None })?;
    match kept.no_rules {
        Some(why) => Err(Mistake::at(&config.path, "[transparent]", why).into()),
        None => Ok(Some(keeper)),
    }
}

fn give_up(but: rustix::thread::CapabilitySet) {
    if let Err(why) = rights::keep(but) {
        tracing::warn!("rights that are not needed are kept: {why}");
    }
}

/// Raises the limit of descriptors to the hard limit. The usual soft limit is for programs that call
/// `select`.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if let Err(why) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!("descriptors stay at {:?}: {why}", limit.current);
    }
}

async fn serve(config: Config, status_socket: &Path, reload: Reload) -> anyhow::Result<()> {
    let Config { path, settings, management, files, .. } = config;
    let is_held = files.is_some();
    let not_started = |why| match why {
        NotStarted::System(why) => anyhow::Error::new(why),
        mistake => Mistake::new(format!("{}: {mistake}", path.display())).into(),
    };
    let cache = Cache::open(settings).await.map_err(not_started)?;
    #[cfg(feature = "dashboard")]
    if let Some(management) = management {
        let page = management.open(&path, "[management]")?;
        tokio::spawn(dashboard::cache::serve(page, cache.proxy().clone()));
    }
    #[cfg(not(feature = "dashboard"))]
    debug_assert!(management.is_none(), "its configuration is refused");
    // Before the socket: a signal in between must not leave it behind.
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let status = StatusSocket::open(status_socket)?;
    let _removed_at_the_end = status.removal();
    tokio::spawn(status.serve(cache.proxy().clone()));
    tokio::spawn(reload.serve(signal(SignalKind::hangup())?, cache.proxy().clone()));
    let stopped = async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    // All sockets are open.
    if is_held {
        give_up(rights::OF_A_CACHE);
    }
    let ready = || {
        tracing::info!("the cache is open; HTTPS passes untouched, for nothing of it can be kept");
        service::is_ready();
    };
    cache.serve(ready, stopped).await.map_err(not_started)
}
