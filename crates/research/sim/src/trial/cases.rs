//! Trials as points of a figure.

use super::{Outcome, Trial, TrialError};
use air::{LossConfig, ReorderConfig};
use published::policy;
use serde::Serialize;
use std::time::Duration;

/// A trial as a point of a series.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its series: the method, and if necessary the conditions.
    pub series: String,
    /// Its position on the horizontal axis.
    pub x: f64,
    /// The trial.
    pub trial: Trial,
}

/// Result of one case with one seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Its series.
    pub series: String,
    /// Its position on the horizontal axis.
    pub x: f64,
    /// The seed. Cases with equal seeds are compared in pairs.
    pub seed: u64,
    /// The outcome.
    pub outcome: Outcome,
}

impl Case {
    /// Runs the case.
    pub fn run(&self, seed: u64) -> Result<Measured, TrialError> {
        let outcome = self.trial.run(seed)?;
        Ok(Measured { series: self.series.clone(), x: self.x, seed, outcome })
    }
}

/// The base under every policy, and bare.
fn methods(base: &Trial) -> Vec<Trial> {
    let tunnels = policy::ALL.into_iter().map(|policy| base.with_policy(policy));
    [base.bare()].into_iter().chain(tunnels).collect()
}

/// Perceived against actual loss (Figure 13) and bytes sent (Figure 10), for all policies and `bare`:
/// independent losses in both directions, at each of these shares.
#[must_use]
pub fn over_losses(base: &Trial, losses: &[f64]) -> Vec<Case> {
    let case = |trial: &Trial, &probability: &f64| Case {
        series: trial.method(),
        x: probability,
        trial: trial.with_loss(&LossConfig::Bernoulli { probability }),
    };
    methods(base).iter().flat_map(|trial| losses.iter().map(move |loss| case(trial, loss))).collect()
}

/// k-distance over k (Figure 12) at each of these losses. With k = 1 nothing is ever removed.
#[must_use]
pub fn over_distances(base: &Trial, distances: &[u32], losses: &[f64]) -> Vec<Case> {
    let case = |&probability: &f64, &k: &u32| Case {
        series: format!("k-distance at {probability} loss"),
        x: f64::from(k),
        trial: base.with_policy(policy::k_distance(k)).with_loss(&LossConfig::Bernoulli { probability }),
    };
    losses.iter().flat_map(|loss| distances.iter().map(move |k| case(loss, k))).collect()
}

/// An impairment of the air besides independent losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Frames are held back while others pass.
    Reordering,
    /// Frames arrive twice.
    Duplication,
    /// Bits are flipped.
    Corruption,
    /// Losses come in bursts of five frames (Simple Gilbert).
    Bursts,
    /// Bit errors come in bursts of 50,000 bits (Gilbert-Elliott).
    BitErrorBursts,
}

impl Condition {
    /// All of them.
    pub const ALL: [Condition; 5] = [
        Condition::Reordering,
        Condition::Duplication,
        Condition::Corruption,
        Condition::Bursts,
        Condition::BitErrorBursts,
    ];

    /// Its name in figures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Condition::Reordering => "reordering",
            Condition::Duplication => "duplication",
            Condition::Corruption => "corruption",
            Condition::Bursts => "bursts",
            Condition::BitErrorBursts => "gilbert-elliott",
        }
    }

    /// The trial with this impairment in both directions, for about `share` of the frames.
    #[must_use]
    pub fn upon(self, trial: &Trial, share: f64) -> Trial {
        /// Time that a frame is held back.
        const HELD_BACK: Duration = Duration::from_millis(15);
        /// Frames in a burst.
        const BURST_FRAMES: f64 = 5.0;
        /// Bits of a burst of errors.
        const BURST_BITS: f64 = 50_000.0;
        /// Nearly every full frame within such a burst is lost.
        const BURST_ERROR_RATE: f64 = 1e-3;
        let mut changed = trial.clone();
        for link in [&mut changed.down, &mut changed.up] {
            match self {
                Condition::Reordering => {
                    link.reorder = Some(ReorderConfig { probability: share, extra_delay: HELD_BACK });
                }
                Condition::Duplication => link.duplicate = share,
                Condition::Corruption => link.corrupt = share,
                Condition::Bursts => {
                    // the share of time in the bad state is good_to_bad / (good_to_bad + bad_to_good)
                    let bad_to_good = 1.0 / BURST_FRAMES;
                    let good_to_bad = (share / (1.0 - share) * bad_to_good).clamp(0.0, 1.0);
                    link.loss = LossConfig::SimpleGilbert { good_to_bad, bad_to_good };
                }
                Condition::BitErrorBursts => {
                    let bad_to_good = 1.0 / BURST_BITS;
                    let good_to_bad = (share / (1.0 - share) * bad_to_good).clamp(0.0, 1.0);
                    link.loss = LossConfig::GilbertElliott {
                        good_error_rate: 0.0,
                        bad_error_rate: BURST_ERROR_RATE,
                        good_to_bad,
                        bad_to_good,
                    };
                }
            }
        }
        changed
    }
}

/// Impairments that the paper names without a plot: every policy and `bare` under each one, at each of these
/// shares. A series is called `acked, reordering`.
#[must_use]
pub fn over_conditions(base: &Trial, conditions: &[Condition], shares: &[f64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for condition in conditions {
        for trial in methods(base) {
            cases.extend(shares.iter().map(|&share| Case {
                series: format!("{}, {}", trial.method(), condition.name()),
                x: share,
                trial: condition.upon(&trial, share),
            }));
        }
    }
    cases
}
