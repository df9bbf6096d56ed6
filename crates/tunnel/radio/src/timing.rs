//! Air time of a frame in 802.11, by the constants of IEEE Std 802.11-2012.
//!
//! An acknowledged frame takes, under the distributed coordination function (9.3):
//!
//! ```text
//!  DIFS   backoff     data frame               SIFS   ACK
//! |------|~~~~~~~~~~~|preamble|  MPDU         |------|preamble|14 B|
//! ```
//!
//! An unacknowledged one takes the acknowledgement's timeout in place of SIFS and ACK (9.3.2.8).
//!
//! | | b (HR/DSSS, clause 17) | a (OFDM, clause 18) | g (ERP, clause 19) |
//! |---|---|---|---|
//! | aSlotTime | 20 µs | 9 µs | 9 µs (short) |
//! | aSIFSTime | 10 µs | 16 µs | 10 µs |
//! | DIFS = SIFS + 2 slots | 50 µs | 34 µs | 28 µs |
//! | aCWmin, aCWmax | 31, 1023 | 15, 1023 | 15, 1023 |
//! | preamble and header | 192 µs (long) | 20 µs | 20 µs; at 1, 2, 5.5, 11 Mbit/s as b |
//! | signal extension | – | – | 6 µs at OFDM rates |
//! | aPHY-RX-START-Delay | 192 µs | 25 µs | 24 µs; at 1, 2, 5.5, 11 Mbit/s as b |
//! | rates, Mbit/s | 1 2 5.5 11 | 6 9 12 18 24 36 48 54 | both rows |
//! | basic rates (of ACKs) | 1 2 | 6 12 24 | both rows |
//!
//! At OFDM rates, 16 service bits precede the MPDU, 6 tail bits follow it, and it is padded to whole symbols
//! of 4 µs. At DSSS and CCK rates its duration is rounded up to a microsecond. An acknowledgement (14 bytes)
//! uses the highest basic rate of the same kind up to the data's rate (9.7.6).
//!
//! The backoff is its mean: half of the contention window, which doubles with each retry. The radio is alone
//! on the channel, so there are no collisions.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Bitrate;

/// The amendment that a radio follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standard {
    /// 802.11b, long preambles.
    B,
    /// 802.11a.
    A,
    /// 802.11g in a network without older stations: short slots, no protection.
    G,
}

/// A rate that the standard does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rate is {rate}, which 802.11{letter} does not have: {rates}", letter = letter(*standard), rates = list(*standard))]
pub struct UnknownRate {
    /// The standard.
    pub standard: Standard,
    /// The rate.
    pub rate: Bitrate,
}

/// The bytes of an acknowledgement (8.3.1.4).
const ACK_BYTES: usize = 14;

/// Growth of an Ethernet frame in 802.11. Its 14-byte header becomes one of 24 bytes (8.2.3), 8 bytes of LLC
/// and SNAP with the type, and 4 bytes of FCS.
pub const ETHERNET_TO_MPDU_BYTES: usize = 24 + 8 + 4 - 14;

/// Rates in kbit/s, because one is 5.5 Mbit/s.
const DSSS_RATES: [u64; 4] = [1_000, 2_000, 5_500, 11_000];
const OFDM_RATES: [u64; 8] = [6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
const DSSS_BASIC_RATES: [u64; 2] = [1_000, 2_000];
const OFDM_BASIC_RATES: [u64; 3] = [6_000, 12_000, 24_000];

/// The air time of one radio's frames at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    standard: Standard,
    kilobits_per_second: u64,
    ack_kilobits_per_second: u64,
    ofdm: bool,
}

impl Timing {
    /// The times of `standard` at `rate`.
    pub fn new(standard: Standard, rate: Bitrate) -> Result<Self, UnknownRate> {
        let unknown = UnknownRate { standard, rate };
        let bits = rate.bits_per_second();
        let kilobits_per_second = bits / 1_000;
        if !bits.is_multiple_of(1_000) || !rates(standard).any(|known| known == kilobits_per_second) {
            return Err(unknown);
        }
        let ofdm = OFDM_RATES.contains(&kilobits_per_second);
        let basic: &[u64] = if ofdm { &OFDM_BASIC_RATES } else { &DSSS_BASIC_RATES };
        let ack = basic.iter().rev().find(|&&basic| basic <= kilobits_per_second).ok_or(unknown)?;
        Ok(Self { standard, kilobits_per_second, ack_kilobits_per_second: *ack, ofdm })
    }

    /// Air time of a data frame of `mpdu_bytes` (with MAC header and FCS), from preamble to last symbol.
    pub fn frame(&self, mpdu_bytes: usize) -> Duration {
        self.ppdu(mpdu_bytes, self.kilobits_per_second)
    }

    /// Air time of an acknowledgement, from preamble to last symbol.
    pub fn acknowledgement(&self) -> Duration {
        self.ppdu(ACK_BYTES, self.ack_kilobits_per_second)
    }

    /// The idle time of the channel before a backoff.
    pub fn difs(&self) -> Duration {
        self.sifs() + 2 * self.slot()
    }

    /// The time between a frame and its acknowledgement.
    pub fn sifs(&self) -> Duration {
        Duration::from_micros(if self.standard == Standard::A { 16 } else { 10 })
    }

    /// The unit of the backoff.
    pub fn slot(&self) -> Duration {
        Duration::from_micros(if self.standard == Standard::B { 20 } else { 9 })
    }

    /// The mean backoff before try number `retry` of a frame, from 0: half of the contention window
    /// min((CWmin + 1) 2^retry − 1, CWmax).
    pub fn mean_backoff(&self, retry: u8) -> Duration {
        self.slot() * self.window(retry) / 2
    }

    /// The contention window before try number `retry`, in slots: the largest backoff.
    pub fn window(&self, retry: u8) -> u32 {
        let minimum: u32 = if self.standard == Standard::B { 31 } else { 15 };
        (((minimum + 1) << u32::from(retry.min(6))) - 1).min(1023)
    }

    /// aPHY-RX-START-Delay: the time to detect a reception.
    pub fn reception_start(&self) -> Duration {
        Duration::from_micros(match (self.ofdm, self.standard) {
            (false, _) => 192,
            (true, Standard::A) => 25,
            (true, _) => 24,
        })
    }

    /// Duration of an acknowledged try, from the idle channel to the acknowledgement's end.
    pub fn acknowledged(&self, mpdu_bytes: usize, retry: u8) -> Duration {
        self.broadcast_after(mpdu_bytes, retry) + self.sifs() + self.acknowledgement()
    }

    /// Duration of an unacknowledged try, from the idle channel to the acknowledgement's timeout: SIFS, a
    /// slot and aPHY-RX-START-Delay after the frame.
    pub fn unacknowledged(&self, mpdu_bytes: usize, retry: u8) -> Duration {
        self.broadcast_after(mpdu_bytes, retry) + self.sifs() + self.slot() + self.reception_start()
    }

    /// Duration of a broadcast frame, which has no acknowledgement.
    pub fn broadcast(&self, mpdu_bytes: usize) -> Duration {
        self.broadcast_after(mpdu_bytes, 0)
    }

    fn broadcast_after(&self, mpdu_bytes: usize, retry: u8) -> Duration {
        self.difs() + self.mean_backoff(retry) + self.frame(mpdu_bytes)
    }

    /// Air time of a physical frame of either kind.
    fn ppdu(&self, mpdu_bytes: usize, kilobits_per_second: u64) -> Duration {
        let bits = (mpdu_bytes as u64).saturating_mul(8);
        let microseconds = if self.ofdm {
            let bits_per_symbol = kilobits_per_second * 4 / 1_000;
            let symbols = bits.saturating_add(16 + 6).div_ceil(bits_per_symbol);
            let extension = if self.standard == Standard::G { 6 } else { 0 };
            symbols.saturating_mul(4).saturating_add(20 + extension)
        } else {
            // The long preamble and the header at 1 Mbit/s: 144 and 48 bits.
            bits.saturating_mul(1_000).div_ceil(kilobits_per_second).saturating_add(144 + 48)
        };
        Duration::from_micros(microseconds)
    }
}

/// Rates in kbit/s.
fn rates(standard: Standard) -> impl Iterator<Item = u64> {
    let dsss = (standard != Standard::A).then_some(DSSS_RATES);
    let ofdm = (standard != Standard::B).then_some(OFDM_RATES);
    dsss.into_iter().flatten().chain(ofdm.into_iter().flatten())
}

fn letter(standard: Standard) -> char {
    match standard {
        Standard::B => 'b',
        Standard::A => 'a',
        Standard::G => 'g',
    }
}

fn list(standard: Standard) -> String {
    let rates: Vec<String> = rates(standard).map(|rate| (rate as f64 / 1_000.0).to_string()).collect();
    format!("it has {} Mbit/s", rates.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(standard: Standard, rate: &str) -> Timing {
        Timing::new(standard, rate.parse().unwrap()).unwrap()
    }

    const fn us(microseconds: u64) -> Duration {
        Duration::from_micros(microseconds)
    }

    /// Computed by hand from the standard's tables for 1500 bytes of IP: an MPDU of 1536.
    #[test]
    fn a_full_frame_takes_the_time_that_the_standard_gives_it() {
        let b = timing(Standard::B, "11Mbit/s");
        assert_eq!(b.frame(1536), us(192 + 1118));
        assert_eq!(b.acknowledgement(), us(192 + 56));
        assert_eq!(b.acknowledged(1536, 0), us(50 + 310 + 1310 + 10 + 248));

        let g = timing(Standard::G, "54Mbit/s");
        assert_eq!(g.frame(1536), us(20 + 57 * 4 + 6));
        assert_eq!(g.acknowledgement(), us(20 + 2 * 4 + 6));
        assert_eq!(
            g.acknowledged(1536, 0),
            Duration::from_nanos(28_000 + 67_500 + 254_000 + 10_000 + 34_000)
        );

        let a = timing(Standard::A, "6Mbit/s");
        assert_eq!(a.frame(1536), us(20 + 513 * 4));
        assert_eq!(a.acknowledgement(), us(20 + 6 * 4));
        assert_eq!(a.difs(), us(34));
        assert_eq!(
            a.unacknowledged(1536, 0),
            Duration::from_nanos(34_000 + 67_500 + 2_072_000 + 16_000 + 9_000 + 25_000)
        );
    }

    #[test]
    fn acknowledgements_use_the_highest_basic_rate_not_above_the_datas() {
        for (standard, rate, ack_us) in [
            (Standard::B, "1Mbit/s", 192 + 112),
            (Standard::B, "5.5Mbit/s", 192 + 56),
            (Standard::G, "11Mbit/s", 192 + 56),
            (Standard::A, "9Mbit/s", 20 + 4 * 6),
            (Standard::A, "18Mbit/s", 20 + 4 * 3),
            (Standard::A, "48Mbit/s", 20 + 4 * 2),
            (Standard::G, "18Mbit/s", 20 + 4 * 3 + 6),
        ] {
            assert_eq!(timing(standard, rate).acknowledgement(), us(ack_us), "{standard:?} {rate}");
        }
    }

    #[test]
    fn the_backoff_doubles_until_the_window_is_full() {
        let b = timing(Standard::B, "11Mbit/s");
        let windows: Vec<u128> = (0..8).map(|retry| b.mean_backoff(retry).as_micros() / 10).collect();
        assert_eq!(windows, [31, 63, 127, 255, 511, 1023, 1023, 1023]);
        let g = timing(Standard::G, "6Mbit/s");
        assert_eq!(g.mean_backoff(0), Duration::from_nanos(67_500));
        assert_eq!(g.mean_backoff(255), Duration::from_nanos(1023 * 4_500));
    }

    #[test]
    fn rates_of_other_standards_are_refused_by_name() {
        let refused = Timing::new(Standard::B, "54Mbit/s".parse().unwrap()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "rate is 54Mbit/s, which 802.11b does not have: it has 1, 2, 5.5, 11 Mbit/s"
        );
        assert!(Timing::new(Standard::A, "11Mbit/s".parse().unwrap()).is_err());
        assert!(Timing::new(Standard::G, Bitrate::from_bits_per_second(5_500_001)).is_err());
    }
}
