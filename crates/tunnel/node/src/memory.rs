//! One budget of memory for the stores of all peers.
//!
//! Every store has a bound at any time, and the bounds together take no more memory than the budget. Memory
//! that active directions hold comes first, in equal parts where it is too much. Full stores among them may
//! double. The rest of the budget is room to grow, which takes no memory yet. A direction without traffic
//! keeps memory that others do not need, and gives everything back in the end.

use std::time::Duration;

/// Time between two divisions while there is traffic.
pub(crate) const DIVIDE_EVERY: Duration = Duration::from_secs(1);
/// Time between two divisions otherwise, while a store holds something.
pub(crate) const DIVIDE_IDLE_EVERY: Duration = Duration::from_secs(60);
/// A direction without a packet for so long is idle.
pub(crate) const IDLE: Duration = Duration::from_secs(60);
/// An idle direction gives everything back.
const GIVE_BACK: Duration = Duration::from_secs(600);

/// Memory that every direction has.
pub(crate) const LEAST_BYTES: usize = 640 << 10;
/// Room to grow beside what is held.
const ROOM_BYTES: usize = 16 << 20;
/// Room to grow for each byte held.
const ROOM_FACTOR: usize = 8;

/// Memory of one direction of a peer, at one of its ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    /// Bytes of memory held.
    pub held_bytes: usize,
    /// Whether its store is full, so that more memory would be filled.
    pub is_full: bool,
    /// The most bytes of memory that it can use.
    pub most_bytes: usize,
    /// Time since its last packet.
    pub idle: Duration,
    /// Bytes that it has, if they cannot change.
    pub fixed_bytes: Option<usize>,
}

/// An equal part of the budget as the size of a store, for each direction of so many peers.
pub(crate) fn equal_part(budget_bytes: usize, peers: usize) -> usize {
    let part_bytes = (budget_bytes / (2 * peers.max(1))).max(LEAST_BYTES);
    re::memory::receivers_store(part_bytes).min(re::memory::senders_store(part_bytes))
}

/// The part of a budget for so many of all peers.
pub(crate) fn part(budget_bytes: usize, peers: usize, all: usize) -> usize {
    budget_bytes / all.max(1) * peers
}

/// The least budget for so many peers, beside caches of overheard content.
#[must_use]
pub fn least_memory_bytes(peers: usize) -> usize {
    2 * peers * LEAST_BYTES
}

/// Divides the budget. `grants` gets the bytes of memory of each demand, in order.
pub(crate) fn divide(budget_bytes: usize, demands: &[Demand], grants: &mut Vec<usize>) {
    grants.clear();
    grants.extend(demands.iter().map(|demand| demand.fixed_bytes.unwrap_or(LEAST_BYTES)));
    let mut rest = budget_bytes.saturating_sub(grants.iter().sum());
    let active = |demand: &Demand| demand.idle < IDLE;
    let held = |demand: &Demand| demand.held_bytes + demand.held_bytes / 8;
    let growing =
        |demand: &Demand| (demand.held_bytes.saturating_mul(ROOM_FACTOR)).saturating_add(ROOM_BYTES);
    let needed =
        |demand: &Demand| held(demand) + if demand.is_full { demand.held_bytes + LEAST_BYTES } else { 0 };
    fill(&mut rest, demands, grants, |demand| if active(demand) { needed(demand) } else { 0 });
    let keeps = |demand: &Demand| demand.idle < GIVE_BACK;
    fill(&mut rest, demands, grants, |demand| if keeps(demand) { held(demand) } else { 0 });
    fill(&mut rest, demands, grants, |demand| if active(demand) { growing(demand) } else { 0 });
    fill(&mut rest, demands, grants, |demand| if keeps(demand) { demand.most_bytes } else { 0 });
}

/// Raises grants to what is wanted, or as many as possible to an equal addition.
fn fill(rest: &mut usize, demands: &[Demand], grants: &mut [usize], wanted: impl Fn(&Demand) -> usize) {
    let lacks = |at: usize, grant: usize| {
        let demand = &demands[at];
        let most = if demand.fixed_bytes.is_some() { 0 } else { demand.most_bytes };
        wanted(demand).min(most).saturating_sub(grant)
    };
    let mut lacking: Vec<(usize, usize)> =
        (0..demands.len()).map(|at| (lacks(at, grants[at]), at)).filter(|(lack, _)| *lack > 0).collect();
    lacking.sort_unstable();
    let mut others = lacking.len();
    for (lack, at) in lacking {
        let added = lack.min(*rest / others);
        grants[at] += added;
        *rest -= added;
        others -= 1;
    }
}

/// Whether a store should change from one bound to another: not for little.
pub(crate) fn is_worth_a_change(from_kib: u32, to_kib: u32) -> bool {
    u64::from(from_kib.abs_diff(to_kib)) * 8 > u64::from(from_kib)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: usize = 1 << 20;

    fn demand(held_mib: usize, idle_seconds: u64) -> Demand {
        Demand {
            held_bytes: held_mib * MIB,
            is_full: false,
            most_bytes: 1 << 30,
            idle: Duration::from_secs(idle_seconds),
            fixed_bytes: None,
        }
    }

    fn divided(budget_mib: usize, demands: &[Demand]) -> Vec<usize> {
        let mut grants = Vec::new();
        divide(budget_mib * MIB, demands, &mut grants);
        grants.into_iter().map(|bytes| bytes / MIB).collect()
    }

    #[test]
    fn the_active_ones_hold_what_they_have_and_the_idle_ones_give_back() {
        assert_eq!(divided(100, &[demand(40, 0), demand(40, 120)]), [55, 45], "there is room for both");
        assert_eq!(divided(64, &[demand(50, 0), demand(40, 120)]), [56, 7], "the idle one has the rest");
        assert_eq!(divided(64, &[demand(50, 0), demand(40, 1000)]), [63, 0]);
        assert_eq!(divided(64, &[demand(50, 0), demand(40, 0)]), [32, 32], "equal parts");
        assert_eq!(
            divided(64, &[demand(1, 0), demand(90, 0)])[0],
            1,
            "what is held comes before room to grow"
        );
    }

    #[test]
    fn a_full_store_grows_beside_a_large_one_to_an_equal_part() {
        let full = |held_mib| Demand { is_full: true, ..demand(held_mib, 0) };
        let (mut small, mut large) = (1, 60);
        for _ in 0..8 {
            let grants = divided(64, &[full(small), full(large)]);
            assert!(grants[0] > small || grants[0] == 32, "{grants:?}");
            (small, large) = (grants[0], grants[1]);
        }
        assert_eq!((small, large), (32, 32));
    }

    #[test]
    fn a_hundred_peers_with_little_leave_the_rest_to_one_with_much() {
        let mut demands = vec![demand(0, 0); 200];
        demands[7].held_bytes = 100 * MIB;
        assert!(divided(512, &demands)[7] >= 112);
    }

    proptest! {
        #[test]
        fn grants_are_within_the_budget_and_what_cannot_change_stays(
            of_peers in prop::collection::vec((0usize..200, 0u64..1000, prop::option::of(0usize..20)), 1..50),
            budget_mib in 100usize..500,
        ) {
            let demands: Vec<Demand> = of_peers.into_iter().map(|(held, idle, fixed)| {
                Demand { fixed_bytes: fixed.map(|mib| mib * MIB / 50), ..demand(held, idle) }
            }).collect();
            let mut grants = Vec::new();
            divide(budget_mib * MIB, &demands, &mut grants);
            prop_assert!(grants.iter().sum::<usize>() <= budget_mib * MIB);
            for (demand, grant) in demands.iter().zip(&grants) {
                prop_assert_eq!(demand.fixed_bytes.unwrap_or(*grant), *grant);
            }
        }
    }

    #[test]
    fn equal_parts_fit_the_budget() {
        for peers in [1, 3, 100] {
            let store_bytes = equal_part(512 * MIB, peers);
            let both = re::memory::of_sender(store_bytes) + re::memory::of_receiver(store_bytes);
            assert!(peers * both <= 512 * MIB && peers * both > 256 * MIB, "{peers}: {store_bytes}");
        }
    }
}
