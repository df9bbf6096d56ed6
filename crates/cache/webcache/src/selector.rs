//! Choice of the router to ask: drives [`selection`](crate::selection) over sockets and the routing table.

use crate::config::{Architecture, Mesh, Protocol, Routing, Search};
use crate::datagrams::receive;
use crate::proxy::{Kind, Way, now as wall_now};
use crate::selection::grid::Grid;
use crate::selection::mapping::Target;
use crate::selection::message::{LONGEST_BYTES, NetworkKey};
use crate::selection::search::{SearchId, Searches, Traffic};
use crate::selection::worth::Worth;
use crate::semantics::key::Key;
use crate::store::Store;
use routing::Routes;
use serde::Serialize;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::Notify;

/// Hops that a search goes beyond the gateway's distance (MeshCache section 4.2.2).
const BEYOND_THE_GATEWAY: u32 = 2;
/// The group of all routers on a link: link-local scope, not assigned by IANA (RFC 4291 section 2.7).
const GROUP: Ipv6Addr = Ipv6Addr::new(0xff12, 0, 0, 0, 0, 0, 0x4f76, 0x6865);
/// Hops of a search if the gateway's distance is unknown.
const UNKNOWN_DISTANCE: u32 = 4;

/// State of the other routers.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Counters of search messages.
    pub traffic: Traffic,
    /// Searches that found a better source than the gateway.
    pub searches_won: u64,
    /// Searches that found no better source than the gateway.
    pub searches_lost: u64,
    /// The best gateway.
    pub gateway: Option<IpAddr>,
    /// The number of hops to that gateway.
    pub gateway_hops: Option<u32>,
    /// The number of routes.
    pub routes: usize,
}

/// The selector.
pub struct Selector {
    mesh: Mesh,
    /// The addresses that reach all neighbours.
    everybody: Vec<SocketAddr>,
    store: Arc<Store>,
    socket: UdpSocket,
    origin: Instant,
    state: Mutex<State>,
    /// Notifies of a found router.
    found: Notify,
    routes: RwLock<Arc<Routes>>,
    grid: Option<Grid>,
}

struct State {
    searches: Searches,
    worth: Worth,
    won: u64,
    lost: u64,
}

/// Reason why the other routers cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum NoMesh {
    /// The port of searches cannot be opened.
    #[error("no UDP socket on port {port}: {why}; choose another port")]
    Port {
        /// The port.
        port: u16,
        /// The system's error.
        why: io::Error,
    },
    /// Searches cannot be broadcast.
    #[error("cannot broadcast: {0}")]
    Broadcast(io::Error),
    /// An interface of the mesh is missing.
    #[error("there is no interface {0}; see `ip link`")]
    Interface(String),
    /// Multicast on an interface cannot be received.
    #[error("cannot hear the others on {interface}: {why}")]
    Multicast {
        /// The interface.
        interface: String,
        /// The system's error.
        why: io::Error,
    },
    /// The source of routes gives no answer: its sentence.
    #[error("{0}")]
    Routes(String),
}

/// Reads the source once.
async fn read(routing: &Routing) -> Result<Routes, NoMesh> {
    let routes = routing::source::read(&routing.source).await.map_err(NoMesh::Routes)?;
    Ok(Routes::new(routes, routing.gateways.clone()))
}

impl std::fmt::Debug for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selector").field("mesh", &self.mesh.address).finish_non_exhaustive()
    }
}

impl Selector {
    /// Opens the socket, reads the routes, and listens from then on.
    ///
    /// # Errors
    ///
    /// [`NoMesh`] for the first missing part of the machine.
    pub async fn start(mesh: &Mesh, store: Arc<Store>) -> Result<Arc<Self>, NoMesh> {
        let any: IpAddr = match mesh.address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, mesh.port)).await;
        let socket = socket.map_err(|why| NoMesh::Port { port: mesh.port, why })?;
        socket.set_broadcast(true).map_err(NoMesh::Broadcast)?;
        let everybody = everybody(mesh, &socket)?;
        let routes = match &mesh.routing {
            Some(routing) => read(routing).await?,
            None => Routes::default(),
        };
        let searches = Searches::new(mesh.address, NetworkKey::new(&mesh.key), rand::random());
        let searches = searches.with(mesh.search);
        let selector = Arc::new(Selector {
            grid: Grid::around(mesh.address, &mesh.positions, mesh.grid_metres),
            mesh: mesh.clone(),
            everybody,
            store,
            socket,
            origin: Instant::now(),
            state: Mutex::new(State { searches, worth: Worth::default(), won: 0, lost: 0 }),
            found: Notify::new(),
            routes: RwLock::new(Arc::new(routes)),
        });
        tokio::spawn(selector.clone().listen());
        if let Some(routing) = mesh.routing.clone() {
            tokio::spawn(selector.clone().follow(routing));
        }
        Ok(selector)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn routes(&self) -> Arc<Routes> {
        self.routes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_routes(&self, routes: Routes) {
        *self.routes.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(routes);
    }

    /// Updates the table from the source. A source without an answer leaves the table unchanged.
    async fn follow(self: Arc<Self>, routing: Routing) {
        loop {
            tokio::time::sleep(routing.source.refresh).await;
            match read(&routing).await {
                Ok(routes) => self.set_routes(routes),
                Err(why) => tracing::debug!("routes: {why}"),
            }
        }
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    /// The current state.
    pub fn report(&self) -> Report {
        let (routes, state) = (self.routes(), self.state());
        Report {
            traffic: state.searches.traffic(),
            searches_won: state.won,
            searches_lost: state.lost,
            gateway: routes.best_gateway(),
            gateway_hops: routes.best_gateway_hop_count(),
            routes: routes.len(),
        }
    }

    /// The ways to ask for `key`, best first; empty for the origin. A request from another router follows its
    /// setup and never begins a search.
    pub async fn ways(&self, key: &Key, from_peer: bool) -> Vec<Way> {
        if self.mesh.gateway || self.mesh.architecture == Architecture::Gateway {
            return Vec::new();
        }
        let key = key.as_str();
        let set_up = self.state().searches.mappings().get(key, self.now());
        let target = match self.mesh.protocol {
            _ if set_up.is_some() => set_up,
            Protocol::Broadcast if !from_peer => self.search(key).await,
            Protocol::Auto if !from_peer && self.is_search_worth_it() => self.search(key).await,
            Protocol::Grid if !from_peer => self.home(key),
            _ => None,
        };
        let mut ways = Vec::new();
        if let Some(target) = target {
            ways.extend(self.way_to(key, target));
        }
        ways.extend(self.way_to_gateway());
        ways.dedup();
        ways
    }

    fn is_search_worth_it(&self) -> bool {
        let alone = self.everybody.is_empty();
        !alone && self.state().worth.decide(self.mesh.search_timeout)
    }

    /// Notes the time of an answer's head.
    pub fn took(&self, way: Way, took: Duration) {
        let mut state = self.state();
        match way.kind {
            Kind::Holder | Kind::Towards => state.worth.holder_took(took),
            _ => state.worth.gateway_took(took),
        }
    }

    /// Forgets the presumed holder of `key`, which did not have it.
    pub fn forget(&self, key: &Key) {
        self.state().searches.mappings().remove(key.as_str());
    }

    fn way_to_gateway(&self) -> Option<Way> {
        let routes = self.routes();
        let gateway = routes.best_gateway()?;
        let node = match self.mesh.architecture {
            Architecture::HopByHop => reachable(routes.next_hop_for_node(gateway)?.0)?,
            _ => gateway,
        };
        Some(Way { address: SocketAddr::new(node, self.mesh.port), kind: Kind::Peer })
    }

    fn way_to(&self, key: &str, target: Target) -> Option<Way> {
        let node = match self.mesh.architecture {
            Architecture::HopByHop => reachable(self.routes().next_hop_for_node(target.node)?.0)?,
            _ => target.node,
        };
        {
            let mut state = self.state();
            let now = self.now();
            state.searches.set_up(key, target, node, now);
        }
        self.flush();
        let kind = match target.holds {
            true if node == target.node => Kind::Holder,
            true => Kind::Towards,
            false => Kind::Peer,
        };
        Some(Way { address: SocketAddr::new(node, self.mesh.port), kind })
    }

    /// GHCP: the router in our square that is responsible for `key`, unless the gateway is nearer or it is
    /// this router.
    fn home(&self, key: &str) -> Option<Target> {
        let home = self.grid.as_ref()?.home(key).filter(|home| *home != self.mesh.address)?;
        self.is_better_than_gateway(home, 0.0).then_some(Target { node: home, holds: false })
    }

    /// Whether `node` is no farther than the gateway with `hops_beyond` hops beyond it.
    fn is_better_than_gateway(&self, node: IpAddr, hops_beyond: f64) -> bool {
        let routes = self.routes();
        let gateway = routes.best_gateway().and_then(|gateway| routes.metric(gateway));
        match (routes.metric(node), gateway) {
            (Some(node), Some(gateway)) => node <= gateway + hops_beyond * routes.hop_cost(),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// BCP: searches and waits for answers.
    async fn search(&self, key: &str) -> Option<Target> {
        let routes = self.routes();
        let hops = routes.best_gateway_hop_count().unwrap_or(UNKNOWN_DISTANCE) + BEYOND_THE_GATEWAY;
        let search = self.state().searches.begin(key, u8::try_from(hops).unwrap_or(u8::MAX))?;
        self.flush();
        let until = tokio::time::Instant::now() + self.mesh.search_timeout;
        loop {
            let mut found = std::pin::pin!(self.found.notified());
            found.as_mut().enable();
            if self.may_end(search, &routes) || tokio::time::timeout_at(until, found).await.is_err() {
                break;
            }
        }
        let mut state = self.state();
        let holders = state.searches.end(search);
        let best = routes.best_node(&holders);
        let better = best.filter(|best| self.is_better_than_gateway(*best, self.mesh.uplink_hops));
        state.worth.searched(better.is_some());
        state.won += u64::from(better.is_some());
        state.lost += u64::from(best.is_some() && better.is_none());
        better.map(|node| Target { node, holds: true })
    }

    /// Whether a search may end before its timeout: a neighbour answered, and no later answer is nearer.
    fn may_end(&self, search: SearchId, routes: &Routes) -> bool {
        if self.mesh.search == Search::Whole {
            return false;
        }
        let state = self.state();
        state.searches.holders(search).iter().any(|holder| routes.hops(*holder) == Some(1))
    }

    /// Sends the waiting datagrams.
    fn flush(&self) {
        loop {
            let Some(transmit) = self.state().searches.poll_transmit() else { return };
            let one = transmit.to.map(|node| SocketAddr::new(node, self.mesh.port));
            for to in one.as_ref().map_or(self.everybody.as_slice(), std::slice::from_ref) {
                // A datagram that the socket does not take counts as lost on the air.
                let _ = self.socket.try_send_to(&transmit.datagram, *to);
            }
        }
    }

    async fn listen(self: Arc<Self>) {
        let mut datagram = vec![0; LONGEST_BYTES + 1];
        loop {
            let (length, from) = receive(&self.socket, &mut datagram).await;
            let from = from.ip().to_canonical();
            // Multicast comes from the link's own addresses.
            let known =
                is_link_local(from) || self.mesh.networks.iter().any(|network| network.contains(&from));
            if !known {
                continue;
            }
            let routes = self.routes();
            let now = self.now();
            {
                let mut state = self.state();
                let has = |key: &str| self.has(key);
                let next_hop = |node| routes.next_hop_for_node(node).map(|(next, _)| next);
                state.searches.handle_datagram(&datagram[..length], now, has, next_hop);
                while state.searches.poll_found().is_some() {
                    self.found.notify_waiters();
                }
            }
            self.flush();
        }
    }

    /// Whether a neighbour would get `key` from here.
    fn has(&self, key: &str) -> bool {
        Key::parse(key).is_ok_and(|key| self.store.has_fresh(&key, wall_now()))
    }
}

/// A next hop with an address that is not link-local. Others are reached by the path to the origin.
fn reachable(node: IpAddr) -> Option<IpAddr> {
    (!is_link_local(node)).then_some(node)
}

fn is_link_local(node: IpAddr) -> bool {
    matches!(node, IpAddr::V6(node) if node.is_unicast_link_local())
}

/// Destinations of searches. Joins the group for multicast ones.
fn everybody(mesh: &Mesh, socket: &UdpSocket) -> Result<Vec<SocketAddr>, NoMesh> {
    let mut everybody: Vec<SocketAddr> =
        mesh.broadcast.iter().map(|address| SocketAddr::new(*address, mesh.port)).collect();
    for name in &mesh.interfaces {
        let index = rustix::net::netdevice::name_to_index(socket, name)
            .map_err(|_| NoMesh::Interface(name.clone()))?;
        socket
            .join_multicast_v6(&GROUP, index)
            .map_err(|why| NoMesh::Multicast { interface: name.clone(), why })?;
        everybody.push(SocketAddrV6::new(GROUP, mesh.port, 0, index).into());
    }
    Ok(everybody)
}
