//! Polls the node once a second for the page, `overheard top`, the log's messages on silent peers and
//! troubles, and the service manager, which restarts a node without answers.

#[cfg_attr(not(feature = "dashboard"), path = "watch/no_page.rs")]
mod page;

use crate::config::{Config, Mistake};
use crate::reload::Called;
use crate::service;
use crate::silence::{SILENT_AFTER, Silences};
use crate::trouble::Troubles;
use anyhow::Context;
use dashboard::node::air_time::AirTime;
use dashboard::node::{About, History, Known, Report};
use io::Control;
use node::Status;
use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Length of a step, and timeout of an answer.
const STEP: Duration = Duration::from_secs(1);

/// State opened before the node runs.
pub struct Watch {
    known: Arc<Known>,
    page: Option<page::Opened>,
    wait: Option<Wait>,
}

/// The wait for the first session.
struct Wait {
    until: Instant,
    within: Duration,
    failure: Arc<OnceLock<String>>,
}

impl Watch {
    /// Opens the configured page. Without a session `within` that time, the node ends.
    pub fn open(config: &Config, within: Option<Duration>) -> Result<Self, Mistake> {
        let known = Known::new(History::new(AirTime::at(config.radio_bits_per_second as f64)));
        let page = page::open(config)?;
        let wait =
            within.map(|within| Wait { until: Instant::now() + within, within, failure: Arc::default() });
        Ok(Watch { known, page, wait })
    }

    /// The node's state.
    pub fn known(&self) -> Arc<Known> {
        self.known.clone()
    }

    /// The reason of a wait without a session, as soon as there is one.
    pub fn failure(&self) -> Arc<OnceLock<String>> {
        self.wait.as_ref().map(|wait| wait.failure.clone()).unwrap_or_default()
    }

    /// Watches in a thread of its own until the process ends. It gets the called peers now, and after each
    /// change.
    pub fn begin(
        self,
        about: About,
        control: Control,
        (called, changes): (Called, Receiver<Called>),
    ) -> anyhow::Result<()> {
        let Watch { known, page, mut wait } = self;
        let source_port = about.listen.parse::<SocketAddr>().context("the node has no address")?.port();
        // A short wait leaves half of its time for a probe.
        let silent_after = wait.as_ref().map_or(SILENT_AFTER, |wait| wait.within / 2);
        let mut silences = Silences::new(called, source_port, silent_after);
        if let Some(page) = page {
            page::begin(page, &known)?;
        }
        let mut troubles = Troubles::default();
        let watch = move || {
            let began = Instant::now();
            let mut next = began;
            loop {
                if let Ok(snapshot) = control.status(STEP) {
                    let now = began.elapsed();
                    changes.try_iter().for_each(|called| silences.call(called));
                    let silences_told = silences.step(now, &snapshot.node.peers);
                    let told = [silences_told, troubles.step(now, &snapshot)].concat();
                    told.iter().for_each(|told| tracing::warn!("{told}"));
                    let silent = silences.all(now);
                    if wait.as_ref().is_some_and(|wait| wait.succeeds(&snapshot.node)) {
                        wait = None;
                    }
                    known.note(Report { about: about.clone(), snapshot, split: None, silent });
                    service::is_alive();
                }
                // Also where the node itself does not answer.
                if wait.as_ref().is_some_and(|wait| wait.fails(&silences, &control)) {
                    wait = None;
                }
                // Missed polls (as during sleep) are not repeated: two close polls would turn a burst into a
                // rate.
                let now = Instant::now();
                next = if next + STEP > now { next + STEP } else { now + STEP };
                std::thread::sleep(next - now);
            }
        };
        std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(watch)
            .context("cannot start the thread that watches the node")?;
        Ok(())
    }
}

impl Wait {
    /// Whether it ends now, by a session.
    fn succeeds(&self, node: &Status) -> bool {
        let is_up = node.peers.iter().any(|peer| peer.session_age_seconds.is_some() && peer.reachable);
        if is_up {
            service::is_ready();
        }
        is_up
    }

    /// Whether it ends now, by a stop of the node.
    fn fails(&self, silences: &Silences, control: &Control) -> bool {
        if Instant::now() < self.until {
            return false;
        }
        let reasons = silences.unanswered();
        let reasons = if reasons.is_empty() { "no peer began one".to_owned() } else { reasons.join("; ") };
        let _ = self.failure.set(format!("no session after {} s: {reasons}", self.within.as_secs()));
        control.stop();
        true
    }
}
