//! The packet pool: recently sent, received or overheard natives (COPE, section 6.2).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::PacketId;

/// Natives, each for a limited time, within a bound in bytes.
#[derive(Debug)]
pub struct Pool {
    kept_for: Duration,
    most_bytes: usize,
    bytes: usize,
    natives: BTreeMap<PacketId, Vec<u8>>,
    /// In order of arrival. A native that replaced another of its name expires with it.
    ages: VecDeque<(Duration, PacketId)>,
}

impl Pool {
    /// An empty pool.
    pub fn new(most_bytes: usize, kept_for: Duration) -> Self {
        Pool { kept_for, most_bytes, bytes: 0, natives: BTreeMap::new(), ages: VecDeque::new() }
    }

    /// Keeps a native. Returns whether it differs from the one kept under that name.
    pub fn keep(&mut self, id: PacketId, native: &[u8], now: Duration) -> bool {
        if self.natives.get(&id).is_some_and(|kept| kept == native) {
            return false;
        }
        self.expire(now);
        if let Some(replaced) = self.natives.insert(id, native.to_vec()) {
            self.bytes -= replaced.len();
        } else {
            self.ages.push_back((now, id));
        }
        self.bytes += native.len();
        while self.bytes > self.most_bytes && self.drop_oldest() {}
        true
    }

    /// A native, if it is kept.
    pub fn get(&self, id: PacketId) -> Option<&[u8]> {
        self.natives.get(&id).map(Vec::as_slice)
    }

    /// Bytes of all natives.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn expire(&mut self, now: Duration) {
        while self.ages.front().is_some_and(|(at, _)| *at + self.kept_for <= now) && self.drop_oldest() {}
    }

    fn drop_oldest(&mut self) -> bool {
        let Some((_, id)) = self.ages.pop_front() else { return false };
        if let Some(native) = self.natives.remove(&id) {
            self.bytes -= native.len();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn natives_are_kept_within_a_bound_and_for_a_while() {
        let mut pool = Pool::new(100, Duration::from_millis(500));
        let id = |number| PacketId { source: 1, number };
        for number in 0..10 {
            assert!(pool.keep(id(number), &[number as u8; 30], Duration::from_millis(number.into())));
            assert!(pool.bytes() <= 100);
        }
        assert_eq!((pool.get(id(6)), pool.get(id(9)).map(<[u8]>::len)), (None, Some(30)));
        assert!(!pool.keep(id(9), &[9; 30], Duration::from_secs(1)), "it is known");
        assert!(pool.keep(id(9), &[8; 10], Duration::from_secs(1)), "it is another");
        assert_eq!((pool.bytes(), pool.get(id(8))), (10, None));
    }
}
