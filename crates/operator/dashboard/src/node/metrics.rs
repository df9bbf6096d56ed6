//! Counts since the start in the OpenMetrics format, for Prometheus.
//!
//! Names contain their units: `overheard_offered_bytes_total`, `overheard_rtt_seconds`. Metrics of a peer
//! have the label `peer`.

use crate::exposition;
use crate::node::report::Report;
use node::{PeerCounters, PeerStatus, StoresStatus};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use serde::Serialize;
use std::fmt::Error;

/// A counter of a peer: name, help, and value.
type Counted = (&'static str, &'static str, fn(&PeerCounters) -> u64);

const PACKETS: [Counted; 18] = [
    ("offered_packets", "Packets sent to the peer through the tunnel", |it| it.inner_sent_packets),
    ("delivered_packets", "Packets delivered from the peer", |it| it.inner_received_packets),
    ("sent_datagrams", "Datagrams sent to the peer", |it| it.outer_sent_datagrams),
    ("received_datagrams", "Authenticated datagrams from the peer", |it| it.outer_received_datagrams),
    ("reduced_packets", "Packets sent without their repeated bytes", |it| it.reduced_packets),
    ("unstored_packets", "Packets sent past redundancy elimination", |it| it.unstored_packets),
    ("packed_packets", "Packets that shared a datagram with an earlier packet", |it| it.packed_packets),
    ("coded_packets", "Packets sent in coded frames with packets for other peers", |it| it.natives_sent),
    ("coded_frames", "Coded frames of several packets", |it| it.natives_datagrams),
    ("decoded_packets", "Packets decoded from coded frames", |it| it.natives_decoded),
    ("undecodable_packets", "Packets in coded frames that could not be decoded", |it| it.natives_undecodable),
    ("missed_packets", "Packets that could not be restored at once", |it| it.missed),
    ("repaired_packets", "Missed packets that were repaired and delivered", |it| it.repaired),
    ("queue_marked_packets", "Packets with a congestion mark from the queue", |it| it.queue_marked),
    ("too_large_packets", "Packets larger than the path carries", |it| it.too_large),
    ("unreachable_packets", "Packets refused because the peer was not reachable", |it| it.unreachable),
    ("chunk_requests", "Requests for missing chunks", |it| it.chunk_requests),
    ("sessions", "Sessions since the start", |it| it.sessions),
];

const BYTES: [Counted; 4] = [
    ("offered", "Bytes of packets and streams sent to the peer", PeerCounters::offered_bytes),
    ("delivered", "Bytes of packets and streams delivered from the peer", PeerCounters::delivered_bytes),
    ("sent", "Bytes of datagrams to the peer, with IP and UDP headers", |it| it.outer_sent_bytes),
    ("received", "Bytes of datagrams from the peer, with IP and UDP headers", |it| it.outer_received_bytes),
];

/// Counters that one more label distinguishes.
type Split = (
    &'static str,
    &'static str,
    Option<Unit>,
    &'static str,
    &'static [(&'static str, fn(&PeerCounters) -> u64)],
);

const SPLIT: [Split; 7] = [
    (
        "saved",
        "Bytes not sent, by the mechanism that removed them",
        Some(Unit::Bytes),
        "mechanism",
        &[
            ("reduce", |it| it.removed_bytes),
            ("shorten", |it| it.shortened_bytes),
            ("overhear", |it| it.overheard_removed_bytes),
            ("code", |it| it.natives_saved_bytes),
        ],
    ),
    (
        "lost_and_sent_again_packets",
        "Retransmissions of packets and TCP segments that the air lost, by the mechanism of repair",
        None,
        "mechanism",
        &[
            ("hop", |it| it.recovered),
            ("segment", |it| it.segments_repaired),
            ("coded", |it| it.segments_repaired_coded),
        ],
    ),
    (
        "correction_datagrams",
        "Repairs of forward error correction, and lost datagrams that they restored",
        None,
        "what",
        &[
            ("sent", |it| it.repairs_sent),
            ("received", |it| it.repairs_received),
            ("restored", |it| it.restored),
        ],
    ),
    (
        "queue_dropped_packets",
        "Packets dropped from the queue, by reason",
        None,
        "why",
        &[
            ("full", |it| it.queue_dropped),
            ("codel", |it| it.queue_dropped_by_codel),
            ("path", |it| it.queue_dropped_for_path),
        ],
    ),
    (
        "acknowledgments_packets",
        "TCP acknowledgments that the node dropped or changed during the repair of a segment",
        None,
        "how",
        &[("suppressed", |it| it.acks_suppressed), ("stripped", |it| it.acks_stripped)],
    ),
    (
        "streams",
        "TCP connections: streams that this node opened, and that the peer opened; connections that their \
         destination refused; streams that a reset ended; connections that went in packets for want of a stream, \
         and for want of a way back through the peer",
        None,
        "what",
        &[
            ("opened", |it| it.streams.opened),
            ("accepted", |it| it.streams.accepted),
            ("refused", |it| it.streams.refused),
            ("aborted", |it| it.streams.aborted),
            ("passed", |it| it.streams.passed),
            ("no_way_back", |it| it.streams.no_way_back),
        ],
    ),
    (
        "stream",
        "Bytes of streams: taken from hosts, sent for the first time, sent again, and received",
        Some(Unit::Bytes),
        "what",
        &[
            ("taken", |it| it.streams.taken_bytes),
            ("sent", |it| it.streams.sent_bytes),
            ("resent", |it| it.streams.resent_bytes),
            ("received", |it| it.streams.received_bytes),
        ],
    ),
];

/// What the stores of a peer keep.
const STORES: [&str; 4] = ["sent", "received", "sent_streams", "received_streams"];

/// A gauge of a peer, if known.
type Measured = (&'static str, &'static str, Option<Unit>, fn(&PeerStatus) -> Option<f64>);

fn measured() -> [Measured; 12] {
    [
        ("rtt", "Smoothed round-trip time of the hop", Some(Unit::Seconds), |peer| peer.srtt_seconds),
        ("loss", "Share of recently sent packets that the air lost", Some(Unit::Ratios), |peer| peer.loss),
        ("queueing", "Length of the path's queue in time", Some(Unit::Seconds), |peer| peer.queueing_seconds),
        ("queue", "Bytes in the queue to the peer", Some(Unit::Bytes), |peer| Some(peer.queue_bytes as f64)),
        ("path_mtu", "Size of the largest outer packet to the peer", Some(Unit::Bytes), |peer| {
            peer.path_mtu_bytes.map(|bytes| bytes as f64)
        }),
        (
            "overheard",
            "Share of recent packets for others that the peer overheard",
            Some(Unit::Ratios),
            |peer| peer.overheard_share,
        ),
        (
            "air_time_saved",
            "Air time saved by chunks that the peer had, less the air time of chunks that it lacked",
            Some(Unit::Seconds),
            |peer| peer.overheard_share.and(Some(peer.counters.air_saved_seconds())),
        ),
        ("session_age", "Time since the handshake of the session", Some(Unit::Seconds), |peer| {
            peer.session_age_seconds
        }),
        (
            "takes_streams",
            "1 if TCP connections cross the hop as streams, otherwise 0; absent where this node has streams off",
            None,
            |peer| peer.streams.as_ref().map(|it| f64::from(u8::from(it.off.is_none()))),
        ),
        ("open_streams", "Open streams", None, |peer| Some(peer.streams.as_ref()?.open as f64)),
        (
            "stream_memory",
            "Bytes of streams that the node keeps for the peer, and the room that it promised to the peer",
            Some(Unit::Bytes),
            |peer| Some(peer.streams.as_ref()?.memory_bytes as f64),
        ),
        (
            "most_stream_memory",
            "The most bytes of streams that the node keeps, with the room that it promises",
            Some(Unit::Bytes),
            |peer| Some(peer.streams.as_ref()?.most_memory_bytes as f64),
        ),
    ]
}

#[derive(Debug)]
struct Told {
    report: Report,
    /// The peers' names, escaped.
    names: Vec<String>,
}

/// Escapes a label, because the library writes labels unchanged (OpenMetrics, ABNF of `escaped-string`).
fn escaped(name: &str) -> String {
    name.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n")
}

impl Told {
    fn peers(&self) -> impl Iterator<Item = (&str, &PeerStatus)> {
        self.names.iter().map(String::as_str).zip(&self.report.snapshot.node.peers)
    }

    fn counters(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let kind = ConstCounter::new(0_u64).metric_type();
        let units = PACKETS.iter().map(|it| (it, None)).chain(BYTES.iter().map(|it| (it, Some(Unit::Bytes))));
        for ((name, help, count), unit) in units {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
            for (name, peer) in self.peers() {
                let labels = [("peer", name)];
                ConstCounter::new(count(&peer.counters)).encode(family.encode_family(&labels)?)?;
            }
        }
        for (name, help, unit, label, parts) in &SPLIT {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
            for (name, peer) in self.peers() {
                for (part, count) in *parts {
                    let labels = [("peer", name), (*label, *part)];
                    ConstCounter::new(count(&peer.counters)).encode(family.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }

    fn gauges(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let kind = ConstGauge::new(0_f64).metric_type();
        for (name, help, unit, measure) in measured() {
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
            for (name, peer) in self.peers() {
                let labels = [("peer", name)];
                // An unknown value is omitted.
                if let Some(measure) = measure(peer) {
                    ConstGauge::new(measure).encode(family.encode_family(&labels)?)?;
                }
            }
        }
        let mut reachable = encoder.encode_descriptor(
            "reachable",
            "1 if the node accepts packets for the peer, otherwise 0",
            None,
            kind,
        )?;
        for (name, peer) in self.peers() {
            let labels = [("peer", name)];
            ConstGauge::new(i64::from(peer.reachable)).encode(reachable.encode_family(&labels)?)?;
        }
        self.memory(encoder)?;
        let uptime = ("uptime", "Time since the start of the node", self.report.snapshot.node.uptime_seconds);
        let encoded = encoder.encode_descriptor(uptime.0, uptime.1, Some(&Unit::Seconds), kind)?;
        ConstGauge::new(uptime.2).encode(encoded)
    }

    /// The budget of memory, and who has how much of it.
    fn memory(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let Some(memory) = self.report.snapshot.node.memory else { return Ok(()) };
        let kind = ConstGauge::new(0_f64).metric_type();
        let bytes = Some(&Unit::Bytes);
        for (name, help, value) in [
            ("memory_budget", "The budget of memory of the node", memory.budget_bytes),
            ("memory_held", "Memory that all stores may take by their bounds", memory.held_bytes),
            (
                "memory_beside_stores",
                "Memory of tables, queues and buffers beside stores",
                memory.other_bytes,
            ),
        ] {
            let encoded = encoder.encode_descriptor(name, help, bytes, kind)?;
            ConstGauge::new(value as f64).encode(encoded)?;
        }
        type Stored = fn(&StoresStatus) -> [usize; 4];
        let bounds: Stored = |it| {
            [
                it.sent_bound_bytes,
                it.received_bound_bytes,
                it.sent_records_bound_bytes,
                it.received_records_bound_bytes,
            ]
        };
        let memory: Stored = |it| {
            [
                it.sent_memory_bytes,
                it.received_memory_bytes,
                it.sent_records_memory_bytes,
                it.received_records_memory_bytes,
            ]
        };
        for (name, help, values) in [
            ("store_bound", "Bound of a store now, by what it keeps", bounds),
            ("store_memory", "Memory of a store now, by what it keeps", memory),
        ] {
            let mut family = encoder.encode_descriptor(name, help, bytes, kind)?;
            for (name, peer) in self.peers() {
                let Some(stores) = &peer.stores else { continue };
                for (what, value) in STORES.iter().zip(values(stores)) {
                    let labels = [("peer", name), ("what", *what)];
                    ConstGauge::new(value as f64).encode(family.encode_family(&labels)?)?;
                }
            }
        }
        let (name, help) = ("departed", "Bytes to a peer that repeated what had left the stores, estimated");
        let kind = ConstCounter::new(0_u64).metric_type();
        let mut family = encoder.encode_descriptor(name, help, bytes, kind)?;
        for (name, peer) in self.peers() {
            let Some(stores) = &peer.stores else { continue };
            ConstCounter::new(stores.departed_bytes).encode(family.encode_family(&[("peer", name)])?)?;
        }
        Ok(())
    }

    /// Counters of the node itself, under the status's names.
    fn refusals(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let kind = ConstCounter::new(0_u64).metric_type();
        let (node, io) = (&self.report.snapshot.node, &self.report.snapshot.io);
        for (name, help, counters) in [
            (
                "refused",
                "Datagrams and packets refused before they changed anything, by reason",
                named(&node.refused),
            ),
            ("system", "Packets that the system refused or the node changed at its edge, by kind", named(io)),
        ] {
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (what, count) in counters {
                ConstCounter::new(count).encode(family.encode_family(&[("why", what.as_str())])?)?;
            }
        }
        let Some(heard) = &self.report.snapshot.overheard else { return Ok(()) };
        let help = "Frames that the sniffer received, by their result";
        let mut family = encoder.encode_descriptor("ear", help, None, kind)?;
        for (what, count) in named(&heard.counters) {
            ConstCounter::new(count).encode(family.encode_family(&[("what", what.as_str())])?)?;
        }
        Ok(())
    }
}

impl Collector for Told {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        self.counters(&mut encoder)?;
        self.gauges(&mut encoder)?;
        self.refusals(&mut encoder)
    }
}

/// The fields of a structure of counters.
fn named(counters: &impl Serialize) -> Vec<(String, u64)> {
    let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(counters) else { return Vec::new() };
    fields.into_iter().filter_map(|(name, count)| Some((name, count.as_u64()?))).collect()
}

/// The whole text.
#[must_use]
pub fn metrics(report: &Report) -> String {
    let names = report.snapshot.node.peers.iter().map(|peer| escaped(&peer.name)).collect();
    exposition::text("overheard", Told { report: report.clone(), names })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::report::tests::{peer, report};

    fn told() -> String {
        let mut roof = peer("roof \"1\"");
        roof.counters.inner_sent_bytes = 1_000;
        roof.counters.outer_sent_bytes = 400;
        roof.counters.removed_bytes = 500;
        roof.counters.recovered = 3;
        let mut yard = peer("yard");
        (yard.srtt_seconds, yard.loss, yard.reachable) = (None, None, false);
        roof.streams = Some(node::StreamsStatus {
            off: None,
            open: 3,
            most: 1024,
            memory_bytes: 2_000,
            most_memory_bytes: 64 << 20,
        });
        roof.counters.streams = node::StreamCounters {
            opened: 5,
            taken_bytes: 700,
            sent_bytes: 600,
            resent_bytes: 70,
            received_bytes: 9,
            ..Default::default()
        };
        metrics(&report(12.5, vec![roof, yard]))
    }

    #[test]
    fn names_carry_units_and_labels_the_peer() {
        let told = told();
        for line in [
            r#"overheard_offered_bytes_total{peer="roof \"1\""} 1700"#,
            r#"overheard_streams_total{peer="roof \"1\"",what="opened"} 5"#,
            r#"overheard_stream_bytes_total{peer="roof \"1\"",what="resent"} 70"#,
            r#"overheard_takes_streams{peer="roof \"1\""} 1.0"#,
            r#"overheard_open_streams{peer="roof \"1\""} 3.0"#,
            r#"overheard_stream_memory_bytes{peer="roof \"1\""} 2000.0"#,
            r#"overheard_sent_bytes_total{peer="roof \"1\""} 400"#,
            r#"overheard_saved_bytes_total{peer="roof \"1\"",mechanism="reduce"} 500"#,
            r#"overheard_lost_and_sent_again_packets_total{peer="roof \"1\"",mechanism="hop"} 3"#,
            r#"overheard_rtt_seconds{peer="roof \"1\""} 0.04"#,
            r#"overheard_reachable{peer="yard"} 0"#,
            r#"overheard_refused_total{why="replay"} 0"#,
            "overheard_uptime_seconds 12.5",
        ] {
            assert!(told.lines().any(|told| told == line), "{line}:\n{told}");
        }
        assert!(!told.contains(r#"overheard_rtt_seconds{peer="yard"}"#), "what is not known is not told");
        assert!(!told.contains(r#"overheard_open_streams{peer="yard"}"#), "its streams are off here");
        assert!(told.ends_with("# EOF\n"));
    }

    #[test]
    fn every_series_has_a_type_and_one_help() {
        let told = told();
        for line in told.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            let family = name.strip_suffix("_total").unwrap_or(name);
            let helps = told.lines().filter(|line| line.starts_with(&format!("# HELP {family} "))).count();
            assert_eq!(helps, 1, "{name}");
        }
    }
}
