//! What an operator asks: a page, counters for Prometheus, JSON, and the socket that `overheard status` asks on.

mod metrics;
mod page;

use crate::proxy::Proxy;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;

/// Questions at a time.
const MOST: usize = 32;
const PATIENCE: Duration = Duration::from_secs(5);

type Answer = Response<Full<bytes::Bytes>>;

/// The page's port.
pub struct Page {
    socket: TcpListener,
    token: Option<Arc<str>>,
    proxy: Arc<Proxy>,
}

impl Page {
    /// Opens the port; whoever asks has to bear `token`, as a bearer or as a password.
    pub fn open(address: SocketAddr, token: Option<String>, proxy: Arc<Proxy>) -> io::Result<Self> {
        let socket = std::net::TcpListener::bind(address).map_err(|why| {
            io::Error::new(
                why.kind(),
                format!("[management] listen: cannot listen on {address}: {why}; choose another"),
            )
        })?;
        socket.set_nonblocking(true)?;
        Ok(Page { socket: TcpListener::from_std(socket)?, token: token.map(Arc::from), proxy })
    }

    /// Answers for ever.
    pub async fn serve(self) {
        let places = Arc::new(Semaphore::new(MOST));
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let Ok((stream, _)) = self.socket.accept().await else {
                tokio::time::sleep(PATIENCE).await;
                continue;
            };
            let (proxy, token) = (self.proxy.clone(), self.token.clone());
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let answer = answer(&request, token.as_deref(), &proxy);
                    async move { Ok::<_, Infallible>(answer) }
                });
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(PATIENCE).keep_alive(false);
                let served = server.serve_connection(TokioIo::new(stream), service);
                let _ = tokio::time::timeout(2 * PATIENCE, served).await;
                drop(place);
            });
        }
    }
}

fn answer(request: &Request<Incoming>, token: Option<&str>, proxy: &Proxy) -> Answer {
    if let Some(token) = token
        && !request.headers().get(AUTHORIZATION).is_some_and(|given| bears(given.as_bytes(), token))
    {
        let mut refused = said(StatusCode::UNAUTHORIZED, "text/plain", "a token is needed\n".to_owned());
        refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return refused;
    }
    if request.method() != Method::GET {
        return said(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".to_owned());
    }
    let report = proxy.report();
    match request.uri().path() {
        "/" => said(StatusCode::OK, "text/html; charset=utf-8", page::page(&report)),
        "/status.json" => {
            said(StatusCode::OK, "application/json", serde_json::to_string(&report).unwrap_or_default())
        }
        "/metrics" => said(
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            metrics::metrics(&report),
        ),
        _ => said(StatusCode::NOT_FOUND, "text/plain", "there are /, /status.json and /metrics\n".to_owned()),
    }
}

fn said(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Whether `Bearer` and the token stand in the field. Compared in a time that tells nothing of where they differ.
fn bears(field: &[u8], token: &str) -> bool {
    let Some(given) = field.strip_prefix(b"Bearer ") else { return false };
    let differs = given.iter().zip(token.as_bytes()).fold(0, |differs, (a, b)| differs | (a ^ b));
    given.len() == token.len() && differs == 0
}

/// The Unix socket that tells the state as JSON to whoever connects.
pub struct StatusSocket {
    socket: UnixListener,
    path: PathBuf,
}

/// Removes the socket's file when dropped.
pub struct Removal(PathBuf);

impl Drop for Removal {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl StatusSocket {
    /// Binds to `path`. A socket that nobody answers on any more is replaced.
    pub fn open(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let named = |why: io::Error| {
            io::Error::new(why.kind(), format!("cannot listen on {}: {why}", path.display()))
        };
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(named)?;
        }
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(io::Error::other(format!(
                "a cache answers on {} already; stop it first",
                path.display()
            )));
        }
        let _ = std::fs::remove_file(path);
        let socket = UnixListener::bind(path).map_err(named)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(named)?;
        Ok(StatusSocket { socket, path: path.to_owned() })
    }

    /// What removes the file at the end.
    #[must_use]
    pub fn removal(&self) -> Removal {
        Removal(self.path.clone())
    }

    /// Answers for ever, one after the other.
    pub async fn serve(self, proxy: Arc<Proxy>) {
        while let Ok((mut stream, _)) = self.socket.accept().await {
            let report = serde_json::to_vec(&proxy.report()).unwrap_or_default();
            let _ = tokio::time::timeout(PATIENCE, stream.write_all(&report)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::bears;

    #[test]
    fn only_the_whole_token_opens() {
        assert!(bears(b"Bearer 0123456789abcdef", "0123456789abcdef"));
        for wrong in ["Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "0123456789abcdef", "Bearer ", ""]
        {
            assert!(!bears(wrong.as_bytes(), "0123456789abcdef"), "{wrong}");
        }
    }
}
