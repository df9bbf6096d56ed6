//! Polls the node once a second for the page, `overheard top`, and the service manager, which restarts a node
//! without answers.

use crate::config::{Config, Mistake};
use crate::{service, sockets};
use anyhow::Context;
use dashboard::Page;
use dashboard::node::air_time::AirTime;
use dashboard::node::page::{Known, serve};
use dashboard::node::{About, History, Report};
use io::Control;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Length of a step, and timeout of an answer.
const STEP: Duration = Duration::from_secs(1);

/// State opened before the node runs.
pub struct Watch {
    known: Arc<Known>,
    page: Option<Page>,
}

impl Watch {
    /// Opens the configured page.
    pub fn open(config: &Config) -> Result<Self, Mistake> {
        let known = Known::new(History::new(AirTime::at(config.radio_bits_per_second as f64)));
        let page = config.dashboard.as_ref().map(|it| it.open(&config.path, "[dashboard]")).transpose()?;
        Ok(Watch { known, page })
    }

    /// The node's state.
    pub fn known(&self) -> Arc<Known> {
        self.known.clone()
    }

    /// Watches in a thread of its own until the process ends.
    pub fn begin(self, about: About, control: Control) -> anyhow::Result<()> {
        let Watch { known, page } = self;
        if let Some(page) = page {
            tracing::info!("the dashboard is at http://{}/", page.address()?);
            serve(page, known.clone()).context("cannot start the thread that serves the dashboard")?;
            watch_caches(known.clone())?;
        }
        let watch = move || {
            let mut next = Instant::now();
            loop {
                if let Ok(snapshot) = control.status(STEP) {
                    known.note(Report { about: about.clone(), snapshot, split: None });
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
