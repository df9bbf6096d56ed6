//! The node's web page, its series and reports as JSON, and its metrics.
//!
//! | path | |
//! |---|---|
//! | `/` | the page |
//! | `/history.json?step=10&since=12.5` | [`Series`](crate::Series): steps of 1 or 10 seconds that ended later than this second of uptime |
//! | `/status.json` | [`Report`], as `overheard status --json` prints it |
//! | `/metrics` | [`metrics`](crate::metrics) for Prometheus |
//!
//! On a loopback address anybody on this machine may ask, elsewhere whoever bears the token: as `Authorization: Bearer`, or
//! as the password of any user, which is what browsers ask a person for. A page of somebody else's that a browser here has
//! open must not be able to ask, by a name that leads to the loopback address: so a question without a token has to be for
//! an address or for `localhost`. What is on the page comes from the node alone, and a policy (CSP) holds browsers to that.

use crate::history::{History, Step};
use crate::metrics;
use crate::report::Report;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName, HeaderValue,
    REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Questions at a time.
const MOST: usize = 32;
const PATIENCE: Duration = Duration::from_secs(5);
/// Nothing that does not come from here; no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// What the page consists of.
const FILES: [(&str, &str, &str); 6] = [
    ("/", "text/html; charset=utf-8", include_str!("../assets/page.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("../assets/page.css")),
    ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../assets/page.js")),
    ("/uPlot.css", "text/css; charset=utf-8", include_str!("../assets/uPlot.min.css")),
    ("/uPlot.js", "text/javascript; charset=utf-8", include_str!("../assets/uPlot.iife.min.js")),
];

/// What is known of a node, by one thread that asks it and others that are asked.
#[derive(Debug)]
pub struct Known {
    history: Mutex<History>,
    latest: Mutex<Option<Report>>,
}

impl Known {
    /// Nothing but `history` yet.
    #[must_use]
    pub fn new(history: History) -> Arc<Self> {
        Arc::new(Known { history: Mutex::new(history), latest: Mutex::new(None) })
    }

    /// Takes what the node says now.
    pub fn note(&self, report: Report) {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).note(&report.snapshot.node);
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    /// The steps of one length later than a second of the node's uptime.
    #[must_use]
    pub fn series(&self, step: Step, since_seconds: f64) -> crate::Series {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).series(step, since_seconds)
    }

    /// What the node said last.
    #[must_use]
    pub fn latest(&self) -> Option<Report> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The page's port.
#[derive(Debug)]
pub struct Page {
    socket: TcpListener,
    token: Option<String>,
}

impl Page {
    /// Opens the port. Whoever asks has to bear `token`, if there is one.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn open(address: SocketAddr, token: Option<String>) -> io::Result<Self> {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Page { socket, token })
    }

    /// Where it is open.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers for ever, on a thread of its own.
    ///
    /// # Errors
    ///
    /// What the system said to a new thread.
    pub fn serve(self, known: Arc<Known>) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let answers = move || runtime.block_on(answer_all(self, known));
        std::thread::Builder::new().name("dashboard".to_owned()).spawn(answers).map(|_| ())
    }
}

async fn answer_all(page: Page, known: Arc<Known>) {
    let Ok(socket) = tokio::net::TcpListener::from_std(page.socket) else { return };
    let token: Option<Arc<str>> = page.token.map(Arc::from);
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((stream, _)) = socket.accept().await else {
            tokio::time::sleep(PATIENCE).await;
            continue;
        };
        let (known, token) = (known.clone(), token.clone());
        tokio::spawn(async move {
            let service = service_fn(|request: Request<_>| {
                let answer = answer(&request, token.as_deref(), &known);
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
            let served = server.serve_connection(TokioIo::new(stream), service);
            // whoever reads slowly keeps a place for no longer than that
            let _ = tokio::time::timeout(2 * PATIENCE, served).await;
            drop(place);
        });
    }
}

type Answer = Response<Full<Bytes>>;

fn answer<B>(request: &Request<B>, token: Option<&str>, known: &Known) -> Answer {
    match token {
        Some(token) if !bears(request.headers(), token) => {
            let mut refused = said(StatusCode::UNAUTHORIZED, "text/plain", "a token is needed\n");
            let ways = HeaderValue::from_static(
                "Basic realm=\"overheard: any user, the token as password\", Bearer",
            );
            refused.headers_mut().insert(WWW_AUTHENTICATE, ways);
            return refused;
        }
        None if !is_for_this_machine(request.headers()) => {
            let why = "ask by address, or for localhost\n";
            return said(StatusCode::MISDIRECTED_REQUEST, "text/plain", why);
        }
        _ => {}
    }
    if request.method() != Method::GET {
        return said(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n");
    }
    let path = request.uri().path();
    if let Some((_, kind, text)) = FILES.iter().find(|(name, _, _)| *name == path) {
        return said(StatusCode::OK, kind, *text);
    }
    match path {
        "/history.json" => history(request.uri().query().unwrap_or_default(), known),
        "/status.json" => {
            of_latest(known, "application/json", |it| serde_json::to_string(it).unwrap_or_default())
        }
        "/metrics" => of_latest(known, metrics::MEDIA_TYPE, metrics::metrics),
        _ => said(
            StatusCode::NOT_FOUND,
            "text/plain",
            "there are /, /history.json, /status.json and /metrics\n",
        ),
    }
}

fn of_latest(known: &Known, kind: &'static str, form: impl FnOnce(&Report) -> String) -> Answer {
    match known.latest() {
        Some(report) => said(StatusCode::OK, kind, form(&report)),
        None => said(
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain",
            "nothing is known yet; ask again in a second\n",
        ),
    }
}

fn history(query: &str, known: &Known) -> Answer {
    let value = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
    let step = value("step").map_or(Some(Step::Second), |step| Step::of_seconds(step.parse().ok()?));
    let since = value("since").map_or(Some(0.0), |since| since.parse::<f64>().ok());
    match (step, since) {
        (Some(step), Some(since)) => {
            let series = serde_json::to_string(&known.series(step, since)).unwrap_or_default();
            said(StatusCode::OK, "application/json", series)
        }
        _ => said(StatusCode::BAD_REQUEST, "text/plain", "step is 1 or 10, since a number of seconds\n"),
    }
}

fn said(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = status;
    let fields: [(HeaderName, &'static str); 5] = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fields {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Whether the token is there, in either of its two forms.
fn bears(fields: &HeaderMap, token: &str) -> bool {
    let Some(given) = fields.get(AUTHORIZATION).map(HeaderValue::as_bytes) else { return false };
    if let Some(given) = given.strip_prefix(b"Bearer ") {
        return is_same(given, token.as_bytes());
    }
    let decoded = given.strip_prefix(b"Basic ").and_then(|given| STANDARD.decode(given).ok());
    let Some(decoded) = decoded else { return false };
    let password = decoded.iter().position(|byte| *byte == b':').map(|colon| &decoded[colon + 1..]);
    password.is_some_and(|password| is_same(password, token.as_bytes()))
}

/// Compared in a time that tells nothing of where they differ.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    let differs = given.iter().zip(token).fold(0, |differs, (a, b)| differs | (a ^ b));
    given.len() == token.len() && differs == 0
}

/// Whether the question is for an address or for `localhost`, and not for a name that somebody else could lead here.
fn is_for_this_machine(fields: &HeaderMap) -> bool {
    let Some(host) = fields.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests;
