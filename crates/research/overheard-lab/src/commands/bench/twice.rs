//! Random bytes that are sent twice, by two nodes with a budget of memory, beside an offline optimum.
//!
//! A memory of M bytes that knows the future keeps M bytes of the first pass, and saves them in the second
//! one: min(M, content). The nodes are state machines in this process. Time is virtual, and the same bytes
//! give the same figures.

use super::{Progress, Row};
use anyhow::ensure;
use etherparse::PacketBuilder;
use node::Memory;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha12Rng;
use re::Parameters;
use sim::Tunnel;
use sim::workload::FaceToFace;
use std::time::Duration;

/// Contents and budgets, in MiB.
const CONTENTS: [usize; 4] = [12, 24, 100, 500];
const BUDGETS: [usize; 4] = [16, 64, 256, 1024];
/// Contents of this many budgets are measured as well.
const BUDGETS_EACH: usize = 2;
const MIB: usize = 1 << 20;
/// Bytes of a packet's payload, and packets that leave together.
const PAYLOAD_BYTES: usize = 1360;
const TOGETHER: usize = 32;
/// About 100 Mbit/s.
const BATCH_TIME: Duration = Duration::from_micros(3500);

pub fn measure() -> anyhow::Result<Vec<Row>> {
    let cells: Vec<(usize, usize)> = BUDGETS
        .into_iter()
        .flat_map(|budget| {
            CONTENTS.into_iter().chain([BUDGETS_EACH * budget]).map(move |content| (content, budget))
        })
        .collect();
    let mib: usize = cells.iter().map(|(content, _)| 2 * content).sum();
    let progress = Progress::new(false, mib as u64, "sending");
    let mut rows = Vec::new();
    for (content, budget) in cells {
        progress.say(format!("{content} MiB twice, {budget} MiB of memory"));
        let (saved, store_bytes) = saved_bytes(content * MIB, budget * MIB, &progress)?;
        let saved = saved as f64;
        let best = content.min(budget) * MIB;
        let name = |what: &str| format!("{content} MiB twice, budget {budget} MiB: {what}");
        rows.push(Row::new(name("bound of the store"), store_bytes as f64 / MIB as f64, "MiB"));
        rows.push(Row::new(name("saved of the second pass"), saved / (content * MIB) as f64, "ratio"));
        rows.push(Row::new(name("saved of the optimum"), saved / best as f64, "ratio"));
    }
    progress.finish();
    Ok(rows)
}

/// What the second pass took less on the air than the first one, and the bound of the store then, in bytes.
fn saved_bytes(
    content_bytes: usize,
    budget_bytes: usize,
    progress: &Progress,
) -> anyhow::Result<(u64, usize)> {
    let tunnel = Tunnel {
        memory: Some(Memory { bytes: budget_bytes, nodes: 1 }),
        ..Parameters { store_bytes: 1 << 30, ..Parameters::default() }.into()
    };
    let mut pair = FaceToFace::new(1, &tunnel)?;
    let mut bytes = [0; 2];
    for (pass, sent) in (0..).zip(&mut bytes) {
        let mut content = ChaCha12Rng::seed_from_u64(1);
        let (mut packets, mut left, mut sequence) = (Vec::new(), content_bytes, 0u32);
        while left > 0 {
            packets.clear();
            while packets.len() < TOGETHER && left > 0 {
                let mut payload = vec![0; PAYLOAD_BYTES.min(left)];
                content.fill_bytes(&mut payload);
                packets.push(packet(pass, sequence, &payload));
                left -= payload.len();
                sequence = sequence.wrapping_add(payload.len() as u32);
            }
            pair.wait(BATCH_TIME);
            pair.pack(&packets);
            pair.seal();
            *sent += pair.batch_bytes() as u64;
            pair.unpack();
            let right = pair.deliver(&packets);
            ensure!(right == packets.len(), "{} of {} packets came out", right, packets.len());
            pair.answer();
        }
        (0..20).for_each(|_| pair.wait(Duration::from_millis(100)));
        for _ in 0..content_bytes / MIB {
            progress.step();
        }
    }
    Ok((bytes[0].saturating_sub(bytes[1]), pair.store_bytes().unwrap_or_default()))
}

/// A segment of the connection of this pass.
fn packet(pass: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder =
        PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64).tcp(80, 4000 + pass, sequence, 1000);
    let written = builder.write(&mut packet, payload);
    debug_assert!(written.is_ok(), "a vector takes every byte");
    packet
}
