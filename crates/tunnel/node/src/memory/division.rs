//! The division of memory among accounts.
//!
//! Each account in use has a floor. The rest is divided by weight. Who is in use gives a quarter of what it
//! holds or nothing. What is in use grows; what is not keeps its memory until another one needs it.

/// Who is in use gives less than this share of what it holds to nobody: a quarter.
const STEADY_SHARE: usize = 4;
/// Growth below this share of what is held is none: a sixty-fourth.
const GROWTH_SHARE: usize = 64;
/// The floor of an account, in bytes, where the pool has room for twice as much.
const MOST_FLOOR: usize = 128 << 10;

/// A store's part in a budget, in bytes of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Account {
    /// What the store may take at most by its present bound.
    pub held: usize,
    /// Bytes that went by the store lately, and those that it saved count more.
    pub weight: f64,
    /// The most that it can use now: its peer may keep or wish less.
    pub most: usize,
    /// The most that it could use if the peer kept as much.
    pub most_alone: usize,
    /// It was used lately, and may grow.
    pub is_active: bool,
    /// It was used since it was looked at before.
    pub is_busy: bool,
}

/// The share of each account in `pool`, by `most` of it: its floor, and the rest by weight. Those without
/// use have the floor.
pub fn shares(pool: usize, accounts: &[Account], most: impl Fn(&Account) -> usize) -> Vec<usize> {
    let used = accounts.iter().filter(|it| most(it) > 0).count().max(1);
    let floor = MOST_FLOOR.min(pool / 2 / used);
    let mut shares: Vec<usize> = accounts.iter().map(|it| floor.min(most(it))).collect();
    let mut rest = pool.saturating_sub(shares.iter().sum());
    // each round fills at least one account, or divides all that is left
    for _ in 0..8 {
        let open = |(it, share): &(&Account, &usize)| it.is_active && **share < most(it);
        let weight: f64 = accounts.iter().zip(&shares).filter(open).map(|(it, _)| it.weight).sum();
        if rest == 0 || weight <= 0.0 {
            break;
        }
        let round = rest as f64;
        for (it, share) in accounts.iter().zip(&mut shares) {
            let room = most(it).saturating_sub(*share);
            if !it.is_active || room == 0 {
                continue;
            }
            let more = ((round * (it.weight / weight)) as usize).min(room).min(rest);
            *share += more;
            rest -= more;
        }
    }
    shares
}

/// What each account may hold from now on, in the same order.
pub fn divide(pool: usize, accounts: &[Account]) -> Vec<usize> {
    let targets = shares(pool, accounts, |it| it.most);
    let held: usize = accounts.iter().map(|it| it.held).sum();
    let mut next: Vec<usize> = accounts.iter().map(|it| it.held).collect();
    let growth = |it: &Account, target: usize| {
        let more = target.saturating_sub(it.held);
        if it.is_active && more > it.held / GROWTH_SHARE { more } else { 0 }
    };
    let wanted: usize = accounts.iter().zip(&targets).map(|(it, target)| growth(it, *target)).sum();
    let mut needed = (held + wanted).saturating_sub(pool);
    let over = held.saturating_sub(pool);
    // those give first whose memory is worth the least
    let mut givers: Vec<usize> = (0..accounts.len()).filter(|at| targets[*at] < accounts[*at].held).collect();
    let worth = |it: &Account| (it.is_active, it.weight / it.held.max(1) as f64);
    givers.sort_by(|one, other| {
        let ((active, worth_one), (other_active, worth_other)) =
            (worth(&accounts[*one]), worth(&accounts[*other]));
        active.cmp(&other_active).then(worth_one.total_cmp(&worth_other)).then(one.cmp(other))
    });
    let mut given = 0;
    for at in givers {
        let less = accounts[at].held - targets[at];
        let is_steady = accounts[at].is_active && less < accounts[at].held / STEADY_SHARE && given >= over;
        if needed == 0 || is_steady {
            continue;
        }
        next[at] = targets[at];
        needed = needed.saturating_sub(less);
        given += less;
    }
    // growth takes what is free now, and the rest when it was given back
    let free = pool.saturating_sub(held);
    let part = if wanted > free { free as f64 / wanted as f64 } else { 1.0 };
    for ((it, target), next) in accounts.iter().zip(&targets).zip(&mut next) {
        let more = (growth(it, *target) as f64 * part) as usize;
        if more > it.held / GROWTH_SHARE {
            *next = it.held + more;
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: usize = 1 << 20;

    fn account(held: usize, weight: f64) -> Account {
        Account {
            held,
            weight,
            most: usize::MAX / 4,
            most_alone: usize::MAX / 4,
            is_active: weight > 0.0,
            is_busy: true,
        }
    }

    /// Divides until nothing changes; all follow at once.
    fn settled(pool: usize, mut accounts: Vec<Account>) -> Vec<usize> {
        for _ in 0..40 {
            let next = divide(pool, &accounts);
            accounts.iter_mut().zip(&next).for_each(|(it, next)| it.held = *next);
            assert!(next.iter().sum::<usize>() <= pool);
        }
        accounts.iter().map(|it| it.held).collect()
    }

    #[test]
    fn the_only_peer_gets_all_by_its_directions_use() {
        let held = settled(256 * MIB, vec![account(MIB, 900.0), account(MIB, 100.0)]);
        assert!(held.iter().sum::<usize>() > 250 * MIB, "{held:?}");
        assert!(held[0] > 8 * held[1] && held[1] > 20 * MIB, "{held:?}");
    }

    #[test]
    fn what_is_idle_keeps_its_memory_until_another_needs_it() {
        let busy = settled(64 * MIB, vec![account(MIB, 1e6), account(MIB, 0.0)]);
        let idle = |held| Account { is_active: false, weight: 10.0, ..account(held, 0.0) };
        let kept = settled(64 * MIB, vec![idle(busy[0]), idle(busy[1])]);
        assert_eq!(kept, busy, "nobody else wants it");
        let given = settled(64 * MIB, vec![idle(busy[0]), account(busy[1], 1e6)]);
        assert!(given[0] <= MIB && given[1] > 60 * MIB, "{given:?}");
    }

    #[test]
    fn a_thousand_peers_have_at_least_the_floor() {
        let mut accounts = vec![account(16 << 10, 1.0); 2000];
        accounts[7].weight = 1e12;
        let pool = 256 * MIB;
        let held = settled(pool, accounts);
        assert!(held.iter().all(|held| *held >= pool / 2 / 2000 / 2), "{:?}", held.iter().min());
        assert!(held[7] > 100 * MIB);
    }

    #[test]
    fn a_smaller_budget_is_kept_to() {
        let accounts = vec![account(40 * MIB, 5.0), account(40 * MIB, 4.0), account(0, 1.0)];
        let next = divide(20 * MIB, &accounts);
        assert!(next.iter().sum::<usize>() <= 20 * MIB, "{next:?}");
    }

    #[test]
    fn who_can_use_no_more_leaves_it_to_others() {
        let mut accounts = vec![account(MIB, 1e9), account(MIB, 1.0)];
        accounts[0].most = 4 * MIB;
        let held = settled(64 * MIB, accounts);
        assert!(held[0] <= 4 * MIB && held[1] > 50 * MIB, "{held:?}");
    }

    proptest! {
        /// The sum of what may be held stays within the pool, and never rises where it was above.
        #[test]
        fn the_sum_never_exceeds_the_pool(
            pool in 0usize..1 << 30,
            accounts in proptest::collection::vec((0usize..1 << 24, 0.0f64..1e12, 0usize..1 << 28, any::<bool>()), 0..60),
        ) {
            let accounts: Vec<Account> = accounts
                .into_iter()
                .map(|(held, weight, most, is_active)| Account { held, weight, most, most_alone: most, is_active, is_busy: true })
                .collect();
            let held: usize = accounts.iter().map(|it| it.held).sum();
            let next = divide(pool, &accounts);
            // what shrinks is counted until it has shrunk
            let counted: usize = accounts.iter().zip(&next).map(|(it, next)| it.held.max(*next)).sum();
            prop_assert!(counted <= pool.max(held));
            prop_assert!(shares(pool, &accounts, |it| it.most).iter().sum::<usize>() <= pool);
        }
    }
}
