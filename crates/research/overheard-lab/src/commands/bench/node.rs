//! Two whole nodes: packets and bits a second through both, and the processor time that a packet takes in
//! each step.
//!
//! The codec's share is computed and not timed: the additional time of the steps around the cipher, compared
//! with a tunnel without redundancy elimination. Opening counts as expensive as sealing, because both apply
//! the same cipher to the same bytes.

use super::{Row, gigabits_per_second, median, timed};
use re::Policy;
use sim::Tunnel;
use sim::workload::{FaceToFace, packets};
use std::time::Duration;

const PACKETS: usize = 12_000;
/// As many packets as a driver takes from a device at once.
const BATCH: usize = 32;

/// What one pass over all packets took.
#[derive(Default, Clone, Copy)]
struct Times {
    /// Classify, queue, reduce, pack.
    pack: Duration,
    seal: Duration,
    /// Open, unpack, restore.
    unpack: Duration,
    deliver: Duration,
    /// Receipts, and their way back.
    answer: Duration,
}

impl Times {
    fn total(&self) -> Duration {
        self.pack + self.seal + self.unpack + self.deliver + self.answer
    }

    /// Everything but the cipher.
    fn around_cipher(&self) -> Duration {
        self.total().saturating_sub(self.cipher())
    }

    /// Sealing and opening.
    fn cipher(&self) -> Duration {
        self.seal * 2
    }
}

pub fn measure(runs: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let plain = pass(Policy::Off, 0, runs, &mut rows)?;
    for percent in [0, 50, 90] {
        let times = pass(Policy::Acked, percent, runs, &mut rows)?;
        let codec = times.around_cipher().saturating_sub(plain.around_cipher());
        let name = |what: &str| format!("node.{}-{percent}.share.{what}", Policy::Acked);
        let share = |time: Duration| time.as_secs_f64() / times.total().as_secs_f64();
        rows.push(Row::new(name("codec"), share(codec), "ratio"));
        rows.push(Row::new(name("cipher"), share(times.cipher()), "ratio"));
        rows.push(Row::new(name("rest"), 1.0 - share(codec) - share(times.cipher()), "ratio"));
    }
    Ok(rows)
}

/// The medians over all runs, which are also appended as rows.
fn pass(policy: Policy, percent: u8, runs: u32, rows: &mut Vec<Row>) -> anyhow::Result<Times> {
    let packets = packets(f64::from(percent) / 100.0, PACKETS);
    let bytes: usize = packets.iter().map(Vec::len).sum();
    let mut pair = FaceToFace::new(1, &Tunnel::from(policy))?;
    let mut all = Vec::new();
    // the first pass warms stores and buffers up
    for run in 0..=runs {
        let times = once(&mut pair, &packets)?;
        if run > 0 {
            all.push(times);
        }
    }
    let of = |step: fn(&Times) -> Duration| median(all.iter().map(step).collect());
    let times = Times {
        pack: of(|times| times.pack),
        seal: of(|times| times.seal),
        unpack: of(|times| times.unpack),
        deliver: of(|times| times.deliver),
        answer: of(|times| times.answer),
    };
    let name = |what: &str| format!("node.{policy}-{percent}.{what}");
    let total = of(Times::total);
    rows.push(Row::new(name("packets"), PACKETS as f64 / total.as_secs_f64(), "packets/s"));
    rows.push(Row::new(name("rate"), gigabits_per_second(bytes, total), "Gbit/s"));
    for (step, time) in [
        ("pack", times.pack),
        ("seal", times.seal),
        ("unpack", times.unpack),
        ("deliver", times.deliver),
        ("answer", times.answer),
    ] {
        rows.push(Row::new(name(step), time.as_nanos() as f64 / PACKETS as f64, "ns/packet"));
    }
    Ok(times)
}

fn once(pair: &mut FaceToFace, packets: &[Vec<u8>]) -> anyhow::Result<Times> {
    let mut times = Times::default();
    let mut right = 0;
    for batch in packets.chunks(BATCH) {
        times.pack += timed(|| pair.pack(batch));
        times.seal += timed(|| pair.seal());
        times.unpack += timed(|| pair.unpack());
        times.deliver += timed(|| right += pair.deliver(batch));
        times.answer += timed(|| pair.answer());
    }
    anyhow::ensure!(
        right == packets.len(),
        "{} packets did not come out as they went in",
        packets.len() - right
    );
    Ok(times)
}
