//! Routes from a file, for networks with fixed routes and for tests.

use crate::table::Route;
use serde::Deserialize;
use std::net::IpAddr;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its routes.
    #[serde(default)]
    pub route: Vec<Line>,
}

/// `[[route]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The router.
    pub to: IpAddr,
    /// The next router on the way; without it, `to` is a neighbour.
    pub via: Option<IpAddr>,
    /// Number of hops.
    pub hops: u32,
    /// The cost; the hops by default.
    pub metric: Option<f64>,
}

/// Parses a file's text. The error is the reason.
pub fn parse(text: &str) -> Result<Vec<Route>, String> {
    let file: File = toml::from_str(text).map_err(|why| why.message().to_owned())?;
    let route = |line: Line| Route {
        to: line.to.into(),
        next_hop: line.via.filter(|via| *via != line.to),
        via: line.via,
        interface: 0,
        metric: line.metric.unwrap_or(f64::from(line.hops)),
        hops: Some(line.hops),
    };
    Ok(file.route.into_iter().map(route).collect())
}
