//! What the thread that polls a node knows, for its readers.

use crate::node::history::{History, Series};
use crate::node::report::{Report, Silent};
use ::page::ring::Step;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    pub fn series(&self, step: Step, since_seconds: f64) -> Series {
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

    /// The reports of the web caches, which are polled from now on.
    #[must_use]
    pub fn caches(&self) -> Vec<String> {
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
