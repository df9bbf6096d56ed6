//! Bit rates in their written form.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Bits per second, written as `8Mbit/s` or `1MByte/s`. Prefixes are decimal (k = 1000).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Bitrate(u64);

/// The text is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no rate: write a number and a unit, such as 300kbit/s, 5.5Mbit/s or 1MByte/s")]
pub struct MalformedBitrate(String);

/// A unit stands before those that are its tail.
const UNITS: [(&str, u64); 8] = [
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("GByte/s", 8_000_000_000),
    ("MByte/s", 8_000_000),
    ("kByte/s", 8_000),
    ("Byte/s", 8),
    ("bit/s", 1),
];

impl Bitrate {
    /// A rate of `bits` per second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// A rate of `bytes` per second.
    pub const fn from_bytes_per_second(bytes: u64) -> Self {
        Self(bytes.saturating_mul(8))
    }

    /// A rate of `kilobits` (1000 bits) per second.
    pub const fn from_kilobits_per_second(kilobits: u64) -> Self {
        Self(kilobits.saturating_mul(1_000))
    }

    /// A rate of `megabits` (1,000,000 bits) per second.
    pub const fn from_megabits_per_second(megabits: u64) -> Self {
        Self(megabits.saturating_mul(1_000_000))
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Transmission time of `bytes`, rounded up to a nanosecond so that the rate is never exceeded. It is
    /// [`Duration::MAX`] at rate 0.
    pub const fn time_for(self, bytes: usize) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let nanoseconds = (bytes as u128 * 8_000_000_000).div_ceil(self.0 as u128);
        if nanoseconds > u64::MAX as u128 {
            return Duration::MAX;
        }
        Duration::from_nanos(nanoseconds as u64)
    }
}

/// Writes the rate in the largest bit unit without a fraction.
impl fmt::Display for Bitrate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = UNITS[..3]
            .iter()
            .find(|(_, scale)| self.0 != 0 && self.0.is_multiple_of(*scale))
            .copied()
            .unwrap_or(("bit/s", 1));
        write!(f, "{}{unit}", self.0 / scale)
    }
}

impl FromStr for Bitrate {
    type Err = MalformedBitrate;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.trim()).map(Self).ok_or_else(|| MalformedBitrate(text.chars().take(40).collect()))
    }
}

/// Uses exact decimal arithmetic, so that no binary fraction changes a rate by a bit.
fn parse(text: &str) -> Option<u64> {
    let (number, scale) =
        UNITS.iter().find_map(|(unit, scale)| text.strip_suffix(unit).map(|number| (number, *scale)))?;
    let (whole, fraction) = match number.trim_end().split_once('.') {
        Some((_, "")) => return None,
        Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
        None => (number.trim_end(), ""),
    };
    // The parser of u64 would accept a sign.
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) || fraction.len() > 18 {
        return None;
    }
    let whole: u128 = u128::from(whole.parse::<u64>().ok()?);
    let denominator = 10u128.pow(fraction.len() as u32);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scaled = (whole * denominator + fraction).checked_mul(u128::from(scale))?;
    // A rate is a whole number of bits per second.
    if !scaled.is_multiple_of(denominator) {
        return None;
    }
    u64::try_from(scaled / denominator).ok()
}

impl TryFrom<String> for Bitrate {
    type Error = MalformedBitrate;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Bitrate> for String {
    fn from(rate: Bitrate) -> Self {
        rate.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, bits) in [
            ("8Mbit/s", 8_000_000),
            ("1MByte/s", 8_000_000),
            ("5.5Mbit/s", 5_500_000),
            ("5.50 Mbit/s", 5_500_000),
            ("300 kbit/s", 300_000),
            ("1Gbit/s", 1_000_000_000),
            ("125Byte/s", 1_000),
            ("0.001kbit/s", 1),
            ("0bit/s", 0),
        ] {
            assert_eq!(text.parse(), Ok(Bitrate(bits)), "{text}");
        }
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in [
            "",
            "8",
            "Mbit/s",
            "8mbit/s",
            "-8Mbit/s",
            "+8Mbit/s",
            "1.Mbit/s",
            ".5Mbit/s",
            "0.5bit/s",
            "1e3bit/s",
            "99999999999Gbit/s",
            "8 Mbit",
            "1.1.1Mbit/s",
        ] {
            assert!(text.parse::<Bitrate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_megabyte_per_second_sends_fifteen_hundred_bytes_in_a_millisecond_and_a_half() {
        assert_eq!(Bitrate::from_bytes_per_second(1_000_000).time_for(1500), Duration::from_micros(1500));
        assert_eq!(Bitrate(3).time_for(1), Duration::from_nanos(2_666_666_667));
        assert_eq!(Bitrate(0).time_for(0), Duration::MAX);
        assert_eq!(Bitrate(1).time_for(usize::MAX), Duration::MAX);
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(bits: u64) {
            prop_assert_eq!(Bitrate(bits).to_string().parse(), Ok(Bitrate(bits)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,30}") {
            let _ = text.parse::<Bitrate>();
        }
    }
}
