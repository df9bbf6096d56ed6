//! Loss models of transmissions.
//!
//! | model | a transmission of n bits is lost | mean |
//! |---|---|---|
//! | Bernoulli(p) | with probability p | p |
//! | Simple-Gilbert(p, r) | if the chain is in its bad state | p / (p + r), in bursts of 1 / r |
//! | Gilbert-Elliott(e_g, e_b, p, r), on bits | if any bit is in error, the chain moving on before each bit | 1 − π Cⁿ 1, C = P diag(1 − e) |
//! | bit errors(e) | if any bit is in error | 1 − (1 − e)ⁿ |
//! | trace | if the recording says so | the recording's |
//! | timed Gilbert(g, b) | if the chain is in its bad state at that time | b / (g + b), in bursts of b |
//!
//! Simple-Gilbert: G. Haßlinger and O. Hohlfeld, "The Gilbert–Elliott model for packet loss in real time
//! services on the Internet", MMB 2008. Gilbert-Elliott on bits: J.-P. Ebert and A. Willig, "A
//! Gilbert-Elliott bit error model and the efficient use in packet level simulation", TKN report, 1999. As in
//! that report, bits are not simulated: the outcome and the following state are drawn exactly from their
//! joint distribution.
//!
//! A chain starts in its stationary distribution, so the first transmissions are like all others. It advances
//! only with transmissions, so a bad state does not pass in idle time. The chain of timed Gilbert advances
//! only with time: its states have exponentially distributed durations (E. N. Gilbert, "Capacity of a
//! burst-noise channel", Bell System Technical Journal, 1960, in continuous time). Its bad states are at the
//! same times whatever is sent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ConfigError;
use crate::config::{probability, time};
use crate::milliseconds;
use crate::receptions::Receptions;
use crate::variates::{Purpose, Variates};

/// The loss model of transmissions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LossConfig {
    /// None.
    #[default]
    None,
    /// Independent losses with one probability.
    Bernoulli {
        /// Probability of a loss.
        probability: f64,
    },
    /// Two states, entered before each transmission: nothing is lost in the good one, everything in the bad.
    SimpleGilbert {
        /// Probability that a transmission follows a good one in the bad state.
        good_to_bad: f64,
        /// Probability that a transmission follows a bad one in the good state; the mean burst is its
        /// inverse.
        bad_to_good: f64,
    },
    /// Two states, entered before each bit, with a bit error rate each; a transmission is lost if any of its
    /// bits is in error.
    GilbertElliott {
        /// Bit error rate in the good state.
        good_error_rate: f64,
        /// Bit error rate in the bad state.
        bad_error_rate: f64,
        /// Probability that a bit follows one in the good state in the bad state.
        good_to_bad: f64,
        /// Probability that a bit follows one in the bad state in the good state.
        bad_to_good: f64,
    },
    /// Independent bit errors; a transmission is lost if any of its bits is in error.
    BitErrors {
        /// Probability that a bit is in error.
        rate: f64,
    },
    /// A recording, one reception for each transmission, repeated at its end.
    Trace {
        /// `1` for received, `0` for lost.
        receptions: Receptions,
    },
    /// Two states that alternate in time, with exponentially distributed durations. Nothing is lost in the
    /// good one, everything in the bad.
    TimedGilbert {
        /// Mean duration of the good state; `good_ms` in files, above 0 and at most a day.
        #[serde(rename = "good_ms", with = "milliseconds")]
        good: Duration,
        /// Mean duration of the bad state; `bad_ms` in files, above 0 and at most a day.
        #[serde(rename = "bad_ms", with = "milliseconds")]
        bad: Duration,
    },
}

/// The losses of one radio path, in the order of its transmissions.
#[derive(Debug, Clone)]
pub struct LossProcess {
    config: LossConfig,
    /// The current state of a two-state model.
    bad: bool,
    /// The end of the current state of a timed model, and its number.
    until: Duration,
    period: u64,
    /// Number of transmissions decided by a recording.
    transmissions: u64,
    /// The two matrix powers of Gilbert-Elliott, for one length.
    powers: Option<Powers>,
    first: Variates,
    retry: Variates,
    state: Variates,
    retry_state: Variates,
}

/// A matrix over (good, bad): from row to column.
type Matrix = [[f64; 2]; 2];

#[derive(Debug, Clone, Copy)]
struct Powers {
    bits: u64,
    /// Probability of ending in the column's state.
    ended: Matrix,
    /// The same without a bit error.
    clean: Matrix,
}

/// Number of tries of one frame with variates of their own.
const TRIES: u64 = 16;
/// A timed model that moves over more mean cycles at once draws its state anew, as if for the first time.
const MOST_CYCLES: u32 = 100_000;

impl LossProcess {
    /// The losses of `config` under `seed`; equal arguments give equal losses.
    pub fn new(config: &LossConfig, seed: u64) -> Self {
        let bad = match *config {
            LossConfig::SimpleGilbert { good_to_bad, bad_to_good }
            | LossConfig::GilbertElliott { good_to_bad, bad_to_good, .. } => {
                Variates::new(seed, Purpose::Beginning).at(0) < stationary_bad(good_to_bad, bad_to_good)
            }
            LossConfig::TimedGilbert { good, bad } => {
                Variates::new(seed, Purpose::Beginning).at(0) < share_of(bad, good)
            }
            _ => false,
        };
        let mut process = Self {
            config: config.clone(),
            bad,
            until: Duration::ZERO,
            period: 0,
            transmissions: 0,
            powers: None,
            first: Variates::new(seed, Purpose::Loss),
            retry: Variates::new(seed, Purpose::Retry),
            state: Variates::new(seed, Purpose::State),
            retry_state: Variates::new(seed, Purpose::RetryState),
        };
        process.begin_period(Duration::ZERO);
        process
    }

    /// Moves a timed model on to `now`, since the origin of time; others are not affected. Time never goes
    /// back: an earlier `now` changes nothing.
    pub fn advance(&mut self, now: Duration) {
        let LossConfig::TimedGilbert { good, bad } = self.config else { return };
        let far = good.saturating_add(bad).saturating_mul(MOST_CYCLES);
        if now.saturating_sub(self.until) > far {
            // A state of so long ago tells nothing about now.
            self.bad = self.state.at(self.period) < share_of(bad, good);
            self.period += 1;
            self.begin_period(now);
        }
        while self.until <= now {
            self.bad = !self.bad;
            self.begin_period(self.until);
        }
    }

    /// Draws the duration of a timed model's state that begins at `time`.
    fn begin_period(&mut self, time: Duration) {
        let LossConfig::TimedGilbert { good, bad } = self.config else { return };
        let mean = if self.bad { bad } else { good };
        // At least a nanosecond, so that time goes on.
        let duration = mean.mul_f64(-(-self.state.at(self.period)).ln_1p()).max(Duration::from_nanos(1));
        self.until = time.saturating_add(duration);
        self.period += 1;
    }

    /// The loss model.
    pub fn config(&self) -> &LossConfig {
        &self.config
    }

    /// Whether the next transmission is lost: try `retry` (from 0) of the frame with `index`, of `bits` bits
    /// on the air. The result depends on the seed, the index, the retry, for some models the length, and the
    /// state after earlier transmissions. A timed model is in the state of the last [`LossProcess::advance`].
    pub fn lose(&mut self, index: u64, retry: u8, bits: u64) -> bool {
        match self.config {
            LossConfig::None => false,
            LossConfig::Bernoulli { probability } => self.variate(index, retry) < probability,
            LossConfig::BitErrors { rate } => self.variate(index, retry) < any_error(rate, bits),
            LossConfig::SimpleGilbert { good_to_bad, bad_to_good } => {
                let variate = self.variate(index, retry);
                // The complement keeps the coupling monotone: a low variate always leads to the bad state.
                self.bad = variate < if self.bad { 1.0 - bad_to_good } else { good_to_bad };
                self.bad
            }
            LossConfig::GilbertElliott { .. } => self.lose_by_bits(index, retry, bits),
            LossConfig::Trace { ref receptions } => {
                let received = receptions.received(self.transmissions);
                self.transmissions += 1;
                !received
            }
            LossConfig::TimedGilbert { .. } => self.bad,
        }
    }

    fn lose_by_bits(&mut self, index: u64, retry: u8, bits: u64) -> bool {
        let powers = match self.powers {
            Some(powers) if powers.bits == bits => powers,
            _ => *self.powers.insert(Powers::of(&self.config, bits)),
        };
        let (ended, clean) = (powers.ended[usize::from(self.bad)], powers.clean[usize::from(self.bad)]);
        let intact = (clean[0] + clean[1]).min(1.0);
        let lost = self.variate(index, retry) < 1.0 - intact;
        let ends_bad = if lost { (ended[1] - clean[1]).max(0.0) / (1.0 - intact) } else { clean[1] / intact };
        self.bad = self.state_variate(index, retry) < ends_bad;
        lost
    }

    fn variate(&mut self, index: u64, retry: u8) -> f64 {
        match retry {
            0 => self.first.at(index),
            _ => self.retry.at(retry_index(index, retry)),
        }
    }

    fn state_variate(&mut self, index: u64, retry: u8) -> f64 {
        match retry {
            0 => self.state.at(index),
            _ => self.retry_state.at(retry_index(index, retry)),
        }
    }
}

fn retry_index(index: u64, retry: u8) -> u64 {
    index.wrapping_mul(TRIES).wrapping_add(u64::from(retry) % TRIES)
}

impl Powers {
    fn of(config: &LossConfig, bits: u64) -> Self {
        let LossConfig::GilbertElliott { good_error_rate, bad_error_rate, good_to_bad, bad_to_good } =
            *config
        else {
            return Self { bits, ended: IDENTITY, clean: IDENTITY };
        };
        let step = [[1.0 - good_to_bad, good_to_bad], [bad_to_good, 1.0 - bad_to_good]];
        let intact = [1.0 - good_error_rate, 1.0 - bad_error_rate];
        let clean_step = step.map(|row| [row[0] * intact[0], row[1] * intact[1]]);
        Self { bits, ended: power(step, bits), clean: power(clean_step, bits) }
    }
}

const IDENTITY: Matrix = [[1.0, 0.0], [0.0, 1.0]];

fn power(mut base: Matrix, mut exponent: u64) -> Matrix {
    let mut result = IDENTITY;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(&result, &base);
        }
        base = product(&base, &base);
        exponent >>= 1;
    }
    result
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    a.map(|row| [0, 1].map(|column| row[0] * b[0][column] + row[1] * b[1][column]))
}

/// The long-run share of the bad state; 0 for a chain that never moves.
fn stationary_bad(good_to_bad: f64, bad_to_good: f64) -> f64 {
    if good_to_bad == 0.0 { 0.0 } else { good_to_bad / (good_to_bad + bad_to_good) }
}

/// The share of one mean duration in the sum of both, which is above 0.
fn share_of(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / (one.as_secs_f64() + other.as_secs_f64())
}

/// 1 − (1 − rate)^bits, computed accurately for small rates.
fn any_error(rate: f64, bits: u64) -> f64 {
    -(bits as f64 * (-rate).ln_1p()).exp_m1()
}

impl LossConfig {
    /// Checks the model.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match *self {
            Self::None | Self::Trace { .. } => Ok(()),
            Self::Bernoulli { probability: p } => probability("loss.bernoulli.probability", p),
            Self::BitErrors { rate } => probability("loss.bit_errors.rate", rate),
            Self::SimpleGilbert { good_to_bad, bad_to_good } => {
                probability("loss.simple_gilbert.good_to_bad", good_to_bad)?;
                probability("loss.simple_gilbert.bad_to_good", bad_to_good)
            }
            Self::GilbertElliott { good_error_rate, bad_error_rate, good_to_bad, bad_to_good } => {
                probability("loss.gilbert_elliott.good_error_rate", good_error_rate)?;
                probability("loss.gilbert_elliott.bad_error_rate", bad_error_rate)?;
                probability("loss.gilbert_elliott.good_to_bad", good_to_bad)?;
                probability("loss.gilbert_elliott.bad_to_good", bad_to_good)
            }
            Self::TimedGilbert { good, bad } => {
                for (key, mean) in [("loss.timed_gilbert.good_ms", good), ("loss.timed_gilbert.bad_ms", bad)]
                {
                    time(key, mean)?;
                    if mean.is_zero() {
                        return Err(ConfigError::Zero { key });
                    }
                }
                Ok(())
            }
        }
    }

    /// The long-run loss rate of transmissions of `bytes`.
    pub fn mean_loss(&self, bytes: usize) -> f64 {
        let bits = bytes as u64 * 8;
        match *self {
            Self::None => 0.0,
            Self::Bernoulli { probability } => probability,
            Self::SimpleGilbert { good_to_bad, bad_to_good } => stationary_bad(good_to_bad, bad_to_good),
            Self::GilbertElliott { good_to_bad, bad_to_good, .. } => {
                let clean = Powers::of(self, bits).clean;
                let bad = stationary_bad(good_to_bad, bad_to_good);
                1.0 - (1.0 - bad) * (clean[0][0] + clean[0][1]) - bad * (clean[1][0] + clean[1][1])
            }
            Self::BitErrors { rate } => any_error(rate, bits),
            Self::Trace { ref receptions } => 1.0 - receptions.delivery(),
            Self::TimedGilbert { good, bad } => share_of(bad, good),
        }
    }
}
