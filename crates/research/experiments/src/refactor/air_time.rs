//! Air time of a packet, computed in two ways: as the paper prints it, and by the standard.

use std::fmt;
use std::sync::LazyLock;
use std::time::Duration;

use air::timing::{ETHERNET_TO_MPDU_BYTES, Standard, Timing};
use anyhow::Result;

use super::overhearing::Radio;
use crate::papers;

/// The paper's t_h: a packet's air time beyond its bytes.
pub static HEADER_SECONDS: LazyLock<f64> =
    LazyLock::new(|| papers::REFACTOR.value("section-3.2.2/t-h").number().get() / 1e6);
/// What 802.11 adds to an IP packet: an Ethernet frame's growth, and its header.
const MPDU_OVERHEAD_BYTES: usize = ETHERNET_TO_MPDU_BYTES + 14;
/// In an aggregate each packet follows a delimiter and ends on a multiple of four (IEEE Std 802.11-2012,
/// 8.6).
const DELIMITER_BYTES: usize = 4;
/// The preamble of the mixed format with one spatial stream, and the signal extension (20.3.2, 20.4.4).
const HT_PREAMBLE_SECONDS: f64 = 36e-6 + 6e-6;
/// A compressed block acknowledgement (8.3.1.9).
const BLOCK_ACK_BYTES: usize = 32;

/// Method of computing air time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clock {
    /// The paper's: t_h = 290 µs and t_b = 8 bits by the rate, for every rate.
    Paper,
    /// 802.11g's: DIFS, mean backoff, preamble, payload in whole symbols, SIFS, acknowledgement
    /// ([`air::timing`]).
    Standard,
}

impl Clock {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Paper, Self::Standard];
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paper => "290 µs",
            Self::Standard => "802.11",
        })
    }
}

/// The air time of packets to or from one station.
#[derive(Debug, Clone, Copy)]
pub struct AirTimes {
    clock: Clock,
    bits_per_second: f64,
    /// The 802.11g timing of frames without aggregation.
    timing: Option<Timing>,
    /// How many packets share the fixed cost.
    aggregated: f64,
}

impl AirTimes {
    /// For a radio.
    ///
    /// # Errors
    ///
    /// When the standard does not have its rate.
    pub fn new(clock: Clock, radio: &Radio) -> Result<Self> {
        let single = radio.aggregated_packets <= 1;
        Ok(Self {
            clock,
            bits_per_second: radio.rate.bits_per_second() as f64,
            timing: if single { Some(Timing::new(Standard::G, radio.rate)?) } else { None },
            aggregated: f64::from(radio.aggregated_packets.max(1)),
        })
    }

    /// Try number `retry` (the first is 0) of an IP packet, in seconds.
    pub fn try_seconds(&self, packet_bytes: usize, retry: u8, acknowledged: bool) -> f64 {
        let per_byte = 8.0 / self.bits_per_second;
        match (self.clock, &self.timing) {
            (Clock::Paper, _) => *HEADER_SECONDS / self.aggregated + packet_bytes as f64 * per_byte,
            (Clock::Standard, Some(timing)) => {
                let mpdu_bytes = packet_bytes + MPDU_OVERHEAD_BYTES;
                let time = match acknowledged {
                    true => timing.acknowledged(mpdu_bytes, retry),
                    false => timing.unacknowledged(mpdu_bytes, retry),
                };
                time.as_secs_f64()
            }
            (Clock::Standard, None) => {
                let subframe_bytes =
                    (packet_bytes + MPDU_OVERHEAD_BYTES + DELIMITER_BYTES).next_multiple_of(4);
                aggregate_seconds() / self.aggregated + subframe_bytes as f64 * per_byte
            }
        }
    }

    /// A sender's t_h and t_b: exact under the paper's clock, and under the standard's the values of a first
    /// try and its bytes.
    #[must_use]
    pub fn header(&self) -> Duration {
        let full = 1400;
        let seconds = self.try_seconds(full, 0, true) - full as f64 * self.per_byte_seconds();
        Duration::from_secs_f64(seconds.max(0.0))
    }

    /// See [`header`](Self::header).
    #[must_use]
    pub fn per_byte_seconds(&self) -> f64 {
        8.0 / self.bits_per_second
    }
}

/// The fixed cost of an aggregate that is acknowledged as one, at 24 Mbit/s.
fn aggregate_seconds() -> f64 {
    let basic =
        Timing::new(Standard::G, air::Bitrate::from_megabits_per_second(24)).expect("a rate of 802.11g");
    let shared = basic.difs() + basic.mean_backoff(0) + basic.sifs() + basic.frame(BLOCK_ACK_BYTES);
    HT_PREAMBLE_SECONDS + shared.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refactor::overhearing::Overhearing;

    #[test]
    fn a_full_packet_takes_what_the_paper_and_the_standard_say() {
        let [c1, _] = Overhearing::PAPER[0].radios();
        let paper = AirTimes::new(Clock::Paper, &c1).unwrap();
        assert!((paper.try_seconds(1400, 3, false) - (290e-6 + 1400.0 * 8.0 / 54e6)).abs() < 1e-12);
        assert_eq!(paper.header(), Duration::from_micros(290));
        let standard = AirTimes::new(Clock::Standard, &c1).unwrap();
        // DIFS, backoff, preamble and extension, 54 symbols for 1436 bytes, SIFS, acknowledgement
        let expected = 28.0 + 67.5 + 26.0 + 54.0 * 4.0 + 10.0 + 34.0;
        assert!((standard.try_seconds(1400, 0, true) - expected * 1e-6).abs() < 1e-9);
        assert!(standard.try_seconds(1400, 1, false) > standard.try_seconds(1400, 0, true));
    }

    #[test]
    fn an_aggregate_shares_its_fixed_cost() {
        let [c1, _] = Overhearing::AGGREGATED.radios();
        let standard = AirTimes::new(Clock::Standard, &c1).unwrap();
        let seconds = standard.try_seconds(1400, 0, true);
        assert!((1440.0 * 8.0 / 150e6..100e-6).contains(&seconds), "{seconds}");
    }
}
