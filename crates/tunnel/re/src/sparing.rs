//! When to search: always, except while nothing repeats or while the processor is the bottleneck.

/// Searches in a row without a match, after which searches become rare.
const PATIENCE: u32 = 64;
/// Rare searches: one packet in this many. It is odd, and so out of step with the rows of packets that last.
const ONE_IN: u32 = 15;
/// Rare searches while the processor is the bottleneck: savings then speed up nothing.
const ONE_IN_WHILE_SHORT: u32 = 64;

/// Packets entered while the processor is the bottleneck: one in this many. A repetition that a later packet
/// meets in one of them goes on through the others.
const ENTERED_ONE_IN_WHILE_SHORT: u32 = 4;

/// How many keys a packet is entered under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entering {
    /// All.
    All,
    /// Those at the beginning of every stretch of so many bytes.
    Few { stretch_bytes: usize },
    /// None.
    Nothing,
}

/// While little repeats, a few keys suffice. They are among those of the sparsest search, which finds them.
const FEW: Entering = Entering::Few { stretch_bytes: 256 };
/// While the processor is the bottleneck as well.
const VERY_FEW: Entering = Entering::Few { stretch_bytes: 1024 };

/// Count of fruitless searches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sparing {
    patience: u32,
    fruitless: u32,
    passed_over: u32,
    not_entered: u32,
    processor_is_short: bool,
}

impl Sparing {
    /// Reduces searches while nothing is found.
    pub(crate) fn on() -> Self {
        Sparing {
            patience: PATIENCE,
            fruitless: 0,
            passed_over: 0,
            not_entered: 0,
            processor_is_short: false,
        }
    }

    /// Searches every packet, as the paper's encoder does.
    pub(crate) fn off() -> Self {
        Sparing { patience: u32::MAX, ..Sparing::on() }
    }

    /// Whether searches have become rare.
    pub(crate) fn is_rare(&self) -> bool {
        self.fruitless >= self.patience || self.processor_is_short
    }

    /// How many keys the next packet is entered under, which is not searched.
    pub(crate) fn enters_next(&mut self) -> Entering {
        if !self.processor_is_short {
            return self.enters_again();
        }
        self.not_entered = (self.not_entered + 1) % ENTERED_ONE_IN_WHILE_SHORT;
        if self.not_entered == 0 { VERY_FEW } else { Entering::Nothing }
    }

    /// How many keys a packet is entered under whose keys are forgotten.
    pub(crate) fn enters_again(&self) -> Entering {
        match (self.processor_is_short, self.is_rare()) {
            (true, _) => VERY_FEW,
            (false, true) => FEW,
            (false, false) => Entering::All,
        }
    }

    /// How many packets a searched one stands for.
    pub(crate) fn stands_for(&self) -> u32 {
        match (self.processor_is_short, self.is_rare()) {
            (true, _) => ONE_IN_WHILE_SHORT,
            (false, true) => ONE_IN,
            (false, false) => 1,
        }
    }

    /// Whether the processor is the bottleneck.
    pub(crate) fn is_short(&self) -> bool {
        self.processor_is_short
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
        if self.passed_over >= self.stands_for() {
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
        assert_eq!(run(&mut sparing, 150), 10);
        sparing.searched(true);
        assert_eq!(run(&mut sparing, 10), 10);
        assert_eq!(sparing.enters_next(), Entering::All);
        sparing.processor_is_short(true);
        assert_eq!(run(&mut sparing, 640), 10);
        let entered = (0..40).filter(|_| sparing.enters_next() != Entering::Nothing).count();
        let looked_at = (0..640).filter(|_| sparing.wants_a_search()).count();
        assert_eq!((entered, looked_at), (10, 10));
        sparing.processor_is_short(false);
        assert_eq!(run(&mut sparing, 10), 10);
        assert_eq!(run(&mut Sparing::off(), 1000), 1000);
    }
}
