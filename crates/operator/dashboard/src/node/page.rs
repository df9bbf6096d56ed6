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
use crate::node::history::History;
use crate::node::metrics;
use crate::node::report::{Report, Silent};
use ::page::ring::{self, Step};
use page::files::{self, File};
use page::{Answer, Page, Question, StatusCode, json, said};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The page's own files beside the shared ones.
const FILES: [File; 2] = [
    ("/", "text/html; charset=utf-8", include_str!("../../assets/node/page.html")),
    ("/page.js", "text/javascript; charset=utf-8", include_str!("../../assets/node/page.js")),
];

/// State of a node, written by the thread that polls it and read by others.
#[derive(Debug)]
pub struct Known {
    history: Mutex<History>,
    latest: Mutex<Option<Report>>,
    caches: Mutex<Vec<String>>,
    caches_are_wanted: AtomicBool,
}

impl Known {
    /// A state with only this history.
    #[must_use]
    pub fn new(history: History) -> Arc<Self> {
        Arc::new(Known {
            history: Mutex::new(history),
            latest: Mutex::new(None),
            caches: Mutex::default(),
            caches_are_wanted: AtomicBool::default(),
        })
    }

    /// Notes a report of the node.
    pub fn note(&self, report: Report) {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).note(&report.snapshot.node);
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    /// The steps of one length after a second of the node's uptime.
    #[must_use]
    pub fn series(&self, step: Step, since_seconds: f64) -> crate::node::Series {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).series(step, since_seconds)
    }

    /// Whether a reader requested web caches since the last call. Otherwise they are not polled.
    pub fn caches_are_wanted(&self) -> bool {
        self.caches_are_wanted.swap(false, Ordering::Relaxed)
    }

    /// Notes the reports of the web caches on the node's machine, one line each.
    pub fn note_caches(&self, lines: Vec<String>) {
        *self.caches.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }

    fn caches(&self) -> Vec<String> {
        self.caches_are_wanted.store(true, Ordering::Relaxed);
        self.caches.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The silent peers of the latest report.
    #[must_use]
    pub fn silent(&self) -> Vec<Silent> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.as_ref().map(|report| report.silent.clone()).unwrap_or_default()
    }

    /// The node's latest report.
    #[must_use]
    pub fn latest(&self) -> Option<Report> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

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
        "/history.json" => ring::answer(question, |step, since| known.series(step, since)),
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
