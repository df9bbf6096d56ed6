//! The codec of what stations overhear: Gbit/s of packets in, encoding at the gateway, and putting together
//! at a station that cuts and keeps all that it hears.

use super::{Row, gigabits_per_second, median, timed};
use anyhow::ensure;
use overhear::removal::Removal;
use overhear::{AirTime, Association, Gateway, Received, Settings, Station, StationId};
use sim::traffic::Content;
use std::time::Duration;

/// On a radio of 1500 bytes.
const PACKET_BYTES: usize = 1400;
/// 16 MB; what repeats is at most half as far back.
const PACKETS: usize = 12_000;
const STATION: StationId = StationId(1);
const KEY: [u8; 32] = [1; 32];
/// Packets that are encoded before the station confirms them.
const ON_THEIR_WAY: usize = 32;

pub fn measure(runs: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for percent in [0u8, 50, 90] {
        let bytes = PACKETS * PACKET_BYTES;
        let mut content =
            Content::repeating(u64::from(percent), f64::from(percent) / 100.0, bytes / 2, bytes);
        let mut packets = vec![0; bytes];
        content.take(&mut packets);
        let (mut encoding, mut decoding, mut left) = (Vec::new(), Vec::new(), 0);
        for _ in 0..runs {
            let (seconds, encoded) = encode(&packets)?;
            encoding.push(seconds);
            left = encoded.iter().map(|(_, bytes)| bytes.len()).sum();
            decoding.push(decode(&packets, &encoded)?);
        }
        let name = |what: &str| format!("codec.chunks.{what}.redundancy-{percent}");
        let rate = |sample| gigabits_per_second(bytes, median(sample));
        rows.push(Row::new(name("encode"), rate(encoding), "Gbit/s"));
        rows.push(Row::new(name("decode"), rate(decoding), "Gbit/s"));
        rows.push(Row::new(name("left"), left as f64 / bytes as f64, "ratio"));
    }
    Ok(rows)
}

type Encoded = Vec<(overhear::PacketNumber, Vec<u8>)>;

fn settings() -> Settings {
    Settings { removal: Removal::Greedy, ..Settings::new(KEY) }
}

/// Touches the tables' memory before anything counts; what the gateway sends is `heard`.
fn warm_up(gateway: &mut Gateway, mut heard: impl FnMut(&[u8])) {
    let mut content = Content::random(7);
    let (mut packet, mut out) = (vec![0; PACKET_BYTES], Vec::new());
    for _ in 0..2 * PACKETS {
        content.take(&mut packet);
        out.clear();
        gateway.encode(StationId(0), &packet, Duration::ZERO, &mut out);
        heard(&out);
    }
}

/// The whole stream for one station.
fn encode(packets: &[u8]) -> anyhow::Result<(Duration, Encoded)> {
    let mut gateway = Gateway::new(settings())?;
    let rate_bits_per_second = 54_000_000;
    let association = Association {
        slot_bits: settings().slot_bits,
        rate_bits_per_second,
        rate_is_known: true,
        air_time: AirTime::of_rate(rate_bits_per_second),
        mac_key: Some(KEY),
    };
    gateway.join(STATION, association, Duration::ZERO)?;
    warm_up(&mut gateway, |_| ());
    let mut encoded: Encoded = Vec::with_capacity(PACKETS);
    encoded.resize_with(PACKETS, || (overhear::PacketNumber(0), Vec::with_capacity(PACKET_BYTES + 100)));
    let seconds = timed(|| {
        for (at, packet) in packets.chunks_exact(PACKET_BYTES).enumerate() {
            let (number, out) = &mut encoded[at];
            *number = gateway.encode(STATION, packet, Duration::ZERO, out).number;
            if let Some(confirmed) = at.checked_sub(ON_THEIR_WAY) {
                let number = encoded[confirmed].0;
                gateway.record_acknowledgment(STATION, number, Duration::ZERO);
            }
        }
    });
    Ok((seconds, encoded))
}

fn decode(packets: &[u8], encoded: &Encoded) -> anyhow::Result<Duration> {
    let mut station = Station::new(settings(), STATION, Some(KEY))?;
    let mut learnt = 0;
    warm_up(&mut Gateway::new(settings())?, |heard| learnt += u32::from(station.overhear(heard).is_ok()));
    ensure!(learnt > 0, "nothing was overheard");
    let mut wrong = 0;
    let seconds = timed(|| {
        for ((number, encoded), packet) in encoded.iter().zip(packets.chunks_exact(PACKET_BYTES)) {
            let restored = station.receive(*number, number.0, encoded, Duration::ZERO);
            wrong += u32::from(restored != Received::Restored(packet));
        }
    });
    ensure!(wrong == 0, "{wrong} packets of {PACKETS} were not restored");
    Ok(seconds)
}
