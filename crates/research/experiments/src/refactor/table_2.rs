//! Table 2: how fast one core encodes and decodes, by the smallest chunk, beside SHA-1.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use overhear::boundaries::{Boundaries, Method, MinChunk};
use overhear::knowledge::{KnowledgeKind, OverheardFractions};
use overhear::removal::Removal;
use overhear::{AirTime, Association, Gateway, PacketNumber, Received, Settings, Station, StationId};
use published::comparators::{Cut, HashedChunks, HashedChunksReceiver, Hashes};

use rustix::time::{ClockId, clock_gettime};

use super::as_printed::{self, Cache};
use super::trial::fresh;
use crate::figure::{Figure, Results};
use crate::papers;
use crate::row::Row;
use crate::trace::{Composer, Kind, Mix, TracePacket};

/// Table 2.
pub const FIGURE: Figure = Figure {
    id: "table-2",
    title: "Speed by smallest chunk, beside SHA-1",
    x: "smallest chunk, bytes",
    remark: "Payload encoded and decoded by a second of processor time, the median of several passes over the second \
             half of a trace of medium overlap in whole objects, when the first has filled the caches: 2^18 slots, and \
             64 MiB for SHA-1. As printed: MAXP, whole chunks, marked slots, no MAC. Ours: Gear, parts, replaced slots and a MAC; \
             the same with MAXP stands beside. SHA-1 finds the paper's chunks. `bench codec` measures larger \
             caches more carefully. The paper encoded on {refactor/section-5.1/encoder-cpu} \
             and decoded on {refactor/section-5.1/decoder-cpu}.",
    needs: |_| Vec::new(),
    rows,
};

/// Each with the ids of the paper's encoding by slots and by SHA-1.
const CHUNKS: [(MinChunk, &str, &str); 3] = [
    (MinChunk::Bytes32, "table-2/refactor/chunk-32", "table-2/sha/chunk-32"),
    (MinChunk::Bytes64, "table-2/refactor/chunk-64", "table-2/sha/chunk-64"),
    (MinChunk::Bytes128, "table-2/refactor/chunk-128", "table-2/sha/chunk-128"),
];
/// Those of its decoding by slots, of chunks of at least 32 bytes, and by SHA-1, of chunks of 128.
const DECODING: (&str, &str) = ("section-5.1/decode-rate", "section-5.1/sha-decode-rate");
const NETWORK_KEY: [u8; 32] = [5; 32];
const STORE_BYTES: usize = 64 << 20;
const SLOT_BITS: u8 = 18;
const STATION: StationId = StationId(0);

/// Processor time of this thread, independent of other load.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// What a pass takes to encode and to decode.
type Times = (Duration, Duration);

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let plan = &results.setting.plan;
    let bytes: u64 = plan.choose(32 << 20, 8 << 20, 8 << 20);
    let passes: usize = plan.choose(5, 3, 3);
    let composer = Composer::new(fresh(&results.setting)?, Mix::Medium, Kind::Whole, bytes, 1);
    let trace: Vec<TracePacket> = composer.collect();
    let timed = &trace[trace.len() / 2..];
    let payload_bytes: usize = timed.iter().map(|packet| packet.payload().len()).sum();
    let speed = |mut times: Vec<Duration>| {
        times.sort_unstable();
        payload_bytes as f64 * 8e-6 / times[times.len() / 2].as_secs_f64()
    };
    let mut rows = Vec::new();
    for (min_chunk, slots, sha1) in CHUNKS {
        let boundaries = |method| Boundaries { method, min_chunk };
        let measured = |pass: &dyn Fn() -> Result<Times>| -> Result<(Vec<Duration>, Vec<Duration>)> {
            let times = (0..passes).map(|_| pass()).collect::<Result<Vec<Times>>>()?;
            Ok(times.into_iter().unzip())
        };
        let decoded_sha1 = (min_chunk == MinChunk::Bytes128).then_some(DECODING.1);
        for (name, (encoding, decoding), paper) in [
            (
                "as printed",
                measured(&|| by_slots(&trace, printed(min_chunk), false))?,
                (Some(slots), Some(DECODING.0)),
            ),
            ("SHA-1", measured(&|| by_sha1(&trace, boundaries(Method::Maxp)))?, (Some(sha1), decoded_sha1)),
            ("ours", measured(&|| by_slots(&trace, ours(boundaries(Method::Gear)), true))?, (None, None)),
            (
                "ours, MAXP",
                measured(&|| by_slots(&trace, ours(boundaries(Method::Maxp)), true))?,
                (None, None),
            ),
        ] {
            for (what, times, paper) in [("encoding", encoding, paper.0), ("decoding", decoding, paper.1)] {
                let row = Row::new(FIGURE.id, format!("{what}: {name}"), min_chunk.bytes() as f64, "Mbit/s");
                let build = if cfg!(debug_assertions) { "a build for development" } else { "" };
                let paper = paper.map(|id| papers::REFACTOR.value(id).number());
                rows.push(row.exactly(speed(times)).paper(paper).note(build));
            }
        }
    }
    Ok(rows)
}

/// Ours with these boundaries.
fn ours(boundaries: Boundaries) -> Settings {
    Settings { boundaries, ..Settings::new(NETWORK_KEY) }
}

/// The paper's.
fn printed(min_chunk: MinChunk) -> Settings {
    let settings = as_printed::settings(NETWORK_KEY, Cache::of(SLOT_BITS), OverheardFractions::default());
    Settings { boundaries: as_printed::boundaries(min_chunk), ..settings }
}

/// A gateway and a station that has everything.
fn by_slots(trace: &[TracePacket], settings: Settings, has_mac: bool) -> Result<Times> {
    const RATE: u64 = 54_000_000;
    let settings = Settings {
        knowledge: KnowledgeKind::Everything,
        removal: Removal::Greedy,
        slot_bits: SLOT_BITS,
        ..settings
    };
    let mac_key = has_mac.then_some(NETWORK_KEY);
    let mut gateway = Gateway::new(settings.clone())?;
    let association = Association {
        slot_bits: settings.slot_bits,
        rate_bits_per_second: RATE,
        rate_is_known: true,
        air_time: AirTime::of_rate(RATE),
        mac_key,
    };
    gateway.join(STATION, association, Duration::ZERO)?;
    let mut station = Station::new(settings, STATION, mac_key)?;
    let (mut encoded, mut sent): (Vec<u8>, Vec<(PacketNumber, usize)>) = (Vec::new(), Vec::new());
    let (warming, mut started) = (trace.len() / 2, processor_time());
    for (at, packet) in trace.iter().enumerate() {
        if at == warming {
            started = processor_time();
        }
        let made = gateway.encode(STATION, packet.payload(), Duration::ZERO, &mut encoded);
        sent.push((made.number, encoded.len()));
    }
    let encoding = processor_time() - started;
    let (mut from, mut restored) = (0, 0);
    for (at, (number, to)) in sent.into_iter().enumerate() {
        if at == warming {
            started = processor_time();
        }
        let received = station.receive(number, number.0, &encoded[from..to], Duration::ZERO);
        restored += usize::from(matches!(received, Received::Restored(_)));
        from = to;
    }
    // a chunk displaced within its own packet is a miss, and rare
    ensure!(restored * 100 >= trace.len() * 99, "only {restored} of {} packets were restored", trace.len());
    Ok((encoding, processor_time() - started))
}

fn by_sha1(trace: &[TracePacket], boundaries: Boundaries) -> Result<Times> {
    let mut encoder = HashedChunks::new(Cut::Chunks(boundaries), Hashes::Reckoned, STORE_BYTES);
    let (mut encoded, mut ends) = (Vec::new(), Vec::new());
    let (warming, mut started) = (trace.len() / 2, processor_time());
    for (at, packet) in trace.iter().enumerate() {
        if at == warming {
            started = processor_time();
        }
        encoder.encode(packet.payload(), &mut encoded);
        ends.push(encoded.len());
    }
    let encoding = processor_time() - started;
    let mut decoder = HashedChunksReceiver::new(STORE_BYTES);
    let (mut from, mut packet) = (0, Vec::new());
    for (at, to) in ends.into_iter().enumerate() {
        if at == warming {
            started = processor_time();
        }
        packet.clear();
        decoder
            .decode(&encoded[from..to], &mut packet)
            .context("a packet encoded by SHA-1 is not restored")?;
        from = to;
    }
    Ok((encoding, processor_time() - started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_speeds_are_numbers_and_grow_with_chunks() {
        let speed = |id| papers::REFACTOR.value(id).number().get();
        assert!(
            CHUNKS.is_sorted_by(|one, other| speed(one.1) < speed(other.1) && speed(one.2) < speed(other.2))
        );
        assert!(speed(DECODING.0) > speed(DECODING.1));
    }
}
