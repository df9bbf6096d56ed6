//! What an operator asks: a page, counters for Prometheus, and JSON.

mod history;
mod metrics;
mod page;

use history::History;

use ::page::files;
use ::page::{Answer, Question, StatusCode, said};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use webcache::proxy::Proxy;

const SAMPLED_EVERY: Duration = Duration::from_secs(1);

/// The page's port.
#[derive(Debug)]
pub struct Page(::page::Page);

impl Page {
    /// Opens the port. Clients must send `token`, if there is one.
    ///
    /// # Errors
    ///
    /// What the system said.
    pub fn open(address: SocketAddr, token: Option<String>) -> io::Result<Self> {
        ::page::Page::open(address, token).map(Page)
    }

    /// Notes once a second what the cache has answered, and answers for ever.
    pub async fn serve(self, proxy: Arc<Proxy>) {
        let history = Arc::new(History::default());
        tokio::spawn(watch(history.clone(), proxy.clone()));
        self.0.serve(move |question| answer(question, &proxy, &history)).await;
    }
}

async fn watch(history: Arc<History>, proxy: Arc<Proxy>) {
    let (began, mut seconds) = (Instant::now(), tokio::time::interval(SAMPLED_EVERY));
    loop {
        seconds.tick().await;
        let (requests, bytes) = proxy.statistics.answered();
        history.note(began.elapsed(), &requests, &bytes);
    }
}

fn answer(question: Question<'_>, proxy: &Proxy, history: &History) -> Answer {
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
