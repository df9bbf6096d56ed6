//! Knowledge about neighbours: the natives in their reports, and the probability of the others (COPE,
//! sections 3.2 and 6.2).

use std::collections::BTreeMap;

use super::PacketId;

use super::window::{self, Window};

/// The most neighbours, and the most sources of one neighbour's reports. Beyond that the lowest name is
/// dropped.
const MOST: usize = 64;
/// Numbers of a source that are remembered for a neighbour: more than any queue holds.
const REMEMBERED: usize = 512;
/// The most links with a known delivery probability.
const MOST_LINKS: usize = MOST * MOST;

/// The natives of a source that a neighbour reported. Each report covers few numbers, and this window covers
/// many.
#[derive(Debug)]
struct Said {
    last: u32,
    /// Bits by the numbers' low bits, for the last number and [`REMEMBERED`] before it.
    has: [u64; REMEMBERED / 64],
}

impl Said {
    fn new(last: u32) -> Self {
        Said { last, has: [0; REMEMBERED / 64] }
    }

    fn place(number: u32) -> (usize, u64) {
        let at = number as usize % REMEMBERED;
        (at / 64, 1 << (at % 64))
    }

    /// Advances to a number and forgets those that are too old. A number far behind starts a new window.
    fn go_on(&mut self, last: u32) {
        let ahead = last.wrapping_sub(self.last) as i32;
        if ahead.unsigned_abs() as usize >= REMEMBERED {
            *self = Said::new(last);
            return; // whoever says numbers far apart makes nobody count from one to the other
        }
        for number in (1..=ahead).map(|step| self.last.wrapping_add_signed(step)) {
            let (word, bit) = Said::place(number);
            self.has[word] &= !bit;
        }
        if ahead > 0 || self.has == [0; REMEMBERED / 64] {
            self.last = last;
        }
    }

    fn note(&mut self, window: Window) {
        self.go_on(window.last);
        let behind = (1..=window::REMEMBERED).filter(|back| window.before >> (back - 1) & 1 == 1);
        for number in behind.chain([0]).map(|back| window.last.wrapping_sub(back)) {
            if (self.last.wrapping_sub(number) as usize) < REMEMBERED {
                let (word, bit) = Said::place(number);
                self.has[word] |= bit;
            }
        }
    }

    /// Whether the neighbour has a number; `None` outside the window.
    fn holds(&self, number: u32) -> Option<bool> {
        let (word, bit) = Said::place(number);
        ((self.last.wrapping_sub(number) as usize) < REMEMBERED).then(|| self.has[word] & bit != 0)
    }
}

/// All neighbours.
#[derive(Debug, Default)]
pub struct Neighbours {
    reports: BTreeMap<u16, BTreeMap<u16, Said>>,
    delivery: BTreeMap<(u16, u16), f64>,
}

impl Neighbours {
    /// Sets the probability that one node receives from another, as routing measures it.
    pub fn set_delivery(&mut self, from: u16, to: u16, probability: f64) {
        if self.delivery.len() < MOST_LINKS || self.delivery.contains_key(&(from, to)) {
            self.delivery.insert((from, to), probability.clamp(0.0, 1.0));
        }
    }

    fn said_by(&mut self, neighbour: u16) -> &mut BTreeMap<u16, Said> {
        if self.reports.len() >= MOST && !self.reports.contains_key(&neighbour) {
            self.reports.pop_first();
        }
        self.reports.entry(neighbour).or_default()
    }

    /// Notes a neighbour's report about the natives of a source.
    pub fn record_report(&mut self, neighbour: u16, source: u16, said: Window) {
        let by = self.said_by(neighbour);
        if by.len() >= MOST && !by.contains_key(&source) {
            by.pop_first();
        }
        by.entry(source).or_insert_with(|| Said::new(said.last)).note(said);
    }

    /// Notes a neighbour's restart: its pool is empty.
    pub fn forget(&mut self, neighbour: u16) {
        self.reports.remove(&neighbour);
    }

    /// Probability that a neighbour has a native that came here from `previous`.
    pub fn probability(&self, neighbour: u16, id: PacketId, previous: u16) -> f64 {
        if neighbour == id.source || neighbour == previous {
            return 1.0;
        }
        let said = self.reports.get(&neighbour).and_then(|by| by.get(&id.source));
        match said.and_then(|said| said.holds(id.number)) {
            Some(has) => f64::from(u8::from(has)),
            // Without a report about this number.
            None => self.delivery.get(&(previous, neighbour)).copied().unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_believed_and_what_was_not_reported_yet_is_guessed() {
        let mut neighbours = Neighbours::default();
        let id = |number| PacketId { source: 1, number };
        neighbours.set_delivery(1, 3, 0.9);
        assert_eq!(neighbours.probability(3, id(7), 1), 0.9);
        assert_eq!(neighbours.probability(4, id(7), 1), 0.0);
        assert_eq!([neighbours.probability(1, id(7), 2), neighbours.probability(2, id(7), 2)], [1.0, 1.0]);
        neighbours.record_report(3, 1, Window { last: 8, before: 0b10 });
        let known = [5, 6, 7, 8, 9].map(|number| neighbours.probability(3, id(number), 1));
        assert_eq!(known, [0.0, 1.0, 0.0, 1.0, 0.9]);
        // A report is remembered for hundreds of later numbers.
        neighbours.record_report(3, 1, Window { last: 300, before: 1 });
        let known = [6, 7, 8, 150, 299, 301].map(|number| neighbours.probability(3, id(number), 1));
        assert_eq!(known, [1.0, 0.0, 1.0, 0.0, 1.0, 0.9]);
        neighbours.record_report(3, 1, Window::new(600));
        let known = [6, 8, 300, 599, 600].map(|number| neighbours.probability(3, id(number), 1));
        assert_eq!(known, [0.9, 0.9, 1.0, 0.0, 1.0]);
        neighbours.record_report(3, 1, Window { last: 500, before: 0 });
        assert_eq!(neighbours.probability(3, id(500), 1), 1.0, "a report that was overtaken");
        neighbours.record_report(3, 1, Window::new(7));
        assert_eq!(
            [7, 600].map(|number| neighbours.probability(3, id(number), 1)),
            [1.0, 0.9],
            "a new beginning"
        );
        neighbours.forget(3);
        assert_eq!(neighbours.probability(3, id(7), 1), 0.9);
        for name in 0..1000 {
            neighbours.record_report(name, name, Window::new(1));
            neighbours.record_report(3, name, Window::new(1));
        }
        assert!(neighbours.reports.len() <= MOST && neighbours.reports[&3].len() <= MOST);
    }
}
