//! Runs a cache: opens what the configuration names, all of it or nothing, and serves until told to stop.

use crate::config::Config;
use crate::icp::Icp;
use crate::management::{self, History, StatusSocket};
use crate::proxy::{Door, Listener, MOST_CONNECTIONS, Prover, Proxy, Settings};
use crate::selector::Selector;
use crate::site::Rewrites;
use crate::store::{NoDirectory, Store};
use interception::{Interception, NoInterception};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// Connections that another router may have at a time: it asks for all of its clients.
const ROUTER_CONNECTIONS: usize = MOST_CONNECTIONS / 4;

/// Why a cache did not start; each is a sentence with the mend.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The store.
    #[error("[store] directory: {0}")]
    Directory(#[from] NoDirectory),
    /// A door.
    #[error("{0}")]
    Listener(#[from] interception::NoDoor),
    /// The rules.
    #[error("[transparent]: {0}")]
    Interception(#[from] NoInterception),
    /// The mesh.
    #[error("[peers]: {0}")]
    Mesh(String),
    /// The system.
    #[error("{0}")]
    System(#[from] io::Error),
}

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

async fn serve(config: Config, status_socket: &Path, ready: impl FnOnce()) -> Result<(), NotStarted> {
    let store = Store::open(config.limits)?;
    let selector = match &config.mesh {
        Some(mesh) => Some(Selector::start(mesh, store.clone()).await.map_err(NotStarted::Mesh)?),
        None => None,
    };
    let icp = match config.icp {
        Some((listen, neighbours)) => Some(Icp::start(listen, neighbours, store.clone()).await?),
        None => None,
    };
    let mut doors: Vec<Listener> = Vec::new();
    let for_clients =
        |address, door| Listener::open(address, door, config.clients.clone(), config.connections_each);
    if let Some((plan, _)) = &config.transparent {
        for any in [IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED)] {
            let address = SocketAddr::new(any, plan.door);
            match for_clients(address, Door::Transparent(address)) {
                Ok(door) => doors.push(door),
                Err(error) if any.is_ipv6() => tracing::info!("no IPv6 here: {error}"),
                Err(error) => return Err(error.into()),
            }
        }
    }
    if let Some((address, _)) = &config.forward {
        doors.push(for_clients(*address, Door::Forward)?);
    }
    if let Some((address, _)) = &config.reverse {
        doors.push(for_clients(*address, Door::Reverse)?);
    }
    if let Some(mesh) = &config.mesh {
        // Neighbours come to whichever address of ours is on their link.
        let any =
            if mesh.address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let address = SocketAddr::new(any, mesh.port);
        doors.push(Listener::open(address, Door::Peer, mesh.networks.clone(), ROUTER_CONNECTIONS)?);
    }
    let proxy = Proxy::new(
        store,
        Settings {
            name: config.name,
            verify_host: config.verify_host,
            stale_if_unreachable: config.stale_if_unreachable,
            packages: config.packages,
            connect_ports: config.forward.map(|(_, ports)| ports).unwrap_or_default(),
            prover: config.mesh.as_ref().map(|mesh| Prover::new(&mesh.key)),
            selector,
            icp,
            rewrites: config.reverse.map_or_else(Rewrites::default, |(_, rewrites)| rewrites),
        },
    );
    if let Some((address, token)) = config.management {
        let (proxy, history) = (proxy.clone(), Arc::new(History::default()));
        let page = management::open(address, token)?;
        tokio::spawn(management::watch(history.clone(), proxy.clone()));
        tokio::spawn(page.serve(move |question| management::answer(question, &proxy, &history)));
    }
    let status = StatusSocket::open(status_socket)?;
    let _removed_at_the_end = status.removal();
    tokio::spawn(status.serve(proxy.clone()));
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // Last: from here on others' connections come.
    let _interception = match config.transparent {
        Some((plan, true)) => Some(Interception::install(plan)?),
        _ => None,
    };
    doors.into_iter().for_each(|door| drop(tokio::spawn(door.serve(Arc::clone(&proxy)))));
    ready();
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
