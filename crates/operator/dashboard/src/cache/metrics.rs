//! The counters in the OpenMetrics format.

use crate::exposition;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use webcache::proxy::Report;

#[derive(Debug)]
struct Told(Report);

impl Collector for Told {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Told(Report { counters, store, .. }) = self;
        let counter = ConstCounter::new(0_u64).metric_type();
        for (name, help, unit, answered) in [
            ("requests", "Requests of clients, by the kind of answer", None, &counters.requests),
            ("sent", "Bytes of content sent, by their source", Some(Unit::Bytes), &counters.bytes),
        ] {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), counter)?;
            for (outcome, count) in answered.by_outcome() {
                ConstCounter::new(count).encode(family.encode_family(&[("outcome", outcome)])?)?;
            }
        }
        let mut refused =
            encoder.encode_descriptor("refused", "Refused requests, by reason", None, counter)?;
        for (why, count) in &counters.refused {
            ConstCounter::new(*count).encode(refused.encode_family(&[("why", *why)])?)?;
        }
        for (name, help, count) in [
            ("cut_off", "Responses that ended early, because the rest was not available", counters.cut_off),
            ("mended", "Contents that a range request completed", counters.mended),
        ] {
            ConstCounter::new(count).encode(encoder.encode_descriptor(name, help, None, counter)?)?;
        }
        let gauge = ConstGauge::new(0_u64).metric_type();
        for (name, help, unit, count) in [
            ("objects", "Stored responses", None, store.objects),
            ("memory", "Bytes of content in memory", Some(Unit::Bytes), store.memory_bytes),
            ("disk", "Bytes of content on disk", Some(Unit::Bytes), store.disk_bytes),
        ] {
            ConstGauge::new(count).encode(encoder.encode_descriptor(name, help, unit.as_ref(), gauge)?)?;
        }
        Ok(())
    }
}

/// All counters.
pub(super) fn metrics(report: Report) -> String {
    exposition::text("overheard_cache", Told(report))
}
