//! The router for each URI: the mapping table of PH-BCP (MeshCache section 7.3, steps 7 and 14–16).

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

/// The most mappings; the one that ends first is dropped.
const MOST: usize = 4096;

/// The router to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The router.
    pub node: IpAddr,
    /// Whether it reported the content, and is not only responsible for it.
    pub holds: bool,
}

/// The table. Each mapping ends a fixed time after its last refresh.
#[derive(Debug)]
pub struct Mappings {
    lifetime: Duration,
    by_key: HashMap<String, (Target, Duration, u64)>,
    by_end: BTreeMap<(Duration, u64), String>,
    next: u64,
}

impl Mappings {
    /// An empty table whose mappings last for `lifetime`.
    #[must_use]
    pub fn new(lifetime: Duration) -> Self {
        Mappings { lifetime, by_key: HashMap::new(), by_end: BTreeMap::new(), next: 0 }
    }

    /// Number of mappings, with ended ones that were not looked up since.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Notes or refreshes a mapping.
    pub fn set(&mut self, key: &str, target: Target, now: Duration) {
        self.remove(key);
        while self.by_key.len() >= MOST {
            let Some((_, first)) = self.by_end.pop_first() else { break };
            self.by_key.remove(&first);
        }
        let end = now.saturating_add(self.lifetime);
        self.next += 1;
        self.by_key.insert(key.to_owned(), (target, end, self.next));
        self.by_end.insert((end, self.next), key.to_owned());
    }

    /// The router to ask for `key`.
    pub fn get(&mut self, key: &str, now: Duration) -> Option<Target> {
        let (target, end, _) = self.by_key.get(key)?;
        if now < *end {
            return Some(*target);
        }
        self.remove(key);
        None
    }

    /// Forgets a mapping whose router did not have the content.
    pub fn remove(&mut self, key: &str) {
        if let Some((_, end, number)) = self.by_key.remove(key) {
            self.by_end.remove(&(end, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIFETIME: Duration = Duration::from_secs(60);

    fn target(last: u8) -> Target {
        Target { node: IpAddr::from([10, 0, 0, last]), holds: true }
    }

    #[test]
    fn a_mapping_ends_when_it_is_not_refreshed() {
        let mut table = Mappings::new(LIFETIME);
        table.set("a", target(1), Duration::ZERO);
        table.set("a", target(2), Duration::from_secs(30));
        assert_eq!(table.get("a", Duration::from_secs(89)), Some(target(2)));
        assert_eq!(table.get("a", Duration::from_secs(90)), None);
        assert!(table.is_empty());
    }

    #[test]
    fn a_flood_of_setups_drops_the_oldest_only() {
        let mut table = Mappings::new(LIFETIME);
        for number in 0..2 * MOST as u64 {
            table.set(&number.to_string(), target(1), Duration::from_micros(number));
        }
        assert_eq!(table.len(), MOST);
        assert_eq!(table.get("0", Duration::from_secs(1)), None);
        assert!(table.get(&(2 * MOST - 1).to_string(), Duration::from_secs(1)).is_some());
    }

    proptest! {
        #[test]
        fn both_orders_hold_the_same_mappings(steps in prop::collection::vec((0_u8..3, 0_u8..8, 0_u64..200), 0..100)) {
            let mut table = Mappings::new(LIFETIME);
            let mut now = Duration::ZERO;
            for (step, key, seconds) in steps {
                now += Duration::from_secs(seconds % 30);
                let key = key.to_string();
                match step {
                    0 => table.set(&key, target(1), now),
                    1 => drop(table.get(&key, now)),
                    _ => table.remove(&key),
                }
                prop_assert_eq!(table.by_key.len(), table.by_end.len());
            }
        }
    }
}
