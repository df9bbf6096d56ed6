//! The server: checks requests, and passes them to the program.

use crate::admission;
use crate::places::Places;
use crate::ring::Step;
use bytes::Bytes;
use http_body_util::Full;
pub use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

/// The longest time until a request is complete.
const QUESTION: Duration = Duration::from_secs(5);
/// The longest time until its answer is sent.
const WHOLE: Duration = Duration::from_secs(30);
/// The longest head of a request, in bytes.
const HEAD_BYTES: usize = 16 << 10;
/// The time before a waiting connection gives way to a newcomer. Each then had at least 24 such times to send
/// its request.
const HEARING: Duration = Duration::from_millis(2);
/// Pause without free descriptors: other connections must end first.
const PAUSE: Duration = Duration::from_millis(100);
/// Content from this port only, and no embedding in frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";

/// An authorized request.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The path, `/` for the page itself.
    pub path: &'a str,
    /// The query behind the question mark; empty without one.
    pub query: &'a str,
}

impl Question<'_> {
    /// The value of a key in the query.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
    }
}

/// An answer.
pub type Answer = Response<Full<Bytes>>;

/// The port.
#[derive(Debug)]
pub struct Page {
    socket: TcpListener,
    token: Option<String>,
}

impl Page {
    /// Opens the port. Requests need `token`, if there is one.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn open(address: SocketAddr, token: Option<String>) -> io::Result<Self> {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Page { socket, token })
    }

    /// Its address.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Answers without end, by `answer`.
    pub async fn serve(self, answer: impl Fn(Question<'_>) -> Answer + Send + Sync + 'static) {
        let Ok(socket) = tokio::net::TcpListener::from_std(self.socket) else { return };
        let served = Arc::new((self.token, answer));
        let places = Places::default();
        loop {
            let Ok((stream, from)) = socket.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            if places.are_taken(from.ip()) {
                tokio::time::sleep(HEARING).await;
            }
            let place = places.enter(from.ip());
            let served = served.clone();
            tokio::spawn(async move {
                let service = service_fn(|request: Request<_>| {
                    let (token, answer) = &*served;
                    let answer = answered(&request, token.as_deref(), || place.serve(), answer);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(QUESTION).keep_alive(false);
                server.max_buf_size(HEAD_BYTES);
                let answering = server.serve_connection(TokioIo::new(stream), service);
                tokio::select! {
                    _ = tokio::time::timeout(WHOLE, answering) => {}
                    () = place.is_lost() => {}
                }
            });
        }
    }
}

/// The answer to a request. For an authorized one, `allowed` is called first.
fn answered<B>(
    request: &Request<B>,
    token: Option<&str>,
    allowed: impl FnOnce(),
    answer: &impl Fn(Question<'_>) -> Answer,
) -> Answer {
    if let Some(refused) = admission::refused(request.headers(), token) {
        return refused;
    }
    allowed();
    if request.method() != Method::GET {
        return said(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n");
    }
    let uri = request.uri();
    answer(Question { path: uri.path(), query: uri.query().unwrap_or_default() })
}

/// An answer of a media type, with protective headers.
pub fn said(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Answer {
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

/// An answer in JSON.
pub fn json(value: &impl Serialize) -> Answer {
    said(StatusCode::OK, "application/json", serde_json::to_string(value).unwrap_or_default())
}

/// Answers a request for steps with the `series` of a length that ended after a second of the program's
/// uptime.
#[must_use]
pub fn steps<T: Serialize>(question: Question<'_>, series: impl FnOnce(Step, f64) -> T) -> Answer {
    let step = question.value("step").map_or(Some(Step::Second), |step| Step::of_seconds(step.parse().ok()?));
    let since = question.value("since").map_or(Some(0.0), |since| since.parse().ok());
    match step.zip(since) {
        Some((step, since)) => json(&series(step, since)),
        None => said(StatusCode::BAD_REQUEST, "text/plain", "step is 1 or 10, since a number of seconds\n"),
    }
}

#[cfg(test)]
mod tests;
