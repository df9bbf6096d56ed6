//! The node's web page, its series and reports as JSON, and its metrics.
//!
//! | path | |
//! |---|---|
//! | `/` | the page |
//! | `/history.json?step=10&since=12.5` | [`Series`](crate::node::Series): steps of 1 or 10 seconds that ended later than this second of uptime |
//! | `/status.json` | [`Report`], as `overheard status --json` prints it |
//! | `/caches.json` | a line for each web cache on the node's machine |
//! | `/metrics` | [`metrics`] for Prometheus |
//!
//! The crate [`page`] checks requests.

use crate::exposition;
use crate::node::report::Report;
use crate::node::{Known, metrics};
use page::files::{self, File};
use page::{Answer, Page, Question, StatusCode, json, said, steps};
use std::io;
use std::sync::Arc;

/// The page's own files beside the shared ones.
const FILES: [File; 2] = [
    ("/", "text/html; charset=utf-8", include_str!("../../assets/node/page.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../../assets/node/page.js")),
];

/// Answers on the page's port without end, in a thread of its own.
///
/// # Errors
///
/// The system's error at the start of the thread.
pub fn serve(page: Page, known: Arc<Known>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answers = move || runtime.block_on(page.serve(move |question| answer(question, &known)));
    std::thread::Builder::new().name("dashboard".to_owned()).spawn(answers).map(|_| ())
}

fn answer(question: Question<'_>, known: &Known) -> Answer {
    if let Some(file) = files::asked_for(question, &FILES) {
        return file;
    }
    match question.path {
        "/history.json" => steps(question, |step, since| known.series(step, since)),
        "/status.json" => of_latest(known, json),
        "/caches.json" => json(&known.caches()),
        "/metrics" => of_latest(known, |it| exposition::answer(metrics::metrics(it))),
        _ => said(
            StatusCode::NOT_FOUND,
            "text/plain",
            "there are /, /history.json, /status.json, /caches.json and /metrics\n",
        ),
    }
}

fn of_latest(known: &Known, answer: impl FnOnce(&Report) -> Answer) -> Answer {
    match known.latest() {
        Some(report) => answer(&report),
        None => said(
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain",
            "nothing is known yet; ask again in a second\n",
        ),
    }
}

#[cfg(test)]
mod tests;
