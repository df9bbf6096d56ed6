//! A node's share in a budget, and when it looks at it.

use super::budget::Budget;
use std::time::Duration;

/// The time between two looks at the budget ...
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// ... while stores are in use.
const LOOK_EVERY_IN_USE: Duration = Duration::from_millis(250);
/// A node that settles while another does asks again after this time.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// What peers say of bounds makes the next look come sooner, but not sooner than this after the last.
const LEAST_BETWEEN: Duration = Duration::from_millis(50);

/// The share. By default there is no budget.
#[derive(Debug, Default)]
pub struct Share {
    budget: Option<Budget>,
    node: usize,
    /// When it is looked at next, while there are peers.
    look_at: Option<Duration>,
    looked_at: Duration,
}

impl Share {
    /// The share of this node of those that have the budget.
    #[must_use]
    pub fn of(budget: Option<Budget>, node: usize) -> Self {
        Share { budget, node, ..Share::default() }
    }

    /// The budget.
    #[must_use]
    pub fn budget(&self) -> Option<&Budget> {
        self.budget.as_ref()
    }

    /// The node's number among those that share the budget.
    #[must_use]
    pub fn node(&self) -> usize {
        self.node
    }

    /// There is a new store, or another budget.
    pub fn look_soon(&mut self, now: Duration) {
        self.look_at = self.budget.as_ref().map(|_| now);
    }

    /// A peer keeps or wishes something else.
    pub fn look_sooner(&mut self, now: Duration) {
        let soon = now.max(self.looked_at + LEAST_BETWEEN);
        self.look_at = self.look_at.map(|at| at.min(soon));
    }

    /// When to look at the budget.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.look_at
    }

    /// It was looked at. `stays`: there is a store whose use may change. `is_busy`: one was used just now.
    pub fn looked(&mut self, now: Duration, stays: bool, is_busy: bool) {
        self.looked_at = now;
        self.look_at = stays.then(|| now + if is_busy { LOOK_EVERY_IN_USE } else { LOOK_EVERY });
    }

    /// Another node looked at it just then.
    pub fn ask_again(&mut self, now: Duration) {
        self.look_at = Some(now + ASK_AGAIN);
    }
}
