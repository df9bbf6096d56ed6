//! The replay window of a traffic key (RFC 6479): counters may arrive out of order, each once.

const WORDS: usize = 64;
/// How far behind the newest counter a unit may arrive.
pub const WINDOW: u64 = (WORDS as u64 - 1) * 64;

/// The counters that were seen.
#[derive(Debug, Clone)]
pub struct ReplayWindow {
    /// One past the newest counter seen.
    next: u64,
    seen: [u64; WORDS],
}

impl Default for ReplayWindow {
    fn default() -> Self {
        ReplayWindow { next: 0, seen: [0; WORDS] }
    }
}

impl ReplayWindow {
    /// One past the newest counter seen: a truncated counter is widened to the value next to it.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether `counter` is new enough and not seen yet. Changes nothing: the unit is not authenticated yet.
    #[must_use]
    pub fn is_fresh(&self, counter: u64) -> bool {
        if counter >= self.next {
            return counter < u64::MAX;
        }
        self.next - counter <= WINDOW && self.seen[Self::word(counter)] >> (counter % 64) & 1 == 0
    }

    /// Whether `counter` is known to have been seen; `false` for counters older than the window.
    #[must_use]
    pub fn has_seen(&self, counter: u64) -> bool {
        counter < self.next && self.next - counter <= WINDOW && !self.is_fresh(counter)
    }

    /// Marks an authenticated counter as seen.
    pub fn mark(&mut self, counter: u64) {
        if counter >= self.next {
            let (from, to) = (self.next / 64, counter / 64);
            // words that the window moves into; the word of `next - 1` keeps its bits
            let first_new = if self.next.is_multiple_of(64) { from } else { from + 1 };
            for word in first_new..=to.min(first_new.saturating_add(WORDS as u64 - 1)) {
                self.seen[(word % WORDS as u64) as usize] = 0;
            }
            if to >= first_new.saturating_add(WORDS as u64) {
                self.seen = [0; WORDS];
            }
            self.next = counter + 1;
        }
        self.seen[Self::word(counter)] |= 1 << (counter % 64);
    }

    fn word(counter: u64) -> usize {
        (counter / 64 % WORDS as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn each_counter_passes_at_most_once_and_recent_ones_do(
            steps in proptest::collection::vec((0u64..200, prop::bool::weighted(0.02), any::<u16>()), 1..400)
        ) {
            let mut window = ReplayWindow::default();
            let mut passed = BTreeSet::new();
            let mut base = 0u64;
            for (offset, jump, far) in steps {
                if jump { base += u64::from(far); }
                base += 3;
                let counter = base.saturating_sub(offset);
                let fresh = window.is_fresh(counter);
                let recent = counter >= window.next() || window.next() - counter <= WINDOW;
                prop_assert_eq!(fresh, recent && !passed.contains(&counter));
                if fresh {
                    window.mark(counter);
                    passed.insert(counter);
                    prop_assert!(!window.is_fresh(counter));
                }
            }
        }
    }
}
