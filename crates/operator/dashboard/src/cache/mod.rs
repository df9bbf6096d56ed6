//! The history of a web cache as a page, as JSON and as metrics.
//!
//! | path | |
//! |---|---|
//! | `/` | the page |
//! | `/history.json?step=10&since=12.5` | steps of 1 or 10 seconds that ended later than this second of uptime |
//! | `/status.json` | the cache's [`Report`](webcache::proxy::Report), as `overheard status --json` prints it |
//! | `/metrics` | counters for Prometheus |

#[cfg(feature = "views")]
mod history;
#[cfg(feature = "views")]
mod html;
#[cfg(feature = "views")]
mod metrics;
#[cfg(feature = "views")]
mod server;

#[cfg(feature = "views")]
pub use server::serve;

/// Column names of the outcomes, in the order of
/// [`Answered::by_outcome`](webcache::statistics::Answered::by_outcome).
pub const OUTCOMES: [&str; 7] = ["local", "ph-local", "validated", "stale", "remote", "miss", "not kept"];
