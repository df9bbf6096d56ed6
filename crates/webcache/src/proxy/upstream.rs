//! Requests to origins and to other routers.

use super::Body;
use super::unhurried::Unhurried;
use crate::semantics::fields;
use crate::semantics::key::Key;
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpSocket;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(6);
/// How long what was sent may be unacknowledged: longer, and whoever was there is gone.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);
/// How long the head of a response may take.
pub(super) const HEAD: Duration = Duration::from_secs(60);
/// Connections kept for each address, and for how long.
const IDLE: usize = 16;
const IDLE_FOR: Duration = Duration::from_secs(20);

/// Where a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Way {
    /// The address and port.
    pub address: SocketAddr,
    /// Whose they are.
    pub kind: Kind,
}

/// Who is at the end of a [`Way`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The origin, or a router that takes the connection on its way there.
    Origin,
    /// Another router's cache, which fetches what it lacks.
    Peer,
    /// Another router's cache, which said that it has it, and is asked for that only.
    Holder,
    /// A cache of another kind, which fetches what it lacks.
    Proxy,
    /// A cache of another kind, which said that it has it.
    ProxyHolder,
}

impl Kind {
    /// Whether it is asked for what it has only.
    pub(super) fn holds(self) -> bool {
        matches!(self, Kind::Holder | Kind::ProxyHolder)
    }
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum NoResponse {
    /// Nobody answered in time.
    #[error("no answer from {0} in time")]
    Late(SocketAddr),
    /// The connection failed, or what came was not HTTP.
    #[error("{0}: {1}")]
    Failed(SocketAddr, String),
    /// There is nowhere to ask.
    #[error("there is no way to the origin")]
    NoWay,
}

/// Sends requests, keeping connections for later ones.
pub struct Upstream {
    client: Client<Connector, Body>,
    pseudonym: String,
}

impl Upstream {
    /// Bears `pseudonym` in Via.
    #[must_use]
    pub fn new(pseudonym: String) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE)
            .pool_idle_timeout(IDLE_FOR)
            .build(Connector);
        Upstream { client, pseudonym }
    }

    /// Sends a request for `key` along `way`. `headers` are those to send but for Host, Via and what concerns one
    /// connection.
    pub async fn send(
        &self,
        way: Way,
        method: Method,
        key: &Key,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Response<Incoming>, NoResponse> {
        let failed = |why: String| NoResponse::Failed(way.address, why);
        // A router understands requests as an origin gets them; a proxy of another kind wants the whole URI.
        let is_proxy = matches!(way.kind, Kind::Proxy | Kind::ProxyHolder);
        let uri = if is_proxy {
            key.as_str().parse()
        } else {
            format!("http://{}{}", way.address, key.path_and_query()).parse()
        };
        let uri: Uri = uri.map_err(|error| failed(format!("{error}")))?;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let fields = request.headers_mut();
        *fields = headers.clone();
        fields::remove_hop_by_hop(fields);
        let host = HeaderValue::try_from(key.authority()).map_err(|error| failed(error.to_string()))?;
        fields.insert(HOST, host);
        fields::add_via(fields, hyper::Version::HTTP_11, &self.pseudonym);
        let answer = async {
            match is_proxy {
                true => send_once(way.address, request).await,
                false => self.client.request(request).await.map_err(|error| told(&error)),
            }
        };
        let answer = tokio::time::timeout(HEAD, answer).await.map_err(|_| NoResponse::Late(way.address))?;
        answer.map_err(failed)
    }
}

/// An error with its cause.
fn told(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// Sends a request as it is, on a connection of its own.
async fn send_once(address: SocketAddr, request: Request<Body>) -> Result<Response<Incoming>, String> {
    let stream = connect(address).await.map_err(|error| told(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(|error| told(&error))
}

/// Opens connections to the address that stands in the URI.
#[derive(Debug, Clone, Copy)]
struct Connector;

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Unhurried>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let address = uri.authority().and_then(|authority| authority.as_str().parse().ok());
        Box::pin(async move {
            let address = address.ok_or_else(|| io::Error::other("no address"))?;
            connect(address).await.map(TokioIo::new)
        })
    }
}

/// Opens a connection within the usual time.
pub(super) async fn connect(address: SocketAddr) -> io::Result<Unhurried> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_nodelay(true)?;
    socket2::SockRef::from(&socket).set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    // The handshake's acknowledgment goes with the request.
    let _ = socket2::SockRef::from(&socket).set_tcp_quickack(false);
    Ok(Unhurried::new(tokio::time::timeout(CONNECT, socket.connect(address)).await??))
}
