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

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(6);
/// How long what was sent may be unacknowledged: longer, and whoever was there is gone.
const UNACKNOWLEDGED: Duration = Duration::from_secs(20);
/// How soon who is silent is asked whether it is there, and how often.
const ALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(10)).with_interval(Duration::from_secs(5));
/// How long the head of a response may take: who is there may think about it.
pub(super) const HEAD: Duration = Duration::from_secs(300);
/// Octets of a response's head, at most.
const HEAD_BYTES: usize = 128 << 10;
/// How long whoever ended a connection is let be before it is asked again: a program that dies still listens
/// for a moment.
const DYING: Duration = Duration::from_millis(100);
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
    /// Another router's cache on the way to one that said that it has it.
    Towards,
    /// Another router's cache, which said that it has it, and is asked for that only.
    Holder,
    /// A cache of another kind, which fetches what it lacks.
    Proxy,
    /// A cache of another kind, which said that it has it.
    ProxyHolder,
}

/// What a request to a router carries to prove who sends it: the nonce that the answer has to prove, and the
/// field.
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
    /// The connection ended before an answer began.
    #[error("{0} ended the connection: {1}")]
    Broken(SocketAddr, String),
    /// Clients are not led there.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// There is nowhere to ask.
    #[error("there is no way to the origin")]
    NoWay,
}

/// Sends requests, keeping connections for later ones.
pub struct Upstream {
    client: Client<Connector, Body>,
    pseudonym: String,
    prover: Option<Prover>,
}

impl Upstream {
    /// Bears `pseudonym` in Via, and proves itself to other routers.
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

    /// Sends a request without a content for `key` along `way`. `headers` are those to send but for Host, Via
    /// and what concerns one connection. A connection that ends before an answer began is replaced once, for
    /// methods that allow it (RFC 9110 section 9.2.2): whoever was there may have ended it while the request
    /// was on its way.
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

    /// Sends a request with a content. The time that the head of the answer may take begins when the content
    /// last `moved`.
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
            // Nobody else's request goes where the end of an answer is in doubt (RFC 9112 section 6.3).
            connection.poison();
        }
        received(answer).map_err(|error| failed(error.to_string()))
    }

    /// Asks for another protocol on a connection of its own; the answer says whether it is spoken from now
    /// on.
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

    /// What is sent, and how it proves itself where it goes to a router.
    fn request(
        &self,
        way: Way,
        method: Method,
        key: &Key,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<(Request<Body>, Option<Proof>), String> {
        // A router understands requests as an origin gets them; a proxy of another kind wants the whole URI.
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

/// Makes of an answer what may be passed on: its framing is clear, and it tells when it was made (RFC 9110
/// section 6.6.1: whoever receives one that does not says when that was).
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

/// An error with its cause.
fn told(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// Whether a connection that stood ended before an answer began.
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

/// Sends a request as it is, on a connection of its own.
async fn send_once(address: SocketAddr, request: Request<Body>) -> Result<Response<Incoming>, String> {
    let stream = connect(address).await.map_err(|error| told(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    tokio::spawn(connection.with_upgrades());
    sender.send_request(request).await.map_err(|error| told(&error))
}

/// Opens connections to the address that stands in the URI.
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

/// Opens a connection within the usual time.
pub(super) async fn connect(address: SocketAddr) -> io::Result<DelayedAcknowledgments> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_nodelay(true)?;
    let options = socket2::SockRef::from(&socket);
    options.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    options.set_tcp_keepalive(&ALIVE)?;
    // The handshake's acknowledgment goes with the request.
    let _ = options.set_tcp_quickack(false);
    Ok(DelayedAcknowledgments::new(tokio::time::timeout(CONNECT, socket.connect(address)).await??))
}
