//! Counts since the start in the OpenMetrics format, for Prometheus.

use ::page::{Answer, StatusCode, said};
use prometheus_client::collector::Collector;
use prometheus_client::registry::Registry;

/// The format's media type.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of a collector, with names that begin with `prefix`.
pub fn text(prefix: &str, collector: impl Collector + 'static) -> String {
    let mut registry = Registry::with_prefix(prefix);
    registry.register_collector(Box::new(collector));
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
    text
}

/// An answer with this text.
pub fn answer(text: String) -> Answer {
    said(StatusCode::OK, MEDIA_TYPE, text)
}
