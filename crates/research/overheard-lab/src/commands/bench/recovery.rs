//! The repair of TCP segments: what keeping them costs, as they are and combined, and what undoing a coded
//! repair does.

use super::{Row, gigabits_per_second, median, timed};
use anyhow::Context;
use recovery::buffer::digest;
use recovery::pattern::Pattern;
use recovery::{Coding, History, Replacement, Segment, Settings, Snoop, Undoes};
use std::time::Duration;
use wire::coded::Coded;
use wire::inner::Inner;

const PACKETS: u32 = 20_000;
const PAYLOAD_BYTES: u32 = 1348;
const BUFFER_PACKETS: usize = 8;
const MS: Duration = Duration::from_millis(1);

type Packet = (Vec<u8>, Inner);

pub fn measure(runs: u32) -> anyhow::Result<Vec<Row>> {
    let packets = (0..PACKETS).map(segment).collect::<anyhow::Result<Vec<Packet>>>()?;
    let bytes: usize = packets.iter().map(|(packet, _)| packet.len()).sum();
    let mut rows = Vec::new();
    let fixed = |degree| Coding::Fixed(Pattern { degree, distance: 1 });
    let ways = [
        ("plain", Coding::Off),
        ("degree-2", fixed(2)),
        ("degree-4", fixed(4)),
        ("adaptive", Coding::Adaptive),
        ("reed-solomon", Coding::ReedSolomon),
    ];
    for (name, coding) in ways {
        // nothing is acknowledged: a packet finds the buffer full, and the oldest go or are combined further
        let makes_room = matches!(coding, Coding::Adaptive | Coding::ReedSolomon);
        let replacement = if makes_room { Replacement::None } else { Replacement::Lru };
        let settings = Settings { buffer_packets: BUFFER_PACKETS, replacement, coding };
        let times = (0..runs).map(|_| {
            timed(|| {
                for burst in packets.chunks(32) {
                    let mut snoop = Snoop::new(&settings, Undoes::Rows);
                    for (packet, inner) in burst {
                        if let Some(segment) = Segment::parse(packet, inner) {
                            snoop.handle_departure(MS, packet, &segment);
                        }
                    }
                    std::hint::black_box(snoop.bytes());
                }
            })
        });
        let speed = gigabits_per_second(bytes, median(times.collect()));
        rows.push(Row::new(format!("recovery.keep.{name}"), speed, "Gbit/s"));
    }
    let times = (0..runs).map(|_| {
        timed(|| {
            let mut history = History::default();
            packets.iter().for_each(|(packet, inner)| history.record_delivery(packet, inner));
            std::hint::black_box(history.bytes());
        })
    });
    rows.push(Row::new("recovery.remember", gigabits_per_second(bytes, median(times.collect())), "Gbit/s"));
    for degree in [2, 4] {
        rows.push(Row::new(format!("recovery.undo.degree-{degree}"), undo(&packets, degree, runs)?, "ns"));
    }
    Ok(rows)
}

fn segment(number: u32) -> anyhow::Result<Packet> {
    let byte = |at: u32| ((number * PAYLOAD_BYTES + at).wrapping_mul(0x9e37_79b9) >> 24) as u8;
    let payload: Vec<u8> = (0..PAYLOAD_BYTES).map(byte).collect();
    let mut packet = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(80, 4242, number * PAYLOAD_BYTES, 1000)
        .write(&mut packet, &payload)
        .context("write a segment")?;
    let inner = Inner::parse(&packet).context("read a segment")?;
    Ok((packet, inner))
}

/// Nanoseconds for one coded repair.
fn undo(packets: &[Packet], degree: usize, runs: u32) -> anyhow::Result<f64> {
    const REPEATS: u32 = 2000;
    let (lost, others) = packets[..degree].split_first().context("there are packets")?;
    let mut history = History::default();
    let (header, payload) = lost.0.split_at(lost.1.payload_offset);
    let mut sum = payload.to_vec();
    for (packet, inner) in others {
        recovery::xor::into(&mut sum, &packet[inner.payload_offset..]);
        history.record_delivery(packet, inner);
    }
    let offsets = (1..degree as i32).map(|at| at * PAYLOAD_BYTES as i32);
    let mut body = Vec::new();
    Coded::emit(digest(header, payload), header, offsets, &sum, &mut body);
    let coded = Coded::parse(&body).context("read a coded repair")?;
    let mut out = Vec::new();
    let times = (0..runs).map(|_| {
        timed(|| {
            for _ in 0..REPEATS {
                out.clear();
                let _ = std::hint::black_box(history.restore(&coded, &mut out));
            }
        })
    });
    let time = median(times.collect());
    anyhow::ensure!(out == lost.0, "a coded repair does not restore what was lost");
    Ok(time.as_nanos() as f64 / f64::from(REPEATS))
}
