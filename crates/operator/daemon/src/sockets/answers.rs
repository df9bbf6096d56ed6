//! A web cache's report in short.

use dashboard::figures::share;
use serde::Deserialize;
use serde_json::Value;
use webcache::statistics::Answered;

/// Requests, and the share of them that did not reach the gateway.
#[must_use]
pub fn line(report: &Value) -> String {
    let requests = answered(&report["counters"]["requests"]);
    let (kept_off, all) = (requests.kept_off(), requests.all());
    let name = report["name"].as_str().unwrap_or("?");
    format!(
        "web cache {name}: {all} requests, {} of them off the gateway",
        share(kept_off as f64, all as f64)
    )
}

/// The counts of answers in one place of a web cache's report; zero if absent.
#[must_use]
pub fn answered(counts: &Value) -> Answered {
    Answered::deserialize(counts).unwrap_or_default()
}
