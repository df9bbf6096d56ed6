//! What has been counted since the start, in the OpenMetrics form, for Prometheus.

use ::page::{Answer, StatusCode, said};
use prometheus_client::collector::Collector;
use prometheus_client::registry::Registry;

/// The form's media type.
const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// All that a collector tells, under names that begin with `prefix`.
pub fn text(prefix: &str, collector: impl Collector + 'static) -> String {
    let mut registry = Registry::with_prefix(prefix);
    registry.register_collector(Box::new(collector));
    let mut text = String::new();
    // a String takes whatever is written
    let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
    text
}

/// An answer with such a text.
pub fn answer(text: String) -> Answer {
    said(StatusCode::OK, MEDIA_TYPE, text)
}
