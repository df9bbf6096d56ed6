//! An allowance for each source address.

use crate::session::allowance::Allowance;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Sources that have an allowance of their own; all others share one.
const MAX_SOURCES: usize = 1024;
/// How often the table is searched for sources that have rested.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// So many a second for each IPv4 address and each IPv6 network of 64 bits.
#[derive(Debug)]
pub struct Sources {
    per_second: u32,
    of: BTreeMap<u128, Allowance>,
    others: Allowance,
    swept: Duration,
}

impl Sources {
    /// All of them rested.
    #[must_use]
    pub fn new(per_second: u32, now: Duration) -> Self {
        Sources { per_second, of: BTreeMap::new(), others: Allowance::new(per_second, now), swept: now }
    }

    /// Takes one of what `source` has; `false` if there is none left.
    pub fn take(&mut self, now: Duration, source: IpAddr) -> bool {
        let key = match source {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
            IpAddr::V6(ip) => ip.to_bits() >> 64 << 64,
        };
        if !self.of.contains_key(&key) && !self.make_room(now) {
            return self.others.take(now);
        }
        let per_second = self.per_second;
        self.of.entry(key).or_insert_with(|| Allowance::new(per_second, now)).take(now)
    }

    fn make_room(&mut self, now: Duration) -> bool {
        if self.of.len() >= MAX_SOURCES && now >= self.swept + SWEEP_EVERY {
            self.swept = now;
            self.of.retain(|_, allowance| !allowance.is_full(now));
        }
        self.of.len() < MAX_SOURCES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_source_takes_nothing_from_another() {
        let mut sources = Sources::new(5, Duration::ZERO);
        let taken = |sources: &mut Sources, source: &str| {
            (0..20).filter(|_| sources.take(Duration::ZERO, source.parse().unwrap())).count()
        };
        assert_eq!(taken(&mut sources, "192.0.2.1"), 5);
        assert_eq!(taken(&mut sources, "192.0.2.2"), 5);
        assert_eq!(taken(&mut sources, "2001:db8::1"), 5);
        assert_eq!(taken(&mut sources, "2001:db8::2"), 0, "the same network");
        assert_eq!(taken(&mut sources, "2001:db8:0:1::1"), 5);
    }

    #[test]
    fn any_number_of_sources_takes_bounded_memory_and_those_that_rest_make_room() {
        let mut sources = Sources::new(5, Duration::ZERO);
        let address = |number: u32| IpAddr::from(number.to_be_bytes());
        let taken = (0..100_000).filter(|&number| sources.take(Duration::ZERO, address(number))).count();
        assert_eq!((taken, sources.of.len()), (MAX_SOURCES + 5, MAX_SOURCES));
        assert!(sources.take(Duration::from_secs(2), address(200_000)));
        assert_eq!(sources.of.len(), 1);
    }
}
