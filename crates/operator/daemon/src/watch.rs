//! Polls the node once a second for the page, `overheard top`, the log's messages on silent peers and
//! troubles, and the service manager, which restarts a node without answers.

use crate::config::{Config, Mistake};
use crate::reload::Called;
use crate::silence::{SILENT_AFTER, Silences};
use crate::trouble::Troubles;
use crate::{service, sockets};
use anyhow::Context;
use dashboard::Page;
use dashboard::node::air_time::AirTime;
use dashboard::node::page::{Known, serve};
use dashboard::node::{About, History, Report};
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
    page: Option<Page>,
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
        let page = config.dashboard.as_ref().map(|it| it.open(&config.path, "[dashboard]")).transpose()?;
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
            tracing::info!("the dashboard is at http://{}/", page.address()?);
            serve(page, known.clone()).context("cannot start the thread that serves the dashboard")?;
            watch_caches(known.clone())?;
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
                    if wait.as_ref().is_some_and(|wait| wait.ends(&snapshot.node, &silences, &control)) {
                        wait = None;
                    }
                    known.note(Report { about: about.clone(), snapshot, split: None, silent });
                    service::is_alive();
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
    /// Whether it ends now: by a session, or by a stop of the node.
    fn ends(&self, node: &Status, silences: &Silences, control: &Control) -> bool {
        if node.peers.iter().any(|peer| peer.session_age_seconds.is_some() && peer.reachable) {
            service::is_ready();
            return true;
        }
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

/// Polls the running web caches while the page has readers. It has its own thread, so that a slow cache does
/// not make the node look slow.
fn watch_caches(known: Arc<Known>) -> anyhow::Result<()> {
    let watch = move || {
        loop {
            if known.caches_are_wanted() {
                known.note_caches(sockets::cache_lines());
            }
            std::thread::sleep(2 * STEP);
        }
    };
    std::thread::Builder::new()
        .name("caches".to_owned())
        .spawn(watch)
        .context("cannot start the thread that asks web caches")?;
    Ok(())
}
