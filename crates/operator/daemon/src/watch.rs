//! Asks the node once a second how it is, for whoever looks at what has happened: the page, `overheard top`,
//! and the service manager, which hears nothing more of a node that does not answer and starts it anew.

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

/// How long a step is, and how long an answer may take.
const STEP: Duration = Duration::from_secs(1);

/// What is opened before the node runs.
pub struct Watch {
    known: Arc<Known>,
    page: Option<Page>,
}

impl Watch {
    /// Opens the page that the configuration asks for.
    pub fn open(config: &Config) -> Result<Self, Mistake> {
        let known = Known::new(History::new(AirTime::at(config.radio_bits_per_second as f64)));
        let page = config.dashboard.as_ref().map(|it| it.open(&config.path, "[dashboard]")).transpose()?;
        Ok(Watch { known, page })
    }

    /// What is known of the node.
    pub fn known(&self) -> Arc<Known> {
        self.known.clone()
    }

    /// Watches, on a thread of its own until the process ends.
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
                // what was missed, as while the machine slept, is not made up for: two questions close to
                // each other would make a rate of what came in a burst
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

/// Asks the web caches that run here how they are, while somebody looks at the page. On a thread of its own:
/// one that answers late must not make it look as if the node did.
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
