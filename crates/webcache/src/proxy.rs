//! Answers requests: from what is stored, from another router, or from the origin, keeping what may be kept.

mod abortable;
mod answer;
mod fetch;
mod listener;
mod mend;
mod request;
mod serve;
mod tunnel;
mod unhurried;
mod upstream;
mod ways;

pub use abortable::Abort;
pub use answer::Outcome;
pub use listener::{Listener, NoListener};
pub use request::{Asked, Door};
pub use upstream::{Kind, Way};

use crate::semantics::key::Key;
use crate::semantics::{UnixSeconds, fields};
use crate::site::Rewrites;
use crate::statistics::Statistics;
use crate::store::Store;
use answer::refusal;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use upstream::Upstream;

/// What is sent: bytes, or an error that breaks the connection off.
pub type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// URIs whose responses are known not to be kept, so that nobody waits for another's; the oldest is forgotten.
const MOST_UNCACHEABLE: usize = 10_000;
/// For how long that is believed.
const UNCACHEABLE_SECONDS: u64 = 60;

/// What the operator chose.
#[derive(Debug, Clone)]
pub struct Settings {
    /// This router's name in Via and Cache-Status; no other on the way may bear it.
    pub name: String,
    /// Whether a request taken on its way is kept only if its Host resolves to where it was going.
    pub verify_host: bool,
    /// How stale a response may be served when its origin is out of reach and did not say, in seconds.
    pub stale_if_unreachable: u32,
    /// Whether package repositories are known.
    pub packages: bool,
    /// Ports that a forward proxy's CONNECT may reach.
    pub connect_ports: Vec<u16>,
    /// Which other routers are asked, where there are any.
    pub selector: Option<Arc<crate::selector::Selector>>,
    /// Which caches of other kinds are asked, where there are any.
    pub icp: Option<Arc<crate::icp::Icp>>,
    /// The upstreams of the reverse proxy.
    pub rewrites: Rewrites,
}

/// The proxy.
pub struct Proxy {
    pub(crate) store: Arc<Store>,
    settings: Settings,
    upstream: Upstream,
    /// One at a time asks the origin for a URI; the others wait for what comes of it.
    flights: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
    uncacheable: Mutex<HashMap<Key, UnixSeconds>>,
    /// What it did.
    pub statistics: Statistics,
    names: ways::Names,
}

impl Proxy {
    /// Over a store.
    #[must_use]
    pub fn new(store: Arc<Store>, settings: Settings) -> Arc<Self> {
        let upstream = Upstream::new(settings.name.clone());
        Arc::new(Proxy {
            store,
            upstream,
            settings,
            flights: Mutex::new(HashMap::new()),
            uncacheable: Mutex::new(HashMap::new()),
            statistics: Statistics::default(),
            names: ways::Names::default(),
        })
    }

    /// Answers a request that came by `door` from `client`. `abort` makes the connection's end a reset.
    pub async fn answer(
        self: &Arc<Self>,
        request: Request<Incoming>,
        door: Door,
        client: IpAddr,
        abort: Abort,
    ) -> Response<Body> {
        let began = Instant::now();
        if request.method() == Method::CONNECT {
            return self.tunnel(request, &door).await;
        }
        let (parts, body) = request.into_parts();
        let mut asked = match Asked::of(parts, door) {
            Ok(asked) => asked,
            Err(why) => {
                self.statistics.refuse("malformed");
                return refusal(StatusCode::BAD_REQUEST, &why.to_string());
            }
        };
        if asked.door == Door::Reverse {
            match self.settings.rewrites.rewrite(&asked.key) {
                Some(key) => asked.key = key,
                None => return refusal(StatusCode::NOT_FOUND, "no upstream serves this here"),
            }
        }
        if fields::is_loop(&asked.headers, &self.settings.name) {
            self.statistics.refuse("loop");
            return refusal(StatusCode::LOOP_DETECTED, "this request was here before");
        }
        if fields::content_length(&asked.headers).is_err() {
            self.statistics.refuse("malformed");
            return refusal(StatusCode::BAD_REQUEST, "malformed or conflicting Content-Length");
        }
        asked.trusted = self.is_host_right(&asked).await;
        if !asked.trusted {
            self.statistics.refuse("host-mismatch");
        }
        let asked = Arc::new(asked);
        let (response, outcome) = if asked.is_cacheable() {
            self.get(&asked, body, &abort).await
        } else {
            self.pass(&asked, body, &abort).await
        };
        self.statistics.count(&asked, client, outcome, response.status(), began.elapsed());
        self.counted(response, asked, outcome)
    }

    /// What it is and what it did, as JSON tells it.
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

    /// A lock on a URI: whoever holds it asks the origin.
    fn flight(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        // Locks that only this table holds are of no use any more.
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

    /// Counts the bytes of a response as they leave.
    fn counted(
        self: &Arc<Self>,
        response: Response<Body>,
        asked: Arc<Asked>,
        outcome: Outcome,
    ) -> Response<Body> {
        let proxy = self.clone();
        let site = proxy.statistics.site(asked.key.host());
        response.map(|body| {
            use hyper::body::Body as _;
            if let Some(exact) = body.size_hint().exact() {
                proxy.statistics.sent(&site, outcome, exact);
                return body;
            }
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
    /// The program's version.
    pub version: &'static str,
    /// This router's name.
    pub name: String,
    /// What is kept.
    pub store: crate::store::Usage,
    /// What was done.
    pub counters: crate::statistics::Counters,
    /// What is known of the other routers.
    pub mesh: Option<crate::selector::Report>,
}

/// The time on the wall.
pub fn now() -> UnixSeconds {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A body that is all there.
fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
