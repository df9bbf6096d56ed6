//! The history of a web cache as a page, as JSON and as metrics.
//!
//! | path | |
//! |---|---|
//! | `/` | the page |
//! | `/history.json?step=10&since=12.5` | steps of 1 or 10 seconds that ended later than this second of uptime |
//! | `/status.json` | the cache's [`Report`](webcache::proxy::Report), as `overheard status --json` prints it |
//! | `/metrics` | counters for Prometheus |

mod history;
mod html;
mod metrics;

use crate::exposition;
use ::page::{Answer, Page, Question, StatusCode, json, said};
use ::page::{files, ring};
use history::History;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use webcache::proxy::Proxy;

/// Column names of the outcomes, in the order of
/// [`Answered::by_outcome`](webcache::statistics::Answered::by_outcome).
pub const OUTCOMES: [&str; 7] = ["local", "ph-local", "validated", "stale", "remote", "miss", "not kept"];
const SAMPLED_EVERY: Duration = Duration::from_secs(1);

/// Samples the cache once a second, and answers on the page's port without end.
pub async fn serve(page: Page, proxy: Arc<Proxy>) {
    let history = Arc::new(Mutex::new(History::default()));
    tokio::spawn(watch(history.clone(), proxy.clone()));
    page.serve(move |question| answer(question, &proxy, &history)).await;
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
    if let Some(file) = files::asked_for(question, &html::FILES) {
        return file;
    }
    match question.path {
        "/" => said(StatusCode::OK, "text/html; charset=utf-8", html::page(&proxy.report())),
        "/history.json" => ring::answer(question, |step, since| locked(history).series(step, since)),
        "/status.json" => json(&proxy.report()),
        "/metrics" => exposition::answer(metrics::metrics(proxy.report())),
        _ => said(
            StatusCode::NOT_FOUND,
            "text/plain",
            "there are /, /history.json, /status.json and /metrics\n",
        ),
    }
}
