//! The operator's page of a node, and the web caches on it.

use crate::config::{Config, Mistake};
use crate::sockets;
use anyhow::Context;
use dashboard::node::Known;
use dashboard::node::page::serve;
use std::sync::Arc;
use std::time::Duration;

/// The time between two polls of the web caches.
const CACHES_EVERY: Duration = Duration::from_secs(2);

/// The page with its port open.
pub type Opened = dashboard::Page;

/// Opens the configured page.
pub fn open(config: &Config) -> Result<Option<Opened>, Mistake> {
    config.dashboard.as_ref().map(|it| it.open(&config.path, "[dashboard]")).transpose()
}

/// Serves the page in threads of its own until the process ends.
pub fn begin(page: Opened, known: &Arc<Known>) -> anyhow::Result<()> {
    tracing::info!("the dashboard is at http://{}/", page.address()?);
    serve(page, known.clone()).context("cannot start the thread that serves the dashboard")?;
    watch_caches(known.clone())
}

/// Polls the running web caches while the page has readers. It has its own thread, so that a slow cache does
/// not make the node look slow.
fn watch_caches(known: Arc<Known>) -> anyhow::Result<()> {
    let watch = move || {
        loop {
            if known.caches_are_wanted() {
                known.note_caches(sockets::cache_lines());
            }
            std::thread::sleep(CACHES_EVERY);
        }
    };
    std::thread::Builder::new()
        .name("caches".to_owned())
        .spawn(watch)
        .context("cannot start the thread that asks web caches")?;
    Ok(())
}
