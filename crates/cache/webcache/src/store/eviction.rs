//! Order of eviction: LRU, or S3-FIFO, which resists a scan of content that is never requested again (Yang et
//! al., "FIFO queues are all you need for cache eviction", SOSP 2023).

use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::Hash;

/// Share of the total cost in the small queue: one part in this many.
const SMALL_PART: u64 = 10;
/// The highest request count.
const MOST_COUNTED: u8 = 3;

/// Order of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The least recently requested content first.
    Lru,
    /// Content requested only once early.
    #[default]
    S3Fifo,
}

/// Members with costs, and their order of eviction.
pub struct Eviction<K> {
    order: Order<K>,
    members: HashMap<K, Member>,
    cost: u64,
}

struct Member {
    cost: u64,
    /// LRU: time of the last request. S3-FIFO: identifies its current place in a queue.
    tick: u64,
    asked: u8,
    in_main: bool,
}

enum Order<K> {
    Lru {
        next: u64,
        by_tick: BTreeMap<u64, K>,
    },
    S3Fifo {
        next: u64,
        small: VecDeque<(K, u64)>,
        main: VecDeque<(K, u64)>,
        small_cost: u64,
        gone: Ghosts<K>,
    },
}

/// Members that recently left the small queue, at most as many as current members.
struct Ghosts<K> {
    order: VecDeque<K>,
    names: HashSet<K>,
}

impl<K: Hash + Eq + Clone> Eviction<K> {
    /// An empty order.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        let order = match policy {
            Policy::Lru => Order::Lru { next: 0, by_tick: BTreeMap::new() },
            Policy::S3Fifo => Order::S3Fifo {
                next: 0,
                small: VecDeque::new(),
                main: VecDeque::new(),
                small_cost: 0,
                gone: Ghosts { order: VecDeque::new(), names: HashSet::new() },
            },
        };
        Eviction { order, members: HashMap::new(), cost: 0 }
    }

    /// Total cost of all members.
    #[must_use]
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Adds a member, or changes its cost.
    pub fn insert(&mut self, key: K, cost: u64) {
        if let Some(member) = self.members.get_mut(&key) {
            self.cost = self.cost - member.cost + cost;
            if let (Order::S3Fifo { small_cost, .. }, false) = (&mut self.order, member.in_main) {
                *small_cost = *small_cost - member.cost + cost;
            }
            member.cost = cost;
            return;
        }
        self.cost += cost;
        let (tick, in_main) = match &mut self.order {
            Order::Lru { next, by_tick } => {
                *next += 1;
                by_tick.insert(*next, key.clone());
                (*next, false)
            }
            Order::S3Fifo { next, small, main, small_cost, gone } => {
                *next += 1;
                // A member that returns soon after leaving was worth keeping.
                let returns = gone.names.remove(&key);
                if returns {
                    main.push_back((key.clone(), *next));
                } else {
                    small.push_back((key.clone(), *next));
                    *small_cost += cost;
                }
                (*next, returns)
            }
        };
        self.members.insert(key, Member { cost, tick, asked: 0, in_main });
    }

    /// Notes a request for a member.
    pub fn touch(&mut self, key: &K) {
        let Some(member) = self.members.get_mut(key) else { return };
        match &mut self.order {
            Order::Lru { next, by_tick } => {
                by_tick.remove(&member.tick);
                *next += 1;
                member.tick = *next;
                by_tick.insert(*next, key.clone());
            }
            Order::S3Fifo { .. } => member.asked = (member.asked + 1).min(MOST_COUNTED),
        }
    }

    /// Removes a member.
    pub fn remove(&mut self, key: &K) {
        let Some(member) = self.members.remove(key) else { return };
        self.cost -= member.cost;
        match &mut self.order {
            Order::Lru { by_tick, .. } => drop(by_tick.remove(&member.tick)),
            // Its place in the queue is skipped later, so the removal itself is fast.
            Order::S3Fifo { small, main, small_cost, .. } => {
                if !member.in_main {
                    *small_cost -= member.cost;
                }
                for queue in [small, main] {
                    if queue.len() > 2 * self.members.len() + 64 {
                        queue.retain(|(key, tick)| {
                            self.members.get(key).is_some_and(|member| member.tick == *tick)
                        });
                    }
                }
            }
        }
    }

    /// Removes the first member in the order; `None` if there is none.
    pub fn pop(&mut self) -> Option<K> {
        let key = match &mut self.order {
            Order::Lru { by_tick, .. } => by_tick.first_key_value().map(|(_, key)| key.clone())?,
            Order::S3Fifo { next, small, main, small_cost, gone } => loop {
                let from_small =
                    *small_cost * SMALL_PART >= self.cost && !small.is_empty() || main.is_empty();
                let queue = if from_small { &mut *small } else { &mut *main };
                let (key, tick) = queue.pop_front()?;
                let Some(member) = self.members.get_mut(&key).filter(|member| member.tick == tick) else {
                    continue;
                };
                if member.asked == 0 {
                    if from_small {
                        gone.add(key.clone(), self.members.len());
                    }
                    break key;
                }
                *next += 1;
                member.tick = *next;
                if from_small {
                    member.in_main = true;
                    member.asked = 0;
                    *small_cost -= member.cost;
                } else {
                    member.asked -= 1;
                }
                main.push_back((key, *next));
            },
        };
        self.remove(&key);
        Some(key)
    }
}

impl<K: Hash + Eq + Clone> Ghosts<K> {
    fn add(&mut self, key: K, most: usize) {
        self.names.insert(key.clone());
        self.order.push_back(key);
        while self.order.len() > most {
            if let Some(oldest) = self.order.pop_front() {
                self.names.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lru_lets_go_what_was_asked_for_longest_ago() {
        let mut order = Eviction::new(Policy::Lru);
        for key in 0..3 {
            order.insert(key, 1);
        }
        order.touch(&0);
        assert_eq!([order.pop(), order.pop(), order.pop(), order.pop()], [Some(1), Some(2), Some(0), None]);
    }

    #[test]
    fn a_scan_does_not_empty_s3_fifo_of_what_is_popular() {
        let hits = |policy| {
            let mut order = Eviction::new(policy);
            let mut ask = |key: u32| {
                let hit = order.members.contains_key(&key);
                if hit {
                    order.touch(&key);
                } else {
                    order.insert(key, 1);
                    while order.cost() > 100 {
                        order.pop();
                    }
                }
                u32::from(hit)
            };
            let mut hits = 0;
            for round in 0..20 {
                hits += (0..50).map(&mut ask).sum::<u32>();
                (0..60).for_each(|once| {
                    ask(1000 + round * 60 + once);
                });
            }
            hits
        };
        assert_eq!(hits(Policy::Lru), 0);
        assert!(hits(Policy::S3Fifo) > 700, "{}", hits(Policy::S3Fifo));
    }

    proptest! {
        #[test]
        fn the_cost_is_that_of_the_members_whatever_happens(
            steps in prop::collection::vec((0_u8..4, 0_u8..20, 0_u64..50), 0..300),
            lru: bool,
        ) {
            let mut order = Eviction::new(if lru { Policy::Lru } else { Policy::S3Fifo });
            let mut model: HashMap<u8, u64> = HashMap::new();
            for (step, key, cost) in steps {
                match step {
                    0 => { order.insert(key, cost); model.insert(key, cost); }
                    1 => order.touch(&key),
                    2 => { order.remove(&key); model.remove(&key); }
                    _ => {
                        let popped = order.pop();
                        prop_assert_eq!(popped.is_none(), model.is_empty());
                        if let Some(key) = popped { prop_assert!(model.remove(&key).is_some()); }
                    }
                }
                prop_assert_eq!(order.cost(), model.values().sum::<u64>());
                prop_assert_eq!(order.len(), model.len());
            }
            while order.pop().is_some() {}
            prop_assert_eq!(order.cost(), 0);
        }
    }
}
