//! Records that refer to others and that the far end has not read, as far as this end knows.

use std::collections::VecDeque;

/// Records under way, oldest first, and what entered the store meanwhile.
#[derive(Debug, Default)]
pub struct Unread {
    /// What entered the store, since the beginning.
    entered: u64,
    /// What had entered before each record; `None` once it was read.
    under_way: VecDeque<Option<u64>>,
    /// The number of the first of them.
    first: u64,
}

impl Unread {
    /// A record leaves that refers to others: its number here.
    pub fn begin(&mut self) -> u64 {
        self.under_way.push_back(Some(self.entered));
        self.first + self.under_way.len() as u64 - 1
    }

    /// The far end read a record, or never will.
    pub fn end(&mut self, number: u64) {
        let at = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(record) = at.and_then(|at| self.under_way.get_mut(at)) {
            *record = None;
        }
        while self.under_way.front().is_some_and(Option::is_none) {
            self.under_way.pop_front();
            self.first += 1;
        }
    }

    /// The number that the next record has.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.first + self.under_way.len() as u64
    }

    /// Whether all records before this number were read.
    #[must_use]
    pub fn has_ended_before(&self, number: u64) -> bool {
        self.first >= number
    }

    /// Whether so much may enter the store: no record under way sees more than `margin` enter after it.
    #[must_use]
    pub fn admits(&self, cost: u64, margin: u64) -> bool {
        let oldest = self.under_way.front().copied().flatten();
        oldest.is_none_or(|before| self.entered + cost - before <= margin)
    }

    /// So much entered the store.
    pub fn enter(&mut self, cost: u64) {
        self.entered += cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_record_under_way_bounds_what_enters() {
        let mut unread = Unread::default();
        assert!(unread.admits(1000, 100), "nothing is under way");
        let records = [unread.begin(), unread.begin()];
        unread.enter(60);
        assert!(unread.admits(40, 100) && !unread.admits(41, 100));
        let third = unread.begin();
        unread.end(records[1]);
        assert!(!unread.admits(41, 100), "the oldest was not read");
        unread.end(records[0]);
        assert!(unread.admits(100, 100) && !unread.admits(101, 100));
        unread.end(third);
        unread.end(third);
        unread.end(9);
        assert!(unread.admits(1000, 100));
        assert_eq!(unread.begin(), 3);
    }
}
