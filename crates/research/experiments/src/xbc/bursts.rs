//! The paper's losses: random ones by bit error rate, and bursts by its model of two states.

use std::fmt;

use air::LossConfig;

/// Bits of the paper's packets: 1040 bytes.
pub(super) const PACKET_BITS: f64 = 1040.0 * 8.0;

/// What the hop loses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Losses {
    /// Each packet with this probability.
    Share(f64),
    /// One bit error in this many Kb, uniformly.
    Random(u32),
    /// One bit error in this many Kb in the bad state, none in the good one.
    Bursts {
        /// Mean length of the good state, in packets.
        good: f64,
        /// Share of the bad state.
        bad: f64,
        /// Kb for one error.
        kilobits: u32,
    },
}

impl Losses {
    /// The share of the paper's packets that is lost, where each is lost with the same probability.
    pub(super) fn share(self) -> Option<f64> {
        match self.on_air(PACKET_BITS) {
            LossConfig::None => Some(0.0),
            LossConfig::Bernoulli { probability } => Some(probability),
            _ => None,
        }
    }

    /// The losses on a link where one of the paper's packets has `bits` bits.
    pub(super) fn on_air(self, bits: f64) -> LossConfig {
        let error_rate = |kilobits: u32| 1.0 / (f64::from(kilobits) * 1024.0);
        match self {
            Self::Share(0.0) => LossConfig::None,
            Self::Share(probability) => LossConfig::Bernoulli { probability },
            Self::Random(kilobits) => {
                LossConfig::Bernoulli { probability: 1.0 - (1.0 - error_rate(kilobits)).powf(PACKET_BITS) }
            }
            Self::Bursts { good, bad, kilobits } => LossConfig::GilbertElliott {
                good_error_rate: 0.0,
                bad_error_rate: error_rate(kilobits) * PACKET_BITS / bits,
                good_to_bad: 1.0 / (good * bits),
                bad_to_good: 1.0 / (bad * bits),
            },
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{}% lost", share * 100.0),
            Self::Random(kilobits) => write!(f, "1 error in {kilobits} Kb"),
            Self::Bursts { good, bad, kilobits } => {
                write!(f, "bursts {good}-{bad}, 1 error in {kilobits} Kb")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers;

    #[test]
    fn packets_are_as_long_as_the_papers() {
        assert_eq!(papers::XBC.value("section-5.a/packet").number().get() * 8.0, PACKET_BITS);
    }

    #[test]
    fn random_losses_are_the_papers() {
        let stated = |id| papers::XBC.value(id).number();
        for (kilobits, share) in [
            ("section-5.a/random-ber-high", "section-5.a/random-loss-high"),
            ("section-5.a/random-ber-low", "section-5.a/random-loss-low"),
        ] {
            let (kilobits, share) = (stated(kilobits).get() as u32, stated(share).share().get());
            let LossConfig::Bernoulli { probability } = Losses::Random(kilobits).on_air(8768.0) else {
                panic!()
            };
            assert!((probability - share).abs() < share * 0.02, "{probability}");
        }
    }

    #[test]
    fn bursts_are_as_long_in_packets_whatever_a_packet_is_on_the_air() {
        for bits in [PACKET_BITS, 8768.0] {
            let loss = Losses::Bursts { good: 20.0, bad: 4.0, kilobits: 1 }.on_air(bits);
            let mean = loss.mean_loss((bits / 8.0) as usize);
            // a sixth of the time is bad, and a packet may touch a bad state in part
            assert!((0.19..0.22).contains(&mean), "{mean}");
        }
    }
}
