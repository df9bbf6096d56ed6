//! What is known of neighbours: which natives they have by their reports, and how likely they have what they
//! have said nothing of (COPE, sections 3.2 and 6.2).

use std::collections::BTreeMap;

use super::PacketId;

use super::window::{self, Window};

/// The most neighbours, and the most sources that one may report of; beyond that the one with the lowest name
/// gives way.
const MOST: usize = 64;
/// Numbers of a source that are remembered of a neighbour: more than wait in any queue.
const REMEMBERED: usize = 512;
/// The most links whose delivery is known.
const MOST_LINKS: usize = MOST * MOST;

/// Which natives of a source a neighbour has said that it has. Reports tell of a few numbers at a time; those
/// that wait here are many.
#[derive(Debug)]
struct Said {
    last: u32,
    /// By the number's low bits; none older than [`REMEMBERED`] numbers before the last.
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

    /// Goes on to a number, forgetting what is too old then. One that is far behind is a new beginning.
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

    /// Whether it has a number; none where that is older or newer than what is known.
    fn holds(&self, number: u32) -> Option<bool> {
        let (word, bit) = Said::place(number);
        ((self.last.wrapping_sub(number) as usize) < REMEMBERED).then(|| self.has[word] & bit != 0)
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Neighbours {
    reports: BTreeMap<u16, BTreeMap<u16, Said>>,
    delivery: BTreeMap<(u16, u16), f64>,
}

impl Neighbours {
    /// How likely one node hears another, as routing measures it.
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

    /// A neighbour says which natives of a source it has.
    pub fn record_report(&mut self, neighbour: u16, source: u16, said: Window) {
        let by = self.said_by(neighbour);
        if by.len() >= MOST && !by.contains_key(&source) {
            by.pop_first();
        }
        by.entry(source).or_insert_with(|| Said::new(said.last)).note(said);
    }

    /// A neighbour has started again: its pool is empty.
    pub fn forget(&mut self, neighbour: u16) {
        self.reports.remove(&neighbour);
    }

    /// How likely a neighbour has a native that came here from `previous`.
    pub fn probability(&self, neighbour: u16, id: PacketId, previous: u16) -> f64 {
        if neighbour == id.source || neighbour == previous {
            return 1.0;
        }
        let said = self.reports.get(&neighbour).and_then(|by| by.get(&id.source));
        match said.and_then(|said| said.holds(id.number)) {
            Some(has) => f64::from(u8::from(has)),
            // it has not said anything of this one yet
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
        // what was said once is remembered while hundreds follow
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
