//! Safety: no wrong bytes are delivered, for any contents of two stations' caches.

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;

use super::air_time::Clock;
use super::captures::{Taken, packets};
use super::overhearing::Overhearing;
use super::run::Run;
use super::scheme::Scheme;
use crate::figure::{Figure, Results};
use crate::parallel;
use crate::report::Claim;
use crate::row::{Row, of};
use crate::trace::CLIENTS;

/// Safety.
pub const FIGURE: Figure = Figure {
    id: "safety",
    title: "Packets that came out as they were, by capture",
    x: "capture",
    remark: "All packets of a capture, whichever way they went, one after the other and again from the beginning, to two \
             stations in turns: one loses and overhears everything else than the other (30% of full packets). Caches have \
             2^14 slots, so that chunks take each other's places all the time; chunks that stations lack are asked for. \
             A packet that comes out other than it was ends the run. Left out where the evaluation data is not there.",
    needs: |_| Vec::new(),
    rows,
};

/// Captures of every kind: plain and compressed pages, devices, files, calls, and encrypted traffic.
const CAPTURES: [&str; 19] = [
    "docs-gzip",
    "docs-plain",
    "http-repeat-1client",
    "iot-31devices-A",
    "iot-dlink-1round-A",
    "iot-dlink-4rounds-A",
    "mixed-http-low",
    "nasa-replay",
    "proto-coap_mqtt",
    "proto-dns-mixed",
    "proto-quic",
    "proto-sip-rtp-fax",
    "proto-skype",
    "proto-smb2-100-small-files",
    "proto-ssh-5clients",
    "tls-same-page-chrome",
    "tls-same-page-firefox",
    "webpages-gzip",
    "webpages-plain",
];
const PACKETS: usize = 100_000;
const SLOT_BITS: u8 = 14;
/// The one that overhears 30%.
const FARTHER: Overhearing = Overhearing::PAPER[3];
/// The paper's system without a MAC; ours, by receipts and by guesses.
const SCHEMES: [Scheme; 4] = [Scheme::PAPER, Scheme::GreedyAsPrinted, Scheme::Receipts, Scheme::Greedy];

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let captures = &CAPTURES[..results.setting.plan.choose(CAPTURES.len(), 3, 1)];
    let there = captures.iter().filter_map(|name| Some((*name, results.setting.contents.capture(name)?)));
    let runs = there.flat_map(|(name, path)| SCHEMES.map(|scheme| (name, path.clone(), scheme)));
    let runs: Vec<_> = runs.collect();
    parallel::map(&runs, &ProgressBar::hidden(), |(name, path, scheme)| {
        let (mut all, _) = packets(path, Taken::BothWays)?;
        for (number, packet) in all.iter_mut().enumerate() {
            packet.client = number % CLIENTS;
        }
        let run = Run {
            radios: &FARTHER.radios(),
            scheme: *scheme,
            clock: Clock::Standard,
            slot_bits: SLOT_BITS,
            seed: 1,
        };
        // A whole round exceeds every cache, except for the shortest captures.
        let tally = run
            .of(all.iter().cycle().take(PACKETS).cloned())
            .with_context(|| format!("{name} under {scheme}"))?;
        let sum = |of: fn(&super::tally::StationTally) -> u64| tally.stations.iter().map(of).sum::<u64>();
        let note = format!("{} of them asked for chunks", sum(|station| station.requests));
        Ok(Row::new(FIGURE.id, format!("packets as they were: {scheme}"), *name, "packets")
            .exactly(sum(|station| station.packets - station.wrong) as f64)
            .note(note))
    })
}

/// "Two stations' caches driven by different loss stay safe for 100,000 packets of every trace."
#[must_use]
pub fn claim(rows: &[Row]) -> Claim {
    let counted: Vec<f64> = of(rows, FIGURE.id).filter_map(|row| row.value).collect();
    let fewest = counted.iter().copied().reduce(f64::min);
    let found = fewest.iter().map(|fewest| format!("{fewest} at least, in {} runs", counted.len())).collect();
    let claim =
        "100,000 packets of every capture come out as they were at two stations that overhear otherwise";
    Claim::judged(claim, found, fewest >= Some(PACKETS as f64))
}
