//! The settings of section 5.3: where C2 stands, and so at what rate it is sent to and how much it overhears.

use std::sync::LazyLock;

use air::{Bitrate, LossConfig};

use crate::papers;

/// The paper's full packet.
pub const FULL_PACKET_BYTES: usize = 1400;
/// C2's loss rate for packets addressed to it (section 5.3). The bit error rate that the paper prints with it
/// would give 9.4%.
pub static FULL_PACKET_LOSS: LazyLock<f64> =
    LazyLock::new(|| papers::REFACTOR.value("section-5.3/full-loss").number().share().get());

/// A station, as far as its radio goes.
#[derive(Debug, Clone, PartialEq)]
pub struct Radio {
    /// At which rate it is sent to.
    pub rate: Bitrate,
    /// How many packets share a frame's fixed cost.
    pub aggregated_packets: u32,
    /// Losses of packets addressed to it.
    pub loss: LossConfig,
    /// Losses of packets to others; `None` if they are the same process, as in a recording.
    pub overhearing_loss: Option<LossConfig>,
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overhearing {
    /// How much of full packets to C1 C2 overhears, in percent.
    pub percent: u32,
    megabits_per_second: u64,
    aggregated_packets: u32,
}

impl Overhearing {
    /// The paper's five.
    pub const PAPER: [Self; 5] = [
        Self { percent: 90, megabits_per_second: 54, aggregated_packets: 1 },
        Self { percent: 70, megabits_per_second: 36, aggregated_packets: 1 },
        Self { percent: 50, megabits_per_second: 24, aggregated_packets: 1 },
        Self { percent: 30, megabits_per_second: 11, aggregated_packets: 1 },
        Self { percent: 10, megabits_per_second: 1, aggregated_packets: 1 },
    ];
    /// The first and the last of them.
    pub const ENDS: [Self; 2] = [Self::PAPER[0], Self::PAPER[4]];
    /// A sixth: aggregates of 32 packets at 150 Mbit/s, near the access point.
    pub const AGGREGATED: Self = Self { percent: 90, megabits_per_second: 150, aggregated_packets: 32 };

    /// C1, near the access point: it loses nothing and overhears everything; and C2.
    #[must_use]
    pub fn radios(&self) -> [Radio; 2] {
        let near = if self.aggregated_packets > 1 { self.megabits_per_second } else { 54 };
        let overheard = f64::from(self.percent) / 100.0;
        let radio = |megabits_per_second, loss, overhearing_loss| Radio {
            rate: Bitrate::from_megabits_per_second(megabits_per_second),
            aggregated_packets: self.aggregated_packets,
            loss,
            overhearing_loss: Some(overhearing_loss),
        };
        [
            radio(near, LossConfig::None, LossConfig::None),
            radio(self.megabits_per_second, bit_errors(*FULL_PACKET_LOSS), bit_errors(1.0 - overheard)),
        ]
    }

    /// Where it stands on an axis.
    #[must_use]
    pub fn place(&self) -> crate::row::X {
        match self.aggregated_packets {
            1 => f64::from(self.percent).into(),
            _ => "A-MPDU".into(),
        }
    }
}

/// Bit errors that lose this share of full packets; a shorter one is lost less often.
pub fn bit_errors(full_packet_loss: f64) -> LossConfig {
    let bits = (FULL_PACKET_BYTES * 8) as f64;
    LossConfig::BitErrors { rate: -((-full_packet_loss).ln_1p() / bits).exp_m1() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_packets_are_lost_and_overheard_as_often_as_the_paper_says() {
        let rates = [
            "section-5.3/c2-rate/overhearing-90",
            "section-5.3/c2-rate/overhearing-70",
            "section-5.3/c2-rate/overhearing-50",
            "section-5.3/c2-rate/overhearing-30",
            "section-5.3/c2-rate/overhearing-10",
        ];
        let rates = rates.map(|id| papers::REFACTOR.value(id).number().get() as u64);
        for (setting, rate) in Overhearing::PAPER.iter().zip(rates) {
            let [c1, c2] = setting.radios();
            assert_eq!(c1.rate, Bitrate::from_megabits_per_second(54));
            assert_eq!(c2.rate, Bitrate::from_megabits_per_second(rate));
            assert!((c2.loss.mean_loss(FULL_PACKET_BYTES) - 0.085).abs() < 1e-9);
            let overheard = 1.0 - c2.overhearing_loss.clone().unwrap().mean_loss(FULL_PACKET_BYTES);
            assert!((overheard - f64::from(setting.percent) / 100.0).abs() < 1e-9);
            assert!(1.0 - c2.overhearing_loss.unwrap().mean_loss(100) > overheard);
        }
    }

    #[test]
    fn full_packets_are_as_long_as_the_papers() {
        let bytes = papers::REFACTOR.value("section-5.3/full-packet").number().get();
        assert_eq!(bytes, FULL_PACKET_BYTES as f64);
    }

    #[test]
    fn the_bit_error_rate_that_is_printed_loses_more_than_is_printed() {
        let printed =
            LossConfig::BitErrors { rate: papers::REFACTOR.value("section-5.3/ber").number().get() }
                .mean_loss(FULL_PACKET_BYTES);
        assert!((printed - 0.094).abs() < 0.0005, "{printed}");
    }
}
