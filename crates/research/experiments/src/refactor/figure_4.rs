//! Figure 4: what caches of several sizes find, by how often they are flushed.

use anyhow::Result;
use indicatif::ProgressBar;
use overhear::boundaries::MinChunk;

use super::as_printed::TRAFFIC_BYTES;
use super::detection::Finder;
use super::table_3::scale;
use super::trial::fresh;
use crate::figure::{Figure, Results};
use crate::papers::{self, Stated};
use crate::parallel;
use crate::row::Row;
use crate::trace::{Composer, Kind, Mix};

/// Figure 4.
pub const FIGURE: Figure = Figure {
    id: "4",
    title: "Impact of cache flush rate and cache size",
    x: "cache, MB",
    remark: "Redundancy found, in percent of what a cache without bounds finds. The paper's slots as printed are marked when \
             they collide, and flushed after so much traffic; ours are replaced, found by Gear, and never flushed. Chunks have \
             64 bytes in the mean, as the paper's do, so that 2^23 slots are its 512 MB. Slots and flush volume are scaled to \
             the paper's chunks per slot by the factor that each row names; caches that would have fewer than 2^14 slots are \
             left out. Chunks are whole everywhere. The trace is of high overlap, in whole objects. The paper's values stand at \
             the volumes that its text recommends.",
    needs: |_| Vec::new(),
    rows,
};

/// The paper's slot bits, with the megabytes of such a cache.
const CACHES: [(u32, u32); 6] = [(18, 16), (19, 32), (20, 64), (21, 128), (22, 256), (23, 512)];
const LEAST_SLOT_BITS: u32 = 14;
const FLUSHED_AFTER_MEGABYTES: [u64; 5] = [100, 200, 300, 500, 1500];
const CHUNKS: MinChunk = MinChunk::Bytes32;

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let (scale, fresh) = (scale(&results.setting), fresh(&results.setting)?);
    let trace = || Composer::new(fresh.clone(), Mix::High, Kind::Whole, TRAFFIC_BYTES / scale, 2);
    let ideal = Finder::Ideal.count(CHUNKS, trace())?.detected();
    let mut runs = Vec::new();
    for (paper_bits, megabytes) in CACHES {
        let Some(slot_bits) = paper_bits.checked_sub(scale.trailing_zeros()) else { continue };
        if slot_bits < LEAST_SLOT_BITS {
            continue;
        }
        let slot_bits = slot_bits as u8;
        for volume in FLUSHED_AFTER_MEGABYTES {
            let flush_bytes = volume * 1_000_000 / scale;
            let series = format!("as printed: flushed every {volume} MB");
            let finder = Finder::AsPrinted { slot_bits, flush_bytes };
            runs.push((megabytes, series, finder, paper(megabytes, volume)));
        }
        let replaced = Finder::Slots { slot_bits, parts: false };
        runs.push((megabytes, "ours, replaced: never flushed".to_owned(), replaced, None));
    }
    let found = parallel::map(&runs, &ProgressBar::hidden(), |(_, _, finder, _)| {
        Ok(finder.count(CHUNKS, trace())?.detected())
    })?;
    let row = |((megabytes, series, _, paper), found): (&(u32, String, Finder, Option<Stated>), f64)| {
        Row::new(FIGURE.id, series.clone(), *megabytes, "% of ideal")
            .exactly(100.0 * found / ideal)
            .paper(*paper)
            .note(format!("scale 1:{scale}"))
            .note(paper.map_or("", |_| "the paper names no flush volume for this value"))
    };
    Ok(runs.iter().zip(found).map(row).collect())
}

/// The text's best share of a cache; the traffic between flushes is not given. For 512 MB, 500 is its best,
/// and up to 300 works well in general.
fn paper(megabytes: u32, volume: u64) -> Option<Stated> {
    let stated = |id| Some(papers::REFACTOR.value(id).number());
    match (megabytes, volume) {
        (512, 500) => stated("section-5.2/cache-512"),
        (64, 300) => stated("section-5.2/cache-64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_cache_finds_more_in_the_paper() {
        let at = |megabytes, volume| paper(megabytes, volume).map(Stated::get);
        assert!(at(512, 500) > at(64, 300) && at(64, 300).is_some());
        assert_eq!(at(128, 300), None);
    }
}
