//! The counters in the OpenMetrics form.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use webcache::proxy::Report;
use webcache::statistics::Answered;

#[derive(Debug)]
struct Told {
    requests: Answered,
    bytes: Answered,
    refused: Vec<(&'static str, u64)>,
    objects: u64,
    memory_bytes: u64,
    disk_bytes: u64,
    cut_off: u64,
    mended: u64,
}

impl Collector for Told {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let counter = ConstCounter::new(0_u64).metric_type();
        for (name, help, unit, answered) in [
            ("requests", "Requests of clients, by how they were answered", None, &self.requests),
            ("sent", "Octets of contents sent, by where they came from", Some(Unit::Bytes), &self.bytes),
        ] {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), counter)?;
            for (outcome, count) in [
                ("local", answered.local),
                ("ph-local", answered.ph_local),
                ("validated", answered.validated),
                ("stale", answered.stale),
                ("remote", answered.remote),
                ("miss", answered.miss),
                ("pass", answered.pass),
            ] {
                ConstCounter::new(count).encode(family.encode_family(&[("outcome", outcome)])?)?;
            }
        }
        let mut refused = encoder.encode_descriptor("refused", "Requests refused, by why", None, counter)?;
        for (why, count) in &self.refused {
            ConstCounter::new(*count).encode(refused.encode_family(&[("why", *why)])?)?;
        }
        for (name, help, count) in [
            ("cut_off", "Responses broken off because the rest could not be had", self.cut_off),
            ("mended", "Contents continued by range", self.mended),
        ] {
            ConstCounter::new(count).encode(encoder.encode_descriptor(name, help, None, counter)?)?;
        }
        let gauge = ConstGauge::new(0_u64).metric_type();
        for (name, help, unit, count) in [
            ("objects", "Responses kept", None, self.objects),
            ("memory", "Contents in memory", Some(Unit::Bytes), self.memory_bytes),
            ("disk", "Contents on disk", Some(Unit::Bytes), self.disk_bytes),
        ] {
            ConstGauge::new(count).encode(encoder.encode_descriptor(name, help, unit.as_ref(), gauge)?)?;
        }
        Ok(())
    }
}

/// All counters.
pub(super) fn metrics(report: &Report) -> String {
    let mut registry = Registry::with_prefix("overheard_cache");
    registry.register_collector(Box::new(Told {
        requests: report.counters.requests,
        bytes: report.counters.bytes,
        refused: report.counters.refused.iter().map(|(why, count)| (*why, *count)).collect(),
        objects: report.store.objects,
        memory_bytes: report.store.memory_bytes,
        disk_bytes: report.store.disk_bytes,
        cut_off: report.counters.cut_off,
        mended: report.counters.mended,
    }));
    let mut text = String::new();
    let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
    text
}
