//! Times of frames, in the units of their files.

use std::time::Duration;

/// A frame's time as the file has it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stamp {
    /// Seconds, and a fraction in units of the clock.
    Parts(u32, u32),
    /// Units of the clock.
    Units(u64),
}

/// The units of a file or of an interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    units_per_second: u64,
    offset_seconds: i64,
}

impl Clock {
    pub(super) const MICROSECONDS: Clock = Clock { units_per_second: 1_000_000, offset_seconds: 0 };
    pub(super) const NANOSECONDS: Clock = Clock { units_per_second: 1_000_000_000, offset_seconds: 0 };
    /// The flag of a resolution that is a power of two.
    const BINARY: u8 = 0x80;

    /// The clock of an interface with these options (pcapng, section 4.2). Microseconds if the resolution
    /// exceeds 64 bits.
    pub(super) fn of_interface(resolution: u8, offset_seconds: i64) -> Self {
        let exponent = u32::from(resolution & !Self::BINARY);
        let base: u64 = if resolution & Self::BINARY == 0 { 10 } else { 2 };
        let units_per_second = base.checked_pow(exponent).unwrap_or(Self::MICROSECONDS.units_per_second);
        Clock { units_per_second, offset_seconds }
    }

    /// The time since 1970; zero for a time before.
    pub(super) fn since_1970(self, stamp: Stamp) -> Duration {
        let (seconds, units) = match stamp {
            Stamp::Parts(seconds, units) => (u64::from(seconds), u64::from(units)),
            Stamp::Units(units) => (units / self.units_per_second, units % self.units_per_second),
        };
        let nanoseconds = u128::from(units) * 1_000_000_000 / u128::from(self.units_per_second);
        let fraction = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX));
        Duration::from_secs(seconds.saturating_add_signed(self.offset_seconds)).saturating_add(fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_every_unit_are_the_same_time() {
        let time = Duration::new(5, 250_000_000);
        assert_eq!(Clock::MICROSECONDS.since_1970(Stamp::Parts(5, 250_000)), time);
        assert_eq!(Clock::NANOSECONDS.since_1970(Stamp::Parts(5, 250_000_000)), time);
        assert_eq!(Clock::of_interface(6, 0).since_1970(Stamp::Units(5_250_000)), time);
        assert_eq!(Clock::of_interface(0x80 | 2, 0).since_1970(Stamp::Units(21)), time);
        assert_eq!(Clock::of_interface(3, -2).since_1970(Stamp::Units(7_250)), time);
    }

    #[test]
    fn any_option_gives_a_time() {
        for (resolution, offset) in [(255, i64::MIN), (127, i64::MAX), (19, -1), (0, 1)] {
            let clock = Clock::of_interface(resolution, offset);
            for units in [0, 1, u64::MAX] {
                let _ = clock.since_1970(Stamp::Units(units));
            }
        }
    }
}
