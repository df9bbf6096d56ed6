//! The server of the page.

use super::history::History;
use super::{html, metrics};
use crate::exposition;
use ::page::{Answer, Page, Question, StatusCode, files, json, said, steps};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use webcache::proxy::Proxy;

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
        "/history.json" => steps(question, |step, since| locked(history).series(step, since)),
        "/status.json" => json(&proxy.report()),
        "/metrics" => exposition::answer(metrics::metrics(proxy.report())),
        _ => said(
            StatusCode::NOT_FOUND,
            "text/plain",
            "there are /, /history.json, /status.json and /metrics\n",
        ),
    }
}
