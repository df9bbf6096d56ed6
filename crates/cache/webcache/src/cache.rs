//! A cache: opens everything that its settings name, or nothing, and serves until it is told to stop.

use crate::config::Config;
use crate::icp::Icp;
use crate::proxy::{Door, Listener, MOST_CONNECTIONS, Prover, Proxy, Settings};
use crate::selector::{NoMesh, Selector};
use crate::store::{NoDirectory, Store};
use interception::{Interception, NoInterception, Plan};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// The most connections of another router at a time, because it asks for all of its clients.
const ROUTER_CONNECTIONS: usize = MOST_CONNECTIONS / 4;

/// Reason why a cache did not start; each is a sentence with a remedy.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// The store.
    #[error("[store] directory: {0}")]
    Directory(#[from] NoDirectory),
    /// A listening port.
    #[error("{0}")]
    Listener(#[from] interception::NotListening),
    /// The rules.
    #[error("[transparent]: {0}")]
    Interception(#[from] NoInterception),
    /// The mesh.
    #[error("[peers]: {0}")]
    Mesh(#[from] NoMesh),
    /// The system.
    #[error("{0}")]
    System(#[from] io::Error),
}

/// An open cache. It intercepts nothing before [`serve`](Cache::serve).
pub struct Cache {
    proxy: Arc<Proxy>,
    doors: Vec<Listener>,
    interception: Option<Plan>,
}

impl Cache {
    /// Opens the store and all ports.
    ///
    /// # Errors
    ///
    /// [`NotStarted`]; nothing stays open.
    pub async fn open(config: Config) -> Result<Self, NotStarted> {
        let store = Store::open(config.limits.clone())?;
        let selector = match &config.mesh {
            Some(mesh) => Some(Selector::start(mesh, store.clone()).await?),
            None => None,
        };
        let icp = match &config.icp {
            Some((listen, neighbours)) => Some(Icp::start(*listen, neighbours.clone(), store.clone()).await?),
            None => None,
        };
        let doors = doors(&config)?;
        let live = config.live();
        let proxy = Proxy::new(
            store,
            Settings {
                name: config.name,
                prover: config.mesh.as_ref().map(|mesh| Prover::new(&mesh.key)),
                selector,
                icp,
                live,
            },
        );
        let interception = config.transparent.and_then(|(plan, rules)| rules.then_some(plan));
        Ok(Cache { proxy, doors, interception })
    }

    /// The proxy, for its reports.
    #[must_use]
    pub fn proxy(&self) -> &Arc<Proxy> {
        &self.proxy
    }

    /// Serves until `stopped` ends. Calls `ready` when it accepts connections.
    ///
    /// # Errors
    ///
    /// [`NotStarted::Interception`] if the rules cannot be installed.
    pub async fn serve(
        self,
        ready: impl FnOnce(),
        stopped: impl Future<Output = ()>,
    ) -> Result<(), NotStarted> {
        // From here on intercepted connections arrive.
        let _interception = self.interception.map(Interception::install).transpose()?;
        for door in self.doors {
            tokio::spawn(door.serve(Arc::clone(&self.proxy)));
        }
        ready();
        stopped.await;
        Ok(())
    }
}

/// Opens the ports of clients and of the other routers.
fn doors(config: &Config) -> Result<Vec<Listener>, NotStarted> {
    let mut doors: Vec<Listener> = Vec::new();
    let for_clients = |address, door| Listener::open(address, door, None, config.connections_each);
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
    if let Some(address) = config.forward {
        doors.push(for_clients(address, Door::Forward)?);
    }
    if let Some((address, _)) = &config.reverse {
        doors.push(for_clients(*address, Door::Reverse)?);
    }
    if let Some(mesh) = &config.mesh {
        // Neighbours use the address that is on their link.
        let any =
            if mesh.address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let address = SocketAddr::new(any, mesh.port);
        doors.push(Listener::open(address, Door::Peer, Some(mesh.networks.clone()), ROUTER_CONNECTIONS)?);
    }
    Ok(doors)
}
