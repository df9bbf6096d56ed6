//! Real captures: the traffic to their clients, through an access point to as many stations.

use std::collections::HashMap;
use std::path::Path;

use air::{Bitrate, LossConfig};
use anyhow::{Context as _, Result};
use capture::{Batch, CaptureReader, Dissector, Source, Toward};

use super::air_time::Clock;
use super::overhearing::{Radio, bit_errors};
use super::run::Run;
use super::scheme::Scheme;
use super::tally::Tally;
use crate::estimate::Estimate;
use crate::figure::{Figure, Results};
use crate::parallel;
use crate::row::{Driver, Row};
use crate::trace::TracePacket;

/// The captures.
pub const FIGURE: Figure = Figure {
    id: "captures",
    title: "Real captures",
    x: "capture",
    remark: "What goes to the clients of a capture over HTTP, and all that goes to them, to a station each at 54 Mbit/s \
             that overhears 90% of full packets or none at all, with receipts. Saved is payload, net of shims; what is \
             saved only with overhearing is saved across stations. Air time is by 802.11g. Left out where the \
             evaluation data is not there.",
    needs: |_| Vec::new(),
    rows,
};

/// Those with redundancy across clients, within clients, and next to none.
const CAPTURES: [&str; 3] = ["iot-dlink-1round-A", "nasa-replay", "mixed-http-low"];
const HTTP: u16 = 80;
/// The most stations of a gateway; traffic to further clients is left out.
const MOST_STATIONS: usize = 64;
const OVERHEARD: f64 = 0.9;
const SLOT_BITS: u8 = 17;

/// What packets are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// To clients, over HTTP.
    Http,
    /// To clients.
    All,
    /// Whichever way they went.
    BothWays,
}

impl Taken {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::All => "everything",
            Self::BothWays => "both ways",
        }
    }
}

/// What series are called.
pub const SAVED_HTTP: &str = "saved, HTTP: overhearing 90%";
/// See [`SAVED_HTTP`].
pub const AIR_TIME_ALL: &str = "air time, everything: overhearing 90%";

/// The selected part of a capture, and the number of stations.
///
/// # Errors
///
/// When it cannot be read.
pub fn packets(path: &Path, taken: Taken) -> Result<(Vec<TracePacket>, usize)> {
    let reading = || format!("read {}", path.display());
    let mut reader = CaptureReader::new(Source::open(path).with_context(reading)?).with_context(reading)?;
    let (mut dissector, mut batch) = (Dissector::default(), Batch::default());
    let (mut packets, mut stations) = (Vec::new(), HashMap::new());
    while let Some(frame) = reader.next_frame() {
        dissector.dissect(&frame, &mut batch);
        for packet in batch.packets() {
            let is_http = packet.inner.flow.source_port == HTTP;
            let is_taken = match taken {
                Taken::Http => packet.toward == Toward::Client && is_http,
                Taken::All => packet.toward == Toward::Client,
                Taken::BothWays => true,
            };
            if packet.retransmitted || !is_taken {
                continue;
            }
            let next = stations.len();
            let client = *stations.entry(packet.client).or_insert(next);
            if client < MOST_STATIONS {
                let (bytes, payload_offset) = (packet.bytes.to_vec(), packet.inner.payload_offset);
                packets.push(TracePacket { client, bytes, payload_offset });
            }
        }
        batch.clear();
    }
    Ok((packets, stations.len().min(MOST_STATIONS)))
}

fn radios(count: usize, overheard: f64) -> Vec<Radio> {
    let radio = Radio {
        rate: Bitrate::from_megabits_per_second(54),
        aggregated_packets: 1,
        loss: LossConfig::None,
        overhearing_loss: Some(bit_errors(1.0 - overheard)),
    };
    vec![radio; count]
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let seeds = results.setting.plan.seeds(5, 1, 1);
    let mut rows = Vec::new();
    for name in CAPTURES {
        let Some(path) = results.setting.contents.capture(name) else { continue };
        for taken in [Taken::Http, Taken::All] {
            let (packets, count) = packets(&path, taken)?;
            let run = |scheme: Scheme, overheard: f64| -> Result<Vec<Tally>> {
                let radios = radios(count, overheard);
                parallel::map(1..=u64::from(seeds), &indicatif::ProgressBar::hidden(), |seed| {
                    let run =
                        Run { radios: &radios, scheme, clock: Clock::Standard, slot_bits: SLOT_BITS, seed };
                    run.of(packets.iter().cloned())
                })
            };
            let nothing = run(Scheme::Nothing, OVERHEARD)?;
            for (scheme, overheard) in
                [(Scheme::PAPER, OVERHEARD), (Scheme::Receipts, OVERHEARD), (Scheme::Receipts, 0.0)]
            {
                let tallies = run(scheme, overheard)?;
                let saved: Vec<f64> = tallies.iter().map(Tally::saved_share).collect();
                let pairs: Vec<(f64, f64)> = tallies
                    .iter()
                    .zip(&nothing)
                    .map(|(ours, theirs)| (ours.air_seconds(), theirs.air_seconds()))
                    .collect();
                let overhearing = format!("overhearing {}%", 100.0 * overheard);
                let curve = match scheme {
                    Scheme::PAPER => format!("{}: as printed, {overhearing}", taken.name()),
                    _ => format!("{}: {overhearing}", taken.name()),
                };
                let row = |what: &str, unit: &str, estimate: Option<Estimate>| {
                    Row::new(FIGURE.id, format!("{what}, {curve}"), name, unit)
                        .measured(estimate, Driver::Sim, seeds)
                        .note(format!("{count} stations"))
                };
                rows.push(row("saved", "share", Estimate::mean(&saved)));
                rows.push(row("air time", "ratio", Estimate::paired_ratio(&pairs)));
            }
        }
    }
    Ok(rows)
}
