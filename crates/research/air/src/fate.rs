//! The air's effect on a frame, by the frame's index.

use std::time::Duration;

use crate::LinkConfig;
use crate::loss::LossProcess;
use crate::variates::{Purpose, Variates};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fate {
    /// Number of transmissions, at least one.
    pub(crate) tries: u8,
    /// Whether no try is received.
    pub(crate) lost: bool,
    /// Time beyond the link's delay, while others pass.
    pub(crate) held_back: Option<Duration>,
    pub(crate) duplicated: bool,
    /// Number of the flipped bit, from the first byte's highest bit.
    pub(crate) flipped_bit: Option<u64>,
}

/// Random decisions of one direction, with one stream for each purpose.
#[derive(Debug, Clone)]
pub(crate) struct Chances {
    seed: u64,
    loss: LossProcess,
    reorder: Variates,
    duplicate: Variates,
    corrupt: Variates,
    position: Variates,
}

impl Chances {
    pub(crate) fn new(config: &LinkConfig, seed: u64) -> Self {
        Self {
            seed,
            loss: LossProcess::new(&config.loss, seed),
            reorder: Variates::new(seed, Purpose::Reorder),
            duplicate: Variates::new(seed, Purpose::Duplicate),
            corrupt: Variates::new(seed, Purpose::Corrupt),
            position: Variates::new(seed, Purpose::Position),
        }
    }

    /// Changes the configuration. An unchanged loss model keeps its state; a new one starts.
    pub(crate) fn set_config(&mut self, config: &LinkConfig) {
        if *self.loss.config() != config.loss {
            self.loss = LossProcess::new(&config.loss, self.seed);
        }
    }

    /// Decides the fate of the frame with `index`, of `bytes` bytes and `bytes_on_air` on the air, whose
    /// transmission starts at `start`.
    ///
    /// A lost frame draws no other variates. That shifts no other frame, because variates are addressed by
    /// index.
    pub(crate) fn decide(
        &mut self,
        config: &LinkConfig,
        (index, start): (u64, Duration),
        retry_limit: u8,
        bytes: usize,
        bytes_on_air: usize,
    ) -> Fate {
        self.loss.advance(start);
        let bits_on_air = (bytes_on_air as u64).saturating_mul(8);
        let received = (0..=retry_limit).find(|&retry| !self.loss.lose(index, retry, bits_on_air));
        let mut fate = Fate {
            tries: received.unwrap_or(retry_limit) + 1,
            lost: received.is_none(),
            held_back: None,
            duplicated: false,
            flipped_bit: None,
        };
        if fate.lost {
            return fate;
        }
        if let Some(reorder) = &config.reorder
            && chance(&mut self.reorder, index, reorder.probability)
        {
            fate.held_back = Some(reorder.extra_delay);
        }
        fate.duplicated = chance(&mut self.duplicate, index, config.duplicate);
        if bytes > 0 && chance(&mut self.corrupt, index, config.corrupt) {
            fate.flipped_bit = Some(self.position.below(index, (bytes as u64).saturating_mul(8)));
        }
        fate
    }
}

fn chance(variates: &mut Variates, index: u64, probability: f64) -> bool {
    probability > 0.0 && variates.at(index) < probability
}
