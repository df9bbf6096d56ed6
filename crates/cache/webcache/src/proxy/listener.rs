//! The doors: listening sockets for clients and other routers, each for certain networks.

use super::Proxy;
use super::connection::{Connection, Outlet};
use super::places::Places;
use super::request::Door;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use interception::NotListening;
use ipnet::IpNet;
use portable_atomic::{AtomicU64, Ordering};
use socket2::{SockRef, TcpKeepalive};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// Timeout of a request's head.
const HEAD: Duration = Duration::from_secs(15);
/// The longest time that a client may leave sent bytes unacknowledged, or its window closed.
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);
/// The most octets of a request's head.
const HEAD_BYTES: usize = 64 << 10;
/// The most connections at a time, for each door.
pub const MOST_CONNECTIONS: usize = 4096;

/// An open door.
pub struct Listener {
    socket: TcpListener,
    door: Door,
    /// The networks of other routers; `None` for clients, whose networks can change.
    routers: Option<Vec<IpNet>>,
    connections_each: usize,
}

impl Listener {
    /// Opens a door at `address` for other routers in `routers`, or for clients. Each has at most `each`
    /// connections at a time. A transparent door accepts intercepted connections ([`Door::Transparent`] with
    /// any address).
    pub fn open(
        address: SocketAddr,
        door: Door,
        routers: Option<Vec<IpNet>>,
        connections_each: usize,
    ) -> Result<Self, NotListening> {
        let socket = interception::listen(address, matches!(door, Door::Transparent(_)))?;
        let socket =
            TcpListener::from_std(socket).map_err(|source| NotListening::Address { address, source })?;
        Ok(Listener { socket, door, routers, connections_each })
    }

    /// Its address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts and serves connections without end.
    pub async fn serve(self, proxy: Arc<Proxy>) {
        let places = Places::new(MOST_CONNECTIONS, self.connections_each);
        loop {
            let Some(place) = places.one().await else { return };
            let (stream, client) = match self.socket.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Descriptors or memory are exhausted: other connections must end first.
                    tracing::warn!("no connection can be taken: {error}");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let client = canonical(client.ip());
            let is_served = match &self.routers {
                Some(routers) => routers.iter().any(|network| network.contains(&client)),
                None => proxy.live().serves(client),
            };
            if !client.is_loopback() && !is_served {
                proxy.statistics.refuse("foreign");
                continue;
            }
            let Some(place) = places.give(place, client) else {
                proxy.statistics.refuse("connections");
                continue;
            };
            let door = match (&self.door, stream.local_addr()) {
                (Door::Transparent(_), Ok(destination)) => Door::Transparent(destination),
                (door, _) => door.clone(),
            };
            let proxy = proxy.clone();
            tokio::spawn(async move {
                serve(proxy, stream, door, client).await;
                drop(place);
            });
        }
    }
}

async fn serve(proxy: Arc<Proxy>, stream: TcpStream, door: Door, client: IpAddr) {
    let _ = stream.set_nodelay(true);
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(UNACKNOWLEDGED));
    let _ = SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(UNACKNOWLEDGED));
    let outlet = Outlet::default();
    let answering = outlet.clone();
    let requests = AtomicU64::new(0);
    let service = service_fn(move |request: Request<Incoming>| {
        let (proxy, door, outlet) = (proxy.clone(), door.clone(), answering.clone());
        let wrong = outlet.wrong(requests.fetch_add(1, Ordering::Relaxed));
        async move {
            // Heads behind chunks are not checked.
            let chunked = request.headers().contains_key(TRANSFER_ENCODING);
            let mut response = match wrong {
                Some(wrong) => proxy.refuse_head(wrong),
                None => proxy.answer(request, door, client, outlet).await,
            };
            if chunked {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Connection::new(stream, outlet)), service)
        .with_upgrades()
        .await;
    if let Err(error) = served {
        tracing::debug!("connection of {client}: {error}");
    }
}

/// Converts an IPv4-mapped address to IPv4.
fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}
