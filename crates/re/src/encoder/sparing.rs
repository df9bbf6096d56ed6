//! When to search: always, except where nothing is ever found.

/// After this many searches in a row without a match, searches become rare.
const PATIENCE: u32 = 64;
/// How rare: one packet in so many.
const ONE_IN: u32 = 16;

/// Counts fruitless searches.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sparing {
    fruitless: u32,
    passed_over: u32,
}

impl Sparing {
    /// Whether searches have become rare.
    pub(super) fn is_rare(&self) -> bool {
        self.fruitless >= PATIENCE
    }

    /// Whether the next packet should be searched.
    pub(super) fn wants_a_search(&mut self) -> bool {
        if !self.is_rare() {
            return true;
        }
        self.passed_over += 1;
        if self.passed_over == ONE_IN {
            self.passed_over = 0;
        }
        self.passed_over == 0
    }

    /// Takes notice of what a search brought.
    pub(super) fn searched(&mut self, found_something: bool) {
        self.fruitless = if found_something { 0 } else { self.fruitless.saturating_add(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_become_rare_while_nothing_is_found_and_resume_with_the_first_find() {
        let mut sparing = Sparing::default();
        let run = |sparing: &mut Sparing, packets: u32| {
            (0..packets)
                .filter(|_| {
                    sparing.wants_a_search() && {
                        sparing.searched(false);
                        true
                    }
                })
                .count()
        };
        assert_eq!(run(&mut sparing, PATIENCE), PATIENCE as usize);
        assert_eq!(run(&mut sparing, 160), 10);
        sparing.searched(true);
        assert_eq!(run(&mut sparing, 10), 10);
    }
}
