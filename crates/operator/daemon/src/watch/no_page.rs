//! A build without the operator's page: a configuration with one was refused.

use crate::config::{Config, Mistake};
use dashboard::node::Known;
use std::sync::Arc;

/// No page exists.
#[derive(Debug)]
pub enum Opened {}

pub fn open(_: &Config) -> Result<Option<Opened>, Mistake> {
    Ok(None)
}

pub fn begin(page: Opened, _: &Arc<Known>) -> anyhow::Result<()> {
    match page {}
}
