//! What is known of neighbours: which natives they have by their reports, and how likely they have what they have said
//! nothing of (COPE, sections 3.2 and 6.2).

use std::collections::BTreeMap;

use wire::cope::PacketId;

use super::window::Window;

/// The most neighbours, and the most sources that one may report of; beyond that the one with the lowest name gives way.
const MOST: usize = 64;
/// The most links whose delivery is known.
const MOST_LINKS: usize = MOST * MOST;
const NUMBER_BITS: u32 = 32;

/// All of them.
#[derive(Debug, Default)]
pub struct Neighbours {
    reports: BTreeMap<u16, BTreeMap<u16, Window>>,
    delivery: BTreeMap<(u16, u16), f64>,
}

impl Neighbours {
    /// How likely one node hears another, as routing measures it.
    pub fn set_delivery(&mut self, from: u16, to: u16, probability: f64) {
        if self.delivery.len() < MOST_LINKS || self.delivery.contains_key(&(from, to)) {
            self.delivery.insert((from, to), probability.clamp(0.0, 1.0));
        }
    }

    fn windows(&mut self, neighbour: u16) -> &mut BTreeMap<u16, Window> {
        if self.reports.len() >= MOST && !self.reports.contains_key(&neighbour) {
            self.reports.pop_first();
        }
        self.reports.entry(neighbour).or_default()
    }

    /// A neighbour says which natives of a source it has.
    pub fn reported(&mut self, neighbour: u16, source: u16, said: Window) {
        let windows = self.windows(neighbour);
        if let Some(window) = windows.get_mut(&source) {
            window.join(said, NUMBER_BITS);
            return;
        }
        if windows.len() >= MOST {
            windows.pop_first();
        }
        windows.insert(source, said);
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
        let window = self.reports.get(&neighbour).and_then(|windows| windows.get(&id.source));
        match window.and_then(|window| window.holds(id.number, NUMBER_BITS)) {
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
        neighbours.reported(3, 1, Window { last: 8, before: 0b10 });
        let known = [5, 6, 7, 8, 9].map(|number| neighbours.probability(3, id(number), 1));
        assert_eq!(known, [0.0, 1.0, 0.0, 1.0, 0.9]);
        neighbours.forget(3);
        assert_eq!(neighbours.probability(3, id(7), 1), 0.9);
        for name in 0..1000 {
            neighbours.reported(name, name, Window::new(1));
            neighbours.reported(3, name, Window::new(1));
        }
        assert!(neighbours.reports.len() <= MOST && neighbours.reports[&3].len() <= MOST);
    }
}
