//! What an operator asks: a page, counters for Prometheus, JSON, and the socket that `overheard status` asks on.

mod history;
mod metrics;
mod page;

pub use history::History;

use crate::proxy::Proxy;
use ::page::files;
use ::page::{Answer, Question, StatusCode, said};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;

/// How long whoever asks on the socket may take to read the answer.
const PATIENCE: Duration = Duration::from_secs(5);
const SAMPLED_EVERY: Duration = Duration::from_secs(1);

/// Opens the page's port; whoever asks has to bear `token`, if there is one.
pub fn open(address: SocketAddr, token: Option<String>) -> io::Result<::page::Page> {
    ::page::Page::open(address, token).map_err(|why| {
        io::Error::new(
            why.kind(),
            format!("[management] listen: cannot listen on {address}: {why}; choose another"),
        )
    })
}

/// Notes once a second what was answered, for ever.
pub async fn watch(history: Arc<History>, proxy: Arc<Proxy>) {
    let (began, mut seconds) = (Instant::now(), tokio::time::interval(SAMPLED_EVERY));
    loop {
        seconds.tick().await;
        let (requests, bytes) = proxy.statistics.answered();
        history.note(began.elapsed(), &requests, &bytes);
    }
}

/// What is answered there.
pub fn answer(question: Question<'_>, proxy: &Proxy, history: &History) -> Answer {
    if let Some(file) = files::asked_for(question, &page::FILES) {
        return file;
    }
    match question.path {
        "/history.json" => of_history(question, history),
        "/" => said(StatusCode::OK, "text/html; charset=utf-8", page::page(&proxy.report())),
        "/status.json" => said(
            StatusCode::OK,
            "application/json",
            serde_json::to_string(&proxy.report()).unwrap_or_default(),
        ),
        "/metrics" => said(
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            metrics::metrics(&proxy.report()),
        ),
        _ => said(
            StatusCode::NOT_FOUND,
            "text/plain",
            "there are /, /history.json, /status.json and /metrics\n",
        ),
    }
}

fn of_history(question: Question<'_>, history: &History) -> Answer {
    let step = question.value("step").map_or(Some(1), |step| step.parse().ok());
    let since = question.value("since").map_or(Some(0.0), |since| since.parse::<f64>().ok());
    let since = since.and_then(|since| Duration::try_from_secs_f64(since).ok());
    let series = step.zip(since).and_then(|(step, since)| history.series(step, since));
    match series {
        Some(series) => {
            said(StatusCode::OK, "application/json", serde_json::to_string(&series).unwrap_or_default())
        }
        None => said(StatusCode::BAD_REQUEST, "text/plain", "step is 1 or 10, since a number of seconds\n"),
    }
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
