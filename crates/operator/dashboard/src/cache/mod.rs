//! What an operator asks: a page, counters for Prometheus, and JSON.

mod history;
mod metrics;
mod page;

use history::History;

use ::page::{Answer, Question, StatusCode, json, said};
use ::page::{files, ring};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
        let history = Arc::new(Mutex::new(History::default()));
        tokio::spawn(watch(history.clone(), proxy.clone()));
        self.0.serve(move |question| answer(question, &proxy, &history)).await;
    }
}

fn locked(history: &Mutex<History>) -> MutexGuard<'_, History> {
    history.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn watch(history: Arc<Mutex<History>>, proxy: Arc<Proxy>) {
    let began = Instant::now();
    loop {
        tokio::time::sleep(SAMPLED_EVERY).await;
        let (requests, bytes) = proxy.statistics.answered();
        locked(&history).note(began.elapsed(), &requests, &bytes);
    }
}

fn answer(question: Question<'_>, proxy: &Proxy, history: &Mutex<History>) -> Answer {
    if let Some(file) = files::asked_for(question, &page::FILES) {
        return file;
    }
    match question.path {
        "/" => said(StatusCode::OK, "text/html; charset=utf-8", page::page(&proxy.report())),
        "/history.json" => ring::answer(question, |step, since| locked(history).series(step, since)),
        "/status.json" => json(&proxy.report()),
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
