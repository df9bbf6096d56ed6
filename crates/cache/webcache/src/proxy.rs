//! Answers requests from the store, from another router, or from the origin, and stores what may be stored.

mod answer;
mod connection;
mod fetch;
mod learn;
mod listener;
mod live;
mod mend;
mod parts;
mod pass;
mod places;
mod proof;
mod request;
mod serve;
mod switch;
mod tunnel;
mod unhurried;
mod upload;
mod upstream;
mod ways;

pub use answer::Outcome;
pub use connection::Outlet;
pub use listener::{Listener, MOST_CONNECTIONS};
pub use live::Live;
pub use proof::Prover;
pub use request::{Asked, Door};
pub use upstream::{Kind, Way};

use crate::resolution::Names;
use crate::semantics::heads::Wrong;
use crate::semantics::key::Key;
use crate::semantics::{UnixSeconds, fields};
use crate::statistics::{Answer, Statistics};
use crate::store::Store;
use answer::{Signature, refusal};
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{ALLOW, CONNECTION, CONTENT_LENGTH, HeaderValue};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Version};
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;
use upstream::Upstream;

/// Body of a message: bytes, or an error that resets the connection.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The most URIs known as uncacheable, for which no request waits for another's; the oldest one is dropped.
const MOST_UNCACHEABLE: usize = 10_000;
/// Time that such a URI is remembered.
const UNCACHEABLE_SECONDS: u64 = 60;
/// The most tunnels at a time.
const MOST_TUNNELS: usize = 1024;

/// The operator's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This router's name in Via and Cache-Status, unique on the path.
    pub name: String,
    /// The selector of other routers, if there are any.
    pub selector: Option<Arc<crate::selector::Selector>>,
    /// Proofs between routers, if there are others.
    pub prover: Option<Prover>,
    /// Caches of other kinds, if there are any.
    pub icp: Option<Arc<crate::icp::Icp>>,
    /// Those that can change.
    pub live: Live,
}

/// The proxy.
pub struct Proxy {
    pub(crate) store: Arc<Store>,
    settings: Settings,
    live: RwLock<Arc<Live>>,
    upstream: Upstream,
    signature: Signature,
    /// One request at a time asks the origin for a URI; the others wait for its result.
    flights: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
    uncacheable: Mutex<HashMap<Key, UnixSeconds>>,
    /// Counters.
    pub statistics: Statistics,
    names: Names,
    /// Permits of tunnels. Each tunnel holds two connections until its client ends it.
    tunnels: Arc<Semaphore>,
}

impl Proxy {
    /// A proxy over this store.
    #[must_use]
    pub fn new(store: Arc<Store>, mut settings: Settings) -> Arc<Self> {
        let live = RwLock::new(Arc::new(std::mem::take(&mut settings.live)));
        let upstream = Upstream::new(settings.name.clone(), settings.prover.clone());
        Arc::new(Proxy {
            store,
            upstream,
            signature: Signature::of(&settings.name),
            settings,
            live,
            flights: Mutex::new(HashMap::new()),
            uncacheable: Mutex::new(HashMap::new()),
            statistics: Statistics::default(),
            names: Names::default(),
            tunnels: Arc::new(Semaphore::new(MOST_TUNNELS)),
        })
    }

    /// Adopts other settings. Requests that have read the earlier ones end by them.
    pub fn adopt(&self, live: Live) {
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(live);
    }

    /// The present settings.
    fn live(&self) -> Arc<Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers a request from `client` that arrived by `door`. The answer leaves by `outlet`.
    pub async fn answer(
        self: &Arc<Self>,
        mut request: Request<Incoming>,
        door: Door,
        client: IpAddr,
        outlet: Outlet,
    ) -> Response<Body> {
        if request.method() == Method::CONNECT {
            return self.tunnel(request, &door, client).await;
        }
        let websocket = switch::wanted(&mut request, &door);
        let (parts, body) = request.into_parts();
        let asked = match Asked::of(parts, door, client) {
            Ok(asked) => asked,
            Err(why) => return self.malformed(StatusCode::BAD_REQUEST, &why.to_string()),
        };
        let mut nonce = None;
        if let (Door::Peer, Some(prover)) = (&asked.door, &self.settings.prover) {
            nonce = prover.read_request(&asked.headers, &asked.method, asked.key.as_str());
            if nonce.is_none() {
                self.statistics.refuse("unproven");
                return refusal(StatusCode::FORBIDDEN, "this door is for routers of the network");
            }
        }
        let (key, version, method) = (asked.key.clone(), asked.version, asked.method.clone());
        let mut response = self.answer_asked(asked, body, websocket, &outlet).await;
        let framed = response.headers().contains_key(CONTENT_LENGTH)
            || response.body().size_hint().exact().is_some()
            || method == Method::HEAD;
        if version == Version::HTTP_10 && !framed {
            outlet.ends_the_content();
        }
        if let (Some(nonce), Some(prover)) = (nonce, &self.settings.prover) {
            let proof = prover.of_answer(nonce, key.as_str(), response.status(), response.headers());
            proof.map(|proof| response.headers_mut().insert(fields::PROOF, proof));
        }
        response
    }

    /// The answer to a request with a malformed head.
    fn refuse_head(&self, wrong: Wrong) -> Response<Body> {
        let status = match wrong {
            Wrong::Coding => StatusCode::NOT_IMPLEMENTED,
            _ => StatusCode::BAD_REQUEST,
        };
        self.malformed(status, &wrong.to_string())
    }

    /// The answer to a malformed request. Its connection ends, because later bytes may be a smuggled request
    /// (RFC 9112 section 11.2).
    fn malformed(&self, status: StatusCode, why: &str) -> Response<Body> {
        self.statistics.refuse("malformed");
        let mut refused = refusal(status, why);
        refused.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        refused
    }

    async fn answer_asked(
        self: &Arc<Self>,
        mut asked: Asked,
        body: Incoming,
        websocket: Option<OnUpgrade>,
        outlet: &Outlet,
    ) -> Response<Body> {
        let began = Instant::now();
        if asked.door == Door::Reverse {
            match self.live().rewrites.rewrite(&asked.key) {
                Some(key) => asked.key = key,
                None => return refusal(StatusCode::NOT_FOUND, "no upstream serves this here"),
            }
        }
        if fields::is_loop(&asked.headers, &self.settings.name) {
            self.statistics.refuse("loop");
            return refusal(StatusCode::LOOP_DETECTED, "this request was here before");
        }
        if fields::content_length(&asked.headers).is_err() {
            return self.malformed(StatusCode::BAD_REQUEST, "malformed or conflicting Content-Length");
        }
        if matches!(asked.method, Method::OPTIONS | Method::TRACE)
            && !fields::count_forward(&mut asked.headers)
        {
            return last_recipient(&asked.method);
        }
        asked.trusted = self.is_host_right(&asked).await;
        if !asked.trusted {
            self.statistics.refuse("host-mismatch");
        }
        let asked = Arc::new(asked);
        let (response, outcome) = if let Some(client) = websocket {
            self.switch(&asked, client, outlet).await
        } else if asked.is_cacheable() {
            self.get(&asked, body, outlet).await
        } else {
            self.pass_content(&asked, body, outlet).await
        };
        let bytes = response.body().size_hint().exact();
        let answer = Answer { outcome, status: response.status(), took: began.elapsed(), bytes };
        self.statistics.count(&asked, answer);
        if bytes.is_some() { response } else { self.counted(response, &asked, outcome) }
    }

    /// State and counters, for JSON.
    #[must_use]
    pub fn report(&self) -> Report {
        Report {
            version: env!("CARGO_PKG_VERSION"),
            name: self.settings.name.clone(),
            store: self.store.usage(),
            counters: self.statistics.snapshot(),
            mesh: self.settings.selector.as_ref().map(|selector| selector.report()),
        }
    }

    /// The lock of a URI. Its holder asks the origin.
    fn flight(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        // Locks that only this table holds are unused.
        if flights.len() > 1000 {
            flights.retain(|_, lock| Arc::strong_count(lock) > 1);
        }
        flights.entry(key.clone()).or_default().clone()
    }

    fn is_known_uncacheable(&self, key: &Key) -> bool {
        let known = self.uncacheable.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).is_some_and(|until| now() < *until)
    }

    fn note_uncacheable(&self, key: &Key) {
        let now = now();
        let mut known = self.uncacheable.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_UNCACHEABLE {
            known.retain(|_, until| now < *until);
            if known.len() >= MOST_UNCACHEABLE {
                known.clear();
            }
        }
        known.insert(key.clone(), now + UNCACHEABLE_SECONDS);
    }

    /// Counts the bytes of a response as they are sent.
    fn counted(
        self: &Arc<Self>,
        response: Response<Body>,
        asked: &Asked,
        outcome: Outcome,
    ) -> Response<Body> {
        let (proxy, site) = (self.clone(), asked.key.host().to_owned());
        response.map(|body| {
            let counted = body.map_frame(move |frame| {
                if let Some(bytes) = frame.data_ref() {
                    proxy.statistics.sent(&site, outcome, bytes.len() as u64);
                }
                frame
            });
            counted.boxed_unsync()
        })
    }
}

/// The state of a cache.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The version of the program.
    pub version: &'static str,
    /// The name of this router.
    pub name: String,
    /// The use of the store.
    pub store: crate::store::Usage,
    /// Counters since the start.
    pub counters: crate::statistics::Counters,
    /// The state of the mesh. None without other routers.
    pub mesh: Option<crate::selector::Report>,
}

/// The answer to OPTIONS or TRACE whose Max-Forwards ends here (RFC 9110 sections 9.3.7 and 9.3.8). TRACE
/// would reveal fields that the client's other programs added.
fn last_recipient(method: &Method) -> Response<Body> {
    let mut answer = match *method {
        Method::OPTIONS => Response::new(empty()),
        _ => refusal(StatusCode::METHOD_NOT_ALLOWED, "TRACE is not answered here"),
    };
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
    answer
}

/// The current wall-clock time.
pub fn now() -> UnixSeconds {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An empty body.
fn empty() -> Body {
    full(Bytes::new())
}

/// A complete body.
fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
