//! Requests to origins and to other routers.

use super::proof::{Nonce, Prover};
use super::unhurried::DelayedAcknowledgments;
use super::upload::Moved;
use super::{Body, full};
use crate::destinations::Refused;
use crate::semantics::fields;
use crate::semantics::key::Key;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, DATE, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use socket2::TcpKeepalive;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpSocket;

/// Timeout of a connection's handshake.
const CONNECT: Duration = Duration::from_secs(6);
/// Longest time that sent data may be unacknowledged before the peer counts as gone.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);
/// Time and interval of keepalive probes.
const ALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(10)).with_interval(Duration::from_secs(5));
/// Timeout of a response's head from a live peer.
pub(super) const HEAD: Duration = Duration::from_secs(300);
/// The most octets of a response's head.
const HEAD_BYTES: usize = 128 << 10;
/// Delay before a retry to an address that ended a connection, because a dying program still listens for a
/// moment.
const DYING: Duration = Duration::from_millis(100);
/// Idle connections for each address, and their lifetime.
const IDLE: usize = 16;
const IDLE_FOR: Duration = Duration::from_secs(20);

/// The receiver of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Way {
    /// The address and port.
    pub address: SocketAddr,
    /// Its kind.
    pub kind: Kind,
}

/// The node at the end of a [`Way`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The origin, or a router that intercepts the connection.
    Origin,
    /// Another router's cache, which fetches missing content.
    Peer,
    /// Another router's cache on the path to a holder.
    Towards,
    /// Another router's cache that reported the content, and is asked for it only.
    Holder,
    /// A cache of another kind, which fetches missing content.
    Proxy,
    /// A cache of another kind that reported the content.
    ProxyHolder,
}

/// A request's proof to a router: the nonce that the answer must prove, and the field.
type Proof = (Nonce, HeaderValue);

impl Kind {
    /// Whether it is a router of this network.
    fn is_router(self) -> bool {
        matches!(self, Kind::Peer | Kind::Towards | Kind::Holder)
    }

    /// Whether it is a cache of another kind.
    fn is_proxy(self) -> bool {
        matches!(self, Kind::Proxy | Kind::ProxyHolder)
    }

    /// Whether it is asked only for content that it has.
    pub(super) fn holds(self) -> bool {
        matches!(self, Kind::Holder | Kind::ProxyHolder)
    }
}

/// Reason why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum NoResponse {
    /// There was no answer in time.
    #[error("no answer from {0} in time")]
    Late(SocketAddr),
    /// The connection failed, or the answer was not HTTP.
    #[error("{0}: {1}")]
    Failed(SocketAddr, String),
    /// The connection ended before an answer began.
    #[error("{0} ended the connection: {1}")]
    Broken(SocketAddr, String),
    /// The destination is forbidden for clients.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// There is no way to ask.
    #[error("there is no way to the origin")]
    NoWay,
}

/// Sends requests, and keeps connections for later ones.
pub struct Upstream {
    client: Client<Connector, Body>,
    pseudonym: String,
    prover: Option<Prover>,
}

impl Upstream {
    /// An upstream with this name in Via and these proofs to other routers.
    #[must_use]
    pub fn new(pseudonym: String, prover: Option<Prover>) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE)
            .pool_idle_timeout(IDLE_FOR)
            .http1_max_buf_size(HEAD_BYTES)
            .build(Connector);
        Upstream { client, pseudonym, prover }
    }

    /// Sends a request without content for `key` along `way`. `headers` are its fields without Host, Via and
    /// hop-by-hop ones. If the connection ends before an answer begins, the request is repeated once for
    /// methods that allow it (RFC 9110 section 9.2.2): the peer may have ended the connection at the same
    /// time.
    pub async fn send(
        &self,
        way: Way,
        method: Method,
        key: &Key,
        headers: &HeaderMap,
    ) -> Result<Response<Incoming>, NoResponse> {
        let sent = || self.upload(way, method.clone(), key, headers, full(Bytes::new()), Moved::default());
        match sent().await {
            Err(NoResponse::Broken(..)) if method.is_idempotent() => {
                tokio::time::sleep(DYING).await;
                sent().await
            }
            answer => answer,
        }
    }

    /// Sends a request with content. The timeout of the answer's head begins at the content's last progress
    /// (`moved`).
    pub(super) async fn upload(
        &self,
        way: Way,
        method: Method,
        key: &Key,
        headers: &HeaderMap,
        body: Body,
        moved: Moved,
    ) -> Result<Response<Incoming>, NoResponse> {
        let failed = |why: String| NoResponse::Failed(way.address, why);
        let (mut request, proof) = self.request(way, method, key, headers, body).map_err(failed)?;
        let connection = capture_connection(&mut request);
        let answer = async {
            match way.kind.is_proxy() {
                true => send_once(way.address, request).await.map_err(failed),
                false => self.client.request(request).await.map_err(|error| match is_broken(&error) {
                    true => NoResponse::Broken(way.address, told(&error)),
                    false => failed(told(&error)),
                }),
            }
        };
        let answer = moved.within(HEAD, answer).await.ok_or(NoResponse::Late(way.address))??;
        if let (Some((nonce, _)), Some(prover)) = (proof, &self.prover)
            && !prover.is_proven(nonce, key.as_str(), answer.status(), answer.headers())
        {
            return Err(failed("its answer does not bear the network's key".to_owned()));
        }
        let framed_twice =
            [CONTENT_LENGTH, TRANSFER_ENCODING].iter().all(|it| answer.headers().contains_key(it));
        if let (true, Some(connection)) = (framed_twice, connection.connection_metadata().as_ref()) {
            // A connection with a doubtful end of an answer is not reused (RFC 9112 section 6.3).
            connection.poison();
        }
        received(answer).map_err(|error| failed(error.to_string()))
    }

    /// Requests another protocol on a separate connection. The answer shows whether the protocol changes.
    pub(super) async fn switch(
        &self,
        way: Way,
        key: &Key,
        headers: &HeaderMap,
        protocol: &HeaderValue,
    ) -> Result<Response<Incoming>, NoResponse> {
        let failed = |why: String| NoResponse::Failed(way.address, why);
        let asked = self.request(way, Method::GET, key, headers, full(Bytes::new()));
        let (mut request, _) = asked.map_err(failed)?;
        request.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        request.headers_mut().insert(UPGRADE, protocol.clone());
        let answer = tokio::time::timeout(HEAD, send_once(way.address, request)).await;
        answer.map_err(|_| NoResponse::Late(way.address))?.map_err(failed)
    }

    /// The request to send, and its proof if it goes to a router.
    fn request(
        &self,
        way: Way,
        method: Method,
        key: &Key,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(Request<Body>, Option<Proof>), String> {
        // A router takes the origin-form; a proxy of another kind needs the whole URI.
        let uri = if way.kind.is_proxy() {
            key.as_str().parse()
        } else {
            format!("http://{}{}", way.address, key.path_and_query()).parse()
        };
        let uri: Uri = uri.map_err(|error: hyper::http::uri::InvalidUri| error.to_string())?;
        let mut request = Request::new(body);
        let prover = self.prover.as_ref().filter(|_| way.kind.is_router());
        let proof = prover.and_then(|prover| {
            let nonce = rand::random();
            Some((nonce, prover.of_request(nonce, &method, key.as_str())?))
        });
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let lines = request.headers_mut();
        *lines = headers.clone();
        fields::remove_hop_by_hop(lines);
        let host = HeaderValue::try_from(key.authority()).map_err(|error| error.to_string())?;
        lines.insert(HOST, host);
        fields::add_via(lines, hyper::Version::HTTP_11, &self.pseudonym);
        if let Some((_, proof)) = &proof {
            lines.insert(fields::PROOF, proof.clone());
        }
        Ok((request, proof))
    }
}

/// Checks an answer's framing and adds a missing Date (RFC 9110 section 6.6.1: the recipient adds the time of
/// reception).
fn received(mut answer: Response<Incoming>) -> Result<Response<Incoming>, fields::MalformedLength> {
    let framing = fields::framing(answer.headers())?;
    let headers = answer.headers_mut();
    if framing == fields::Framing::Chunked {
        headers.remove(CONTENT_LENGTH);
    }
    if !headers.contains_key(DATE) {
        let now = httpdate::fmt_http_date(std::time::SystemTime::now());
        HeaderValue::try_from(now).map(|now| headers.insert(DATE, now)).ok();
    }
    Ok(answer)
}

/// An error with its cause as text.
fn told(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// Whether an established connection ended before an answer began.
fn is_broken(error: &hyper_util::client::legacy::Error) -> bool {
    use std::error::Error as _;
    if error.is_connect() {
        return false;
    }
    let cause = error.source().and_then(|cause| cause.downcast_ref::<hyper::Error>());
    cause.is_some_and(|cause| {
        let by_the_system = cause.source().is_some_and(|source| source.is::<io::Error>());
        cause.is_incomplete_message() || cause.is_canceled() || cause.is_closed() || by_the_system
    })
}

/// Sends a request unchanged on a separate connection.
async fn send_once(address: SocketAddr, request: Request<Body>) -> Result<Response<Incoming>, String> {
    let stream = connect(address).await.map_err(|error| told(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await.map_err(|error| told(&error))
}

/// Opens connections to the address in the URI.
#[derive(Debug, Clone, Copy)]
struct Connector;

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<DelayedAcknowledgments>;
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

/// Opens a connection within [`CONNECT`].
pub(super) async fn connect(address: SocketAddr) -> io::Result<DelayedAcknowledgments> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_nodelay(true)?;
    let options = socket2::SockRef::from(&socket);
    options.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    options.set_tcp_keepalive(&ALIVE)?;
    // The handshake's acknowledgment is sent with the request.
    let _ = options.set_tcp_quickack(false);
    Ok(DelayedAcknowledgments::new(tokio::time::timeout(CONNECT, socket.connect(address)).await??))
}
