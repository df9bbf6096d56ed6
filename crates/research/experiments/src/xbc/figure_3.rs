//! Figure 3: recovery under the bit errors of five models, if everything is kept.

use air::LossConfig;
use air::loss::LossProcess;
use anyhow::Result;

use crate::figure::{Figure, Results};
use crate::papers;
use crate::row::Row;

/// Figure 3.
pub const FIGURE: Figure = Figure {
    id: "3",
    title: "Recovery under burst losses of bits, if everything is kept",
    x: "loss model of Table II",
    remark: "The share of blocks of {xbc/section-3.d.1/block} with errors whose partner has none: blocks are coded in pairs, so many apart. \
             Four blocks share a frame, whose header of 8 bytes must be without error too (the paper does not say how long \
             it is). Bits in error by the models of Table II; the paper's values are drawn, not written. It \
             has 4 a little above 8 in all five; in a chain of two states, as here, what is remembered only fades, so that 8 cannot \
             be below 4. Table II has means only. With lengths of clusters and gaps that vary less (all equal, uniform, or normal \
             with a deviation of .3 of the mean) 8 falls below 4 at most of those, by up to .08, where clusters are 1000 bits apart, for the \
             paper's reason: the partner is in the next cluster. In models 3 to 5 the next one is 16 to 48 blocks away, 8 stays \
             above 4 by .01 to .20 in each of these, and what the paper has there does not follow from Table II.",
    needs: |_| Vec::new(),
    rows,
};

const BLOCK_BITS: u64 = 25 * 8;
const HEADER_BITS: u64 = 8 * 8;
const BLOCKS_IN_FRAME: u64 = 4;
/// The distances.
pub(super) const DISTANCES: [usize; 4] = [1, 2, 4, 8];

/// The ids of Table II: mean bits in and between clusters of errors, and how many bits in a cluster are in
/// error.
pub(super) const MODELS: [[&str; 3]; 5] = [
    ["table-2/mean-error-cluster/model-1", "table-2/mean-inter-cluster/model-1", "table-2/e-b/model-1"],
    ["table-2/mean-error-cluster/model-2", "table-2/mean-inter-cluster/model-2", "table-2/e-b/model-2"],
    ["table-2/mean-error-cluster/model-3", "table-2/mean-inter-cluster/model-3", "table-2/e-b/model-3"],
    ["table-2/mean-error-cluster/model-4", "table-2/mean-inter-cluster/model-4", "table-2/e-b/model-4"],
    ["table-2/mean-error-cluster/model-5", "table-2/mean-inter-cluster/model-5", "table-2/e-b/model-5"],
];

/// The name of a series.
pub(super) fn series(distance: usize) -> String {
    format!("l = {distance}")
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let frames = results.setting.plan.choose(400_000, 40_000, 80_000);
    let mut rows = Vec::new();
    for (model, ids) in (1_u32..).zip(MODELS) {
        let [bad, good, error_rate] = ids.map(|id| papers::XBC.value(id).number().get());
        let damaged = damaged(bad, good, error_rate, frames);
        for distance in DISTANCES {
            let row = Row::new(FIGURE.id, series(distance), model, "share");
            rows.push(row.exactly(recovered(&damaged, distance)));
        }
    }
    Ok(rows)
}

/// The damaged blocks among `frames`: those with an error in them or in their frame's header.
fn damaged(bad: f64, good: f64, error_rate: f64, frames: u64) -> Vec<bool> {
    let config = LossConfig::GilbertElliott {
        good_error_rate: 0.0,
        bad_error_rate: error_rate,
        good_to_bad: 1.0 / good,
        bad_to_good: 1.0 / bad,
    };
    let mut process = LossProcess::new(&config, 1);
    let mut damaged = Vec::new();
    for frame in 0..frames {
        let first = frame * (BLOCKS_IN_FRAME + 1);
        let header = process.lose(first, 0, HEADER_BITS);
        damaged
            .extend((1..=BLOCKS_IN_FRAME).map(|block| process.lose(first + block, 0, BLOCK_BITS) | header));
    }
    damaged
}

/// The share of damaged blocks with an undamaged partner: pairs have the coding distance, in the paper's
/// pattern.
fn recovered(damaged: &[bool], distance: usize) -> f64 {
    let (mut lost, mut recovered) = (0_u64, 0_u64);
    for block in damaged.chunks_exact(distance * 2) {
        for (one, other) in block[..distance].iter().zip(&block[distance..]) {
            lost += u64::from(*one) + u64::from(*other);
            recovered += u64::from(one != other);
        }
    }
    recovered as f64 / lost as f64
}
