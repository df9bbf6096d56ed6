//! Figure 4: what coding gains under bursts, by equations 5 to 8, and by simulation.

use anyhow::Result;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::figure_2::{ANALYSIS, SIMULATION};
use crate::figure::{Figure, Results};
use crate::papers::{self, Stated};
use crate::row::Row;

/// Figure 4.
pub const FIGURE: Figure = Figure {
    id: "4",
    title: "Recovery under burst losses, pairs by not coded",
    x: "packets lost in the bad state, %",
    remark: "The share of lost packets that is recovered with coding in pairs, by that without. Analysis: 2 Q (equations 7 \
             and 8). Simulation: windows of 16 packets of one chain, 8 of them kept at random, or all 16 in the paper's \
             pairs.",
    needs: |_| Vec::new(),
    rows,
};

const WINDOW: usize = 16;
const GOOD: f64 = 20.0;
const BAD: [f64; 2] = [4.0, 2.0];
const DISTANCES: [usize; 4] = [1, 2, 4, 8];
const LOSSES: [f64; 6] = [5.0, 20.0, 40.0, 60.0, 80.0, 100.0];

/// The name of a series.
pub(super) fn series(how: &str, bad: f64, distance: usize) -> String {
    format!("N_b = {bad}: l = {distance}, {how}")
}

/// Everything that is compared.
pub(super) fn panels() -> impl Iterator<Item = (f64, usize)> {
    BAD.into_iter().flat_map(|bad| DISTANCES.map(|distance| (bad, distance)))
}

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let losses: u64 = results.setting.plan.choose(1_000_000, 100_000, 300_000);
    let mut rows = Vec::new();
    for (bad, distance) in panels() {
        for percent in LOSSES {
            let p = percent / 100.0;
            let analysis = analysis(1.0 / GOOD, 1.0 / bad, p, distance);
            let row = Row::new(FIGURE.id, series(ANALYSIS, bad, distance), percent, "ratio");
            rows.push(row.exactly(analysis.get()).paper(analysis));
            let row = Row::new(FIGURE.id, series(SIMULATION, bad, distance), percent, "ratio");
            rows.push(row.exactly(simulate(1.0 / GOOD, 1.0 / bad, p, distance, losses)));
        }
    }
    Ok(rows)
}

/// The paper's quotient, with a and b the chances to leave the good and the bad state.
fn analysis(a: f64, b: f64, p: f64, distance: usize) -> Stated {
    let quotient = 2.0 * others_received(a, b, p, distance);
    papers::XBC.value("section-3.d.2/equation-8").formula(quotient)
}

/// Equation 7, with a and b the chances to leave the good and the bad state.
fn others_received(a: f64, b: f64, p: f64, distance: usize) -> f64 {
    let memory = (1.0 - a - b).powi(distance as i32);
    let [to_good, to_bad] = [(b - b * memory) / (a + b), (a + b * memory) / (a + b)];
    to_good + to_bad * (1.0 - p)
}

/// The quotient of the recovered shares, over `losses` lost packets of one chain.
fn simulate(a: f64, b: f64, p: f64, distance: usize, losses: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut is_bad = false;
    let mut order: Vec<usize> = (0..WINDOW).collect();
    let (mut lost_packets, mut raw, mut coded) = (0, 0, 0);
    while lost_packets < losses {
        let lost: [bool; WINDOW] = std::array::from_fn(|_| {
            is_bad = if is_bad { !rng.random_bool(b) } else { rng.random_bool(a) };
            is_bad && rng.random_bool(p)
        });
        lost_packets += lost.iter().filter(|&&lost| lost).count() as u64;
        order.shuffle(&mut rng);
        raw += order[..WINDOW / 2].iter().filter(|&&at| lost[at]).count();
        for block in lost.chunks(distance * 2) {
            let (first, second) = block.split_at(distance);
            coded += first.iter().zip(second).filter(|(one, other)| one != other).count();
        }
    }
    coded as f64 / raw as f64
}

#[cfg(test)]
mod tests {
    use super::super::figure_5::BURSTS;
    use super::*;

    #[test]
    fn without_loss_pairs_recover_twice_as_many() {
        assert_eq!(analysis(0.05, 0.25, 0.0, 1).get(), 2.0);
        assert!(analysis(0.05, 0.25, 1.0, 1).get() < analysis(0.05, 0.25, 1.0, 8).get());
    }

    #[test]
    fn bursts_are_as_long_as_the_papers() {
        let stated = |id| papers::XBC.value(id).number().get();
        assert_eq!(GOOD, stated("figure-4/n-g/a"));
        assert_eq!(BAD, ["figure-4/n-b/a", "figure-4/n-b/b"].map(stated));
        assert_eq!(BURSTS, ["section-5.a/n-b", "section-5.a/n-b-2"].map(stated));
    }
}
