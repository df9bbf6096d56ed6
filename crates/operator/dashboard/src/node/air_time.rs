//! How long a radio would have been on the air: what was offered, packet by packet, and what was sent in its
//! place.
//!
//! Reckoned and not measured: as an 802.11g radio alone on its channel sends frames of the mean size at one
//! rate, the first try of each ([`radio::timing`]). The node does not know its radio; what it knows is that
//! on all of them a frame costs much before its first byte, so that bytes alone tell too little of what is
//! saved, and packing looks idle.

use radio::Bitrate;
use radio::timing::{ETHERNET_TO_MPDU_BYTES, Standard, Timing};
use std::time::Duration;

/// Bytes of an Ethernet header, which stands around a packet before the radio makes its own of it.
const ETHERNET_BYTES: usize = 14;

/// A radio.
#[derive(Debug, Clone, Copy)]
pub struct AirTime {
    timing: Timing,
    rate: Bitrate,
}

impl AirTime {
    /// An 802.11g radio at the rate of that standard which is next below `bits_per_second`, or its lowest.
    #[must_use]
    pub fn at(bits_per_second: f64) -> Self {
        const MEGABITS: [f64; 12] = [1.0, 2.0, 5.5, 6.0, 9.0, 11.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0];
        let below =
            MEGABITS.iter().rev().find(|rate| **rate * 1e6 <= bits_per_second).unwrap_or(&MEGABITS[0]);
        let rate = Bitrate::from_bits_per_second((below * 1e6) as u64);
        let timing = Timing::new(Standard::G, rate).expect("802.11g has each of these rates");
        AirTime { timing, rate }
    }

    /// The rate that is reckoned with.
    #[must_use]
    pub fn rate(&self) -> Bitrate {
        self.rate
    }

    /// How long so many packets with so many bytes in all are on the air, with their acknowledgments.
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
