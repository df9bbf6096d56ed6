//! Figure 3: what the removal of one chunk of 64 bytes is expected to save, by the model that the gateway
//! uses.

use anyhow::Result;
use overhear::AirTime;
use overhear::removal::Candidate;

use super::air_time::HEADER_SECONDS;
use crate::figure::{Figure, Results};
use crate::papers;
use crate::row::Row;

/// Figure 3.
pub const FIGURE: Figure = Figure {
    id: "3",
    title: "Expected benefit from removing a single 64 B chunk",
    x: "probability that the station has it, %",
    remark: "Exp[B] of section 3.2.2 at {refactor/section-3.2.2/rate} and ρ = 0, as the gateway reckons it, for packets with a total \
             redundancy of K bytes. With t_b as the paper prints it for that rate \
             ({refactor/section-3.2.2/t-b}, which is 9 Mbit/s) and with 8 bits by the rate. A single chunk pays from about \
             {refactor/section-3.2/break-even} on, as the paper says.",
    needs: |_| Vec::new(),
    rows,
};

const CHUNK_BYTES: f64 = 64.0;
/// The paper's K.
const REDUNDANT_BYTES: [u32; 4] = [64, 128, 256, 512];
/// What replaces a chunk: a slot of 20 bits, rounded up.
const SHIM_BYTES: f64 = 3.0;
/// Names of the seconds a byte, as printed and as computed.
const AS_PRINTED: &str = "t_b as printed";
const AS_RECKONED: &str = "8 bits by the rate";

/// Seconds a byte, by both.
fn per_byte() -> [(&'static str, f64); 2] {
    let stated = |id| papers::REFACTOR.value(id).number().get();
    let reckoned = 8.0 / (stated("section-3.2.2/rate") * 1e6);
    [(AS_PRINTED, stated("section-3.2.2/t-b") / 1e6), (AS_RECKONED, reckoned)]
}

/// What the series of one total redundancy is called, with the paper's own t_b.
#[must_use]
pub fn series(redundant_bytes: u32) -> String {
    named(AS_PRINTED, redundant_bytes)
}

fn named(per_byte: &str, redundant_bytes: u32) -> String {
    format!("{per_byte}: K = {redundant_bytes} B")
}

fn rows(_: &Results<'_>) -> Result<Vec<Row>> {
    let header = std::time::Duration::from_secs_f64(*HEADER_SECONDS);
    let mut rows = Vec::new();
    for (name, per_byte_seconds) in per_byte() {
        let air_time = AirTime { header, per_byte_seconds };
        for redundant_bytes in REDUNDANT_BYTES {
            for percent in (0..=100).step_by(5) {
                let candidate = Candidate {
                    probability: f64::from(percent) / 100.0,
                    chunk_bytes: CHUNK_BYTES,
                    shim_bytes: SHIM_BYTES,
                    redundant_bytes: redundant_bytes.into(),
                };
                let benefit = candidate.expected_benefit_seconds(0.0, &air_time);
                let row = Row::new(FIGURE.id, named(name, redundant_bytes), f64::from(percent), "µs");
                rows.push(row.exactly(benefit * 1e6));
            }
        }
    }
    Ok(rows)
}
