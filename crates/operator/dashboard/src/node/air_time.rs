//! Estimated air time of the offered packets and of the datagrams sent in their place.
//!
//! It is computed and not measured: an 802.11g radio alone on its channel sends frames of the mean size at
//! one rate, without retries ([`radio::timing`]). The node does not know its radio. On all radios a frame has
//! a large fixed cost, so bytes alone understate the savings, and packing would seem useless.

use radio::Bitrate;
use radio::timing::{ETHERNET_TO_MPDU_BYTES, Standard, Timing};
use std::time::Duration;

/// Bytes of an Ethernet header, which the radio converts to its own.
const ETHERNET_BYTES: usize = 14;

/// A radio.
#[derive(Debug, Clone, Copy)]
pub struct AirTime {
    timing: Timing,
    rate: Bitrate,
}

impl AirTime {
    /// An 802.11g radio at the standard's highest rate up to `bits_per_second`, or its lowest rate.
    #[must_use]
    pub fn at(bits_per_second: f64) -> Self {
        const MEGABITS: [f64; 12] = [1.0, 2.0, 5.5, 6.0, 9.0, 11.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0];
        let below =
            MEGABITS.iter().rev().find(|rate| **rate * 1e6 <= bits_per_second).unwrap_or(&MEGABITS[0]);
        let rate = Bitrate::from_bits_per_second((below * 1e6) as u64);
        let timing = Timing::new(Standard::G, rate).expect("802.11g has each of these rates");
        AirTime { timing, rate }
    }

    /// The rate of the computation.
    #[must_use]
    pub fn rate(&self) -> Bitrate {
        self.rate
    }

    /// Air time of this many packets with this many bytes in total, with acknowledgments.
    #[must_use]
    pub fn of(&self, packets: u64, bytes: u64) -> Duration {
        let Some(mean) = bytes.checked_div(packets) else { return Duration::ZERO };
        let mpdu_bytes = mean as usize + ETHERNET_BYTES + ETHERNET_TO_MPDU_BYTES;
        self.timing.acknowledged(mpdu_bytes, 0).mul_f64(packets as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_in_one_frame_are_on_the_air_for_less_than_two_frames() {
        let radio = AirTime::at(24e6);
        let (apart, together) = (radio.of(2, 1400), radio.of(1, 1400));
        assert!(together < apart.mul_f64(0.9), "{together:?} {apart:?}");
        assert_eq!(radio.of(0, 0), Duration::ZERO);
    }

    #[test]
    fn the_rate_is_one_that_the_standard_has() {
        let rate = |bits| AirTime::at(bits).rate().to_string();
        assert_eq!(
            [rate(24e6), rate(30e6), rate(0.0), rate(1e12)].join(" "),
            "24Mbit/s 24Mbit/s 1Mbit/s 54Mbit/s"
        );
    }
}
