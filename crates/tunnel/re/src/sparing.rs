//! When to search: always, except where nothing is ever found, and while the processor is what is short.

/// After this many searches in a row without a match, searches become rare.
const PATIENCE: u32 = 64;
/// How rare: one packet in so many.
const ONE_IN: u32 = 16;
/// ... while the processor is short: what is found saves nothing then that anybody waits for.
const ONE_IN_WHILE_SHORT: u32 = 64;

/// Counts fruitless searches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sparing {
    patience: u32,
    fruitless: u32,
    passed_over: u32,
    processor_is_short: bool,
}

impl Sparing {
    /// Spares searches where nothing is found.
    pub(crate) fn on() -> Self {
        Sparing { patience: PATIENCE, fruitless: 0, passed_over: 0, processor_is_short: false }
    }

    /// Spares nothing: the paper's encoder searches every packet.
    pub(crate) fn off() -> Self {
        Sparing { patience: u32::MAX, ..Sparing::on() }
    }

    /// Whether searches have become rare.
    pub(crate) fn is_rare(&self) -> bool {
        self.fruitless >= self.patience || self.processor_is_short
    }

    /// Says whether searching costs more than it saves: while packets wait for the processor and not for the
    /// link. What spares nothing goes on as ever.
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

    /// Takes notice of what a search brought.
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
