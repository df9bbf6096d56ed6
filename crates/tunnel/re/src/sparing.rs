//! When to search: always, except while nothing repeats or while the processor is the bottleneck.

/// Searches in a row without a match, after which searches become rare.
const PATIENCE: u32 = 64;
/// Rare searches: one packet in this many.
const ONE_IN: u32 = 16;
/// Rare searches while the processor is the bottleneck: savings then speed up nothing.
const ONE_IN_WHILE_SHORT: u32 = 64;

/// Count of fruitless searches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sparing {
    patience: u32,
    fruitless: u32,
    passed_over: u32,
    processor_is_short: bool,
}

impl Sparing {
    /// Reduces searches while nothing is found.
    pub(crate) fn on() -> Self {
        Sparing { patience: PATIENCE, fruitless: 0, passed_over: 0, processor_is_short: false }
    }

    /// Searches every packet, as the paper's encoder does.
    pub(crate) fn off() -> Self {
        Sparing { patience: u32::MAX, ..Sparing::on() }
    }

    /// Whether searches have become rare.
    pub(crate) fn is_rare(&self) -> bool {
        self.fruitless >= self.patience || self.processor_is_short
    }

    /// Sets whether packets wait for the processor and not for the link, so that a search costs more than it
    /// saves. [`Sparing::off`] ignores it.
    pub(crate) fn processor_is_short(&mut self, is_short: bool) {
        self.processor_is_short = is_short && self.patience != u32::MAX;
    }

    /// Whether the next packet should be searched.
    pub(crate) fn wants_a_search(&mut self) -> bool {
        if !self.is_rare() {
            return true;
        }
        self.passed_over += 1;
        if self.passed_over >= if self.processor_is_short { ONE_IN_WHILE_SHORT } else { ONE_IN } {
            self.passed_over = 0;
        }
        self.passed_over == 0
    }

    /// Notes the result of a search.
    pub(crate) fn searched(&mut self, found_something: bool) {
        self.fruitless = if found_something { 0 } else { (self.fruitless + 1).min(PATIENCE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_become_rare_while_nothing_is_found_and_resume_with_the_first_find() {
        let mut sparing = Sparing::on();
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
        sparing.processor_is_short(true);
        assert_eq!(run(&mut sparing, 640), 10);
        sparing.processor_is_short(false);
        assert_eq!(run(&mut sparing, 10), 10);
        assert_eq!(run(&mut Sparing::off(), 1000), 1000);
    }
}
