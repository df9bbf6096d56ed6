//! Figure 2: what coding gains under random losses, by equations 1 and 2, and by simulation.

use anyhow::Result;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::figure::{Figure, Results};
use crate::papers::{self, Stated};
use crate::row::Row;

/// Figure 2.
pub const FIGURE: Figure = Figure {
    id: "2",
    title: "Recovery under random losses, coded by not coded",
    x: "packets lost, %",
    remark: "The share of lost packets that is recovered with coding, by that without. Analysis: {xbc/section-3.c/ratio}. \
             Simulation: a window of 12 packets, 3 of them kept, or 3 d of them in groups of d, all chosen at random.",
    needs: |_| Vec::new(),
    rows,
};

const WINDOW: usize = 12;
const KEPT: usize = 3;
const DEGREES: [usize; 3] = [2, 3, 4];
const LOSSES: [f64; 9] = [1.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0];

/// The name of a series.
pub(super) fn series(how: &str, degree: usize) -> String {
    format!("d = {degree}: {how}")
}

/// What series are called.
pub(super) const ANALYSIS: &str = "analysis";
/// What series are called.
pub(super) const SIMULATION: &str = "simulation";

fn rows(results: &Results<'_>) -> Result<Vec<Row>> {
    let losses: u64 = results.setting.plan.choose(1_000_000, 100_000, 300_000);
    let mut rows = Vec::new();
    for degree in DEGREES {
        for percent in LOSSES {
            let p = percent / 100.0;
            let analysis = analysis(p, degree);
            let row = Row::new(FIGURE.id, series(ANALYSIS, degree), percent, "ratio");
            rows.push(row.exactly(analysis.get()).paper(analysis));
            let row = Row::new(FIGURE.id, series(SIMULATION, degree), percent, "ratio");
            rows.push(row.exactly(simulate(p, degree, losses)));
        }
    }
    Ok(rows)
}

/// The paper's quotient.
fn analysis(p: f64, degree: usize) -> Stated {
    let quotient = degree as f64 * (1.0 - p).powi(degree as i32 - 1);
    papers::XBC.value("section-3.c/ratio").formula(quotient)
}

/// The quotient of the recovered shares, over `losses` lost packets.
fn simulate(p: f64, degree: usize, losses: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut order: Vec<usize> = (0..WINDOW).collect();
    let (mut lost_packets, mut raw, mut coded) = (0, 0, 0);
    while lost_packets < losses {
        let lost: [bool; WINDOW] = std::array::from_fn(|_| rng.random_bool(p));
        lost_packets += lost.iter().filter(|&&lost| lost).count() as u64;
        order.shuffle(&mut rng);
        raw += order[..KEPT].iter().filter(|&&at| lost[at]).count();
        let groups = order[..KEPT * degree].chunks(degree);
        coded += groups.filter(|group| group.iter().filter(|&&at| lost[at]).count() == 1).count();
    }
    coded as f64 / raw as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_loss_coding_recovers_as_many_times_as_many_as_its_degree() {
        assert_eq!(DEGREES.map(|degree| analysis(0.0, degree).get()), [2.0, 3.0, 4.0]);
        assert_eq!(analysis(0.5, 2).get(), 1.0);
    }
}
