//! Table 3: how much redundancy slots detect and save, beside SHA-1 and others.

use anyhow::Result;
use indicatif::ProgressBar;
use overhear::boundaries::MinChunk;
use published::comparators::Counted;

use super::as_printed::TRAFFIC_BYTES;
use super::detection::Finder;
use super::trial::fresh;
use crate::figure::{Figure, Results, Setting};
use crate::papers::{self, Stated};
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
             The paper's cache has {refactor/section-5.1/trace-cache}, and caches are flushed every \
             {refactor/section-5.2/flush-recommended}. Slots, stores and flush volume are scaled so that chunks per slot are \
             those of 3 GB of traffic, by the factor that each row names. The first series is the paper's as printed: MAXP, \
             whole chunks, marked slots, no MAC; SHA-1 finds the same chunks. Ours follow: Gear, then the newer chunk in the \
             slot with a MAC of 8 bytes in each reduced packet, then parts of chunks.",
    needs: |_| Vec::new(),
    rows,
};

const CHUNKS: [MinChunk; 3] = [MinChunk::Bytes32, MinChunk::Bytes64, MinChunk::Bytes128];
/// What the paper has, by the smallest chunk.
const PAPER: [Printed; 3] = [
    Printed {
        slots: ["table-3/refactor/detected/chunk-32", "table-3/refactor/effective/chunk-32"],
        sha1: ["table-3/sha/detected/chunk-32", "table-3/sha/effective/chunk-32"],
        shipped: "table-3/sha/effective-hash-shipping/chunk-32",
    },
    Printed {
        slots: ["table-3/refactor/detected/chunk-64", "table-3/refactor/effective/chunk-64"],
        sha1: ["table-3/sha/detected/chunk-64", "table-3/sha/effective/chunk-64"],
        shipped: "table-3/sha/effective-hash-shipping/chunk-64",
    },
    Printed {
        slots: ["table-3/refactor/detected/chunk-128", "table-3/refactor/effective/chunk-128"],
        sha1: ["table-3/sha/detected/chunk-128", "table-3/sha/effective/chunk-128"],
        shipped: "table-3/sha/effective-hash-shipping/chunk-128",
    },
];

/// A line of the paper's table, as ids: detected and effective shares.
struct Printed {
    slots: [&'static str; 2],
    sha1: [&'static str; 2],
    /// Effective only.
    shipped: &'static str,
}

impl Printed {
    fn of(&self, finder: &str) -> [Option<Stated>; 2] {
        let stated = |id| Some(papers::REFACTOR.value(id).number());
        match finder {
            PRINTED => self.slots.map(stated),
            SHA1 => self.sha1.map(stated),
            SHIPPED => [None, stated(self.shipped)],
            _ => [None; 2],
        }
    }
}

const PRINTED: &str = "slots, as printed";
const REPLACED: &str = "slots, replaced";
const SHA1: &str = "SHA-1";
const SHIPPED: &str = "SHA-1, hashes shipped";

/// By how much less traffic there is than the paper's, a power of two.
#[must_use]
pub fn scale(setting: &Setting<'_>) -> u64 {
    setting.plan.choose(32, 128, 128)
}

fn finders(scale: u64) -> [(&'static str, Finder); 8] {
    let slot_bits = 24 - scale.trailing_zeros() as u8;
    let store_bytes = ((1u64 << 30) / scale) as usize;
    let flush_bytes = 250_000_000 / scale;
    [
        (PRINTED, Finder::AsPrinted { slot_bits, flush_bytes }),
        (SHA1, Finder::Sha1(store_bytes)),
        (SHIPPED, Finder::ShippedSha1(store_bytes)),
        ("whole packets", Finder::WholePackets(store_bytes)),
        ("max-match", Finder::MaxMatch(store_bytes)),
        ("slots, marked, Gear", Finder::MarkedSlots { slot_bits, flush_bytes }),
        ("slots, replaced, whole chunks", Finder::Slots { slot_bits, parts: false }),
        (REPLACED, Finder::Slots { slot_bits, parts: true }),
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
        let [paper_detected, paper_effective] = PAPER[*place].of(name);
        let quantities: [(&str, f64, Option<Stated>); 2] = [
            ("detected", Counted::detected(&counted), paper_detected),
            ("effective", Counted::effective(&counted), paper_effective),
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

/// What the paper's slots detect of what its SHA scheme detects, as printed for 32 B and by Table 3 for 64 B.
#[must_use]
pub fn slots_find_what_hashes_find(rows: &[Row]) -> Claim {
    let share = |name, bytes| Some(at(rows, "detected", name, bytes)? / at(rows, "detected", SHA1, bytes)?);
    let printed = papers::REFACTOR.value("section-5.1/detected-share").number().share();
    let detected = |id| papers::REFACTOR.value(id).number();
    let by_table =
        detected("table-3/refactor/detected/chunk-64").over(detected("table-3/sha/detected/chunk-64"));
    let bounds = [(32.0, printed.get()), (64.0, by_table.get())];
    let found = bounds.iter().filter_map(|(bytes, _)| {
        let (printed, replaced) = (share(PRINTED, *bytes)?, share(REPLACED, *bytes)?);
        Some(format!("{:.0}% at {bytes} B (ours {:.0}%)", 100.0 * printed, 100.0 * replaced))
    });
    let found: Vec<String> = found.collect();
    let holds =
        bounds.iter().all(|(bytes, least)| share(PRINTED, *bytes).is_some_and(|share| share >= *least));
    let said: Vec<String> = bounds
        .iter()
        .map(|(bytes, least)| format!("{}% at {bytes} B", (1000.0 * least).round() / 10.0))
        .collect();
    Claim::judged(
        format!("slots as printed detect at least {} of what SHA-1 detects", said.join(" and ")),
        found,
        holds,
    )
}

/// Effective RE at 32 B beside SHA's: the paper's by the quotient of Table 3, ours by our goal of a fifth.
#[must_use]
pub fn slots_save_more_than_hashes(rows: &[Row]) -> [Claim; 2] {
    let effective = |id| papers::REFACTOR.value(id).number();
    let by_table =
        effective("table-3/refactor/effective/chunk-32").over(effective("table-3/sha/effective/chunk-32"));
    let claim = |name: &str, least: f64, by: &str| {
        let pair = at(rows, "effective", name, 32.0).zip(at(rows, "effective", SHA1, 32.0));
        let found = pair.iter().map(|(slots, sha1)| format!("{slots:.3} against {sha1:.3}")).collect();
        let holds = pair.is_some_and(|(slots, sha1)| slots >= least * sha1);
        Claim::judged(
            format!("{name}: effective RE at 32 B is higher than SHA-1's by at least {by}"),
            found,
            holds,
        )
    };
    [claim(PRINTED, by_table.get(), "23%, as in Table 3"), claim(REPLACED, 1.2, "a fifth")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_line_is_of_its_three_schemes() {
        for printed in PAPER {
            let of = |finder| printed.of(finder).map(|stated| stated.map(Stated::get));
            for finder in [PRINTED, SHA1] {
                assert!(of(finder)[0] > of(finder)[1] && of(finder)[1].is_some(), "{finder}");
            }
            assert!(of(SHIPPED)[0].is_none() && of(SHIPPED)[1].is_some());
            assert_eq!(of(REPLACED), [None; 2]);
        }
    }

    #[test]
    fn the_bounds_are_the_papers() {
        let claim = slots_find_what_hashes_find(&[]).claim;
        assert_eq!(
            claim,
            "slots as printed detect at least 75% at 32 B and 73.7% at 64 B of what SHA-1 detects"
        );
    }
}
