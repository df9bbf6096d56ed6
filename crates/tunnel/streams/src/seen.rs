//! Numbers of streams that the far end opened, or gave up.

use crate::ranges::Ranges;

/// More ranges are not kept: what is missing between the lowest of them counts as seen.
const MOST_RANGES: usize = 1024;

/// Numbers that were seen: a message that comes late begins no stream a second time.
#[derive(Debug, Default)]
pub struct Seen(Ranges);

impl Seen {
    /// Notes a number. Whether it is new.
    pub fn note(&mut self, number: u32) -> bool {
        let number = u64::from(number);
        let is_new = self.0.missing_in(number..number + 1).next().is_some();
        self.0.insert(number..number + 1);
        if self.0.len() > MOST_RANGES
            && let Some(lowest) = self.0.first()
        {
            self.0.remove(lowest.clone());
            let next = self.0.first().map_or(lowest.end, |next| next.end);
            self.0.insert(0..next);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_new_once_and_gaps_close_from_below() {
        let mut seen = Seen::default();
        let numbers = (0..2 * MOST_RANGES as u32).map(|number| 2 * number + 1);
        assert!(numbers.clone().all(|number| seen.note(number)));
        assert!(numbers.rev().all(|number| !seen.note(number)));
        assert!(seen.0.len() <= MOST_RANGES);
        assert!(!seen.note(2), "too far below");
        assert!(seen.note(4 * MOST_RANGES as u32 - 2));
    }
}
