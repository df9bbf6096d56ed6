//! The codec alone: Gbit/s of packets in, encoding and decoding.

use super::{Row, gigabits_per_second, median, timed};
use re::Parameters;
use sim::workload::{Codec, packets};

/// 16 MB of packets, twice what the store holds.
const PACKETS: usize = 12_000;
const STORE_BYTES: usize = 8 << 20;

pub fn measure(runs: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for percent in [0u8, 50, 90] {
        let parameters = Parameters { store_bytes: STORE_BYTES, ..Parameters::default() };
        let share = f64::from(percent) / 100.0;
        let mut codec = Codec::new(&parameters, packets(share, PACKETS));
        let mut twice = Codec::new(&parameters, packets(share, 2 * PACKETS));
        let bytes = codec.packet_bytes();
        let (mut encoding, mut decoding, mut warm) = (Vec::new(), Vec::new(), Vec::new());
        let check = |right: usize| {
            anyhow::ensure!(right == PACKETS, "{} packets of {PACKETS} were not decoded", PACKETS - right);
            Ok(())
        };
        for _ in 0..runs {
            encoding.push(timed(|| {
                std::hint::black_box(codec.encode());
            }));
            let mut decoder = codec.decoder();
            let mut right = 0;
            decoding.push(timed(|| right = codec.decode(&mut decoder)));
            check(right)?;
            let mut decoder = twice.decoder();
            twice.decode_part(&mut decoder, 0..PACKETS);
            warm.push(timed(|| right = twice.decode_part(&mut decoder, PACKETS..2 * PACKETS)));
            check(right)?;
        }
        let name = |what: &str| format!("codec.{what}.redundancy-{percent}");
        rows.push(Row::new(name("encode"), gigabits_per_second(bytes, median(encoding)), "Gbit/s"));
        rows.push(Row::new(name("decode"), gigabits_per_second(bytes, median(decoding)), "Gbit/s"));
        rows.push(Row::new(name("decode.full-store"), gigabits_per_second(bytes, median(warm)), "Gbit/s"));
        rows.push(Row::new(name("left"), codec.left_bytes() as f64 / bytes as f64, "ratio"));
    }
    Ok(rows)
}
