//! Table 3: how much redundancy slots detect and save, beside SHA-1 and others.

use anyhow::Result;
use indicatif::ProgressBar;
use overhear::boundaries::MinChunk;
use published::comparators::Counted;

use super::detection::Finder;
use super::trial::fresh;
use crate::figure::{Figure, Results, Setting};
use crate::parallel;
use crate::report::Claim;
use crate::row::{Row, value};
use crate::trace::{Composer, Kind, Mix};

/// Table 3.
pub const FIGURE: Figure = Figure {
    id: "table-3",
    title: "Redundancy detected and removed, by scheme",
    x: "smallest chunk, bytes",
    remark: "Shares of the payload of a trace of medium overlap (47% by max-match), for a receiver that has all of it. \
             The paper's cache has 1 GB, and caches are flushed every 200 to 300 MB; slots, stores and flush volume \
             are scaled so that chunks per slot are those of 3 GB of traffic, by the factor that each row names. \
             Slots that are replaced when they collide are the default, with a MAC of 8 bytes in every packet from \
             which something is removed, and refer to parts of chunks too; slots that are marked are the paper's, \
             without either.",
    needs: |_| Vec::new(),
    rows,
};

const CHUNKS: [MinChunk; 3] = [MinChunk::Bytes32, MinChunk::Bytes64, MinChunk::Bytes128];
/// The paper's, in the columns' order: detected and effective of REfactor, of SHA-1, effective with shipped
/// hashes.
const PAPER: [[f64; 5]; 3] =
    [[0.31, 0.27, 0.41, 0.22, 0.03], [0.28, 0.26, 0.38, 0.29, 0.19], [0.23, 0.22, 0.31, 0.27, 0.22]];

/// Traffic that the paper's figures are about.
pub const TRAFFIC_BYTES: u64 = 3 << 30;

const REPLACED: &str = "slots, replaced";
const MARKED: &str = "slots, marked and flushed";
const SHA1: &str = "SHA-1";
const SHIPPED: &str = "SHA-1, hashes shipped";

/// By how much less traffic there is than the paper's, a power of two.
#[must_use]
pub fn scale(setting: &Setting<'_>) -> u64 {
    setting.plan.choose(32, 128, 128)
}

fn finders(scale: u64) -> [(&'static str, Finder); 7] {
    let slot_bits = 24 - scale.trailing_zeros() as u8;
    let store_bytes = ((1u64 << 30) / scale) as usize;
    [
        (REPLACED, Finder::Slots { slot_bits, parts: true }),
        ("slots, replaced, whole chunks", Finder::Slots { slot_bits, parts: false }),
        (MARKED, Finder::MarkedSlots { slot_bits, flush_bytes: 250_000_000 / scale }),
        (SHA1, Finder::Sha1(store_bytes)),
        (SHIPPED, Finder::ShippedSha1(store_bytes)),
        ("whole packets", Finder::WholePackets(store_bytes)),
        ("max-match", Finder::MaxMatch(store_bytes)),
    ]
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let (scale, fresh) = (scale(&results.setting), fresh(&results.setting)?);
    let kinds: &[Kind] = results.setting.plan.choose(&Kind::ALL, &[Kind::Whole], &[Kind::Whole]);
    let mut runs = Vec::new();
    for kind in kinds {
        for (place, min_chunk) in CHUNKS.into_iter().enumerate() {
            runs.extend(finders(scale).map(|(name, finder)| (*kind, place, min_chunk, name, finder)));
        }
    }
    let counted = parallel::map(&runs, &ProgressBar::hidden(), |(kind, _, min_chunk, _, finder)| {
        let trace = Composer::new(fresh.clone(), Mix::Medium, *kind, TRAFFIC_BYTES / scale, 1);
        finder.count(*min_chunk, trace)
    })?;
    let mut rows = Vec::new();
    for ((kind, place, min_chunk, name, _), counted) in runs.iter().zip(counted) {
        let [detected, effective, sha1, sha1_effective, shipped] = PAPER[*place];
        let paper = match *name {
            MARKED => (Some(detected), Some(effective)),
            SHA1 => (Some(sha1), Some(sha1_effective)),
            SHIPPED => (None, Some(shipped)),
            _ => (None, None),
        };
        let quantities: [(&str, f64, Option<f64>); 2] = [
            ("detected", Counted::detected(&counted), paper.0),
            ("effective", Counted::effective(&counted), paper.1),
        ];
        for (quantity, found, paper) in quantities {
            rows.push(
                Row::new(FIGURE.id, series(quantity, *kind, name), min_chunk.bytes() as f64, "share")
                    .exactly(found)
                    .paper(paper)
                    .note(format!("scale 1:{scale}")),
            );
        }
    }
    Ok(rows)
}

fn series(quantity: &str, kind: Kind, name: &str) -> String {
    format!("{quantity}, {kind}: {name}")
}

fn at(rows: &[Row], quantity: &str, name: &str, bytes: f64) -> Option<f64> {
    value(rows, FIGURE.id, &series(quantity, Kind::Whole, name), bytes)
}

/// "The slot cache detects at least 75% at 32 B and 73% at 64 B of what the SHA scheme detects."
#[must_use]
pub fn slots_find_what_hashes_find(rows: &[Row]) -> Claim {
    let share = |name, bytes| Some(at(rows, "detected", name, bytes)? / at(rows, "detected", SHA1, bytes)?);
    let bounds = [(32.0, 0.75), (64.0, 0.73)];
    let found: Vec<String> = bounds
        .iter()
        .filter_map(|(bytes, _)| {
            let (replaced, marked) = (share(REPLACED, *bytes)?, share(MARKED, *bytes)?);
            Some(format!("{:.0}% at {bytes} B ({:.0}% marked)", 100.0 * replaced, 100.0 * marked))
        })
        .collect();
    let holds =
        bounds.iter().all(|(bytes, least)| share(REPLACED, *bytes).is_some_and(|share| share >= *least));
    Claim::judged("slots detect at least 75% at 32 B and 73% at 64 B of what SHA-1 detects", found, holds)
}

/// "Effective RE at 32 B higher than SHA's by at least a fifth."
#[must_use]
pub fn slots_save_more_than_hashes(rows: &[Row]) -> Claim {
    let (slots, sha1) = (at(rows, "effective", REPLACED, 32.0), at(rows, "effective", SHA1, 32.0));
    let pair = slots.zip(sha1);
    let found = pair.iter().map(|(slots, sha1)| format!("{slots:.3} against {sha1:.3}")).collect();
    let holds = pair.is_some_and(|(slots, sha1)| slots >= 1.2 * sha1);
    Claim::judged("effective RE at 32 B is higher than SHA-1's by at least a fifth", found, holds)
}
