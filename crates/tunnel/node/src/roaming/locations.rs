//! A gateway's end: which of its stations are associated with it, and which with another gateway.
//!
//! A gateway believes a station's own word, over the session between them, for [`BELIEVED_FOR`] against all
//! other gateways. So a gateway that lies cannot take a station that is here. The word of a gateway counts
//! while the station is silent, which means out of reach. It counts only while it is repeated.

use std::collections::BTreeMap;
use std::time::Duration;
use wire::neighbours::{Message, Said, StationName};

/// How long a station's own word outweighs others'. It says it every two seconds.
const BELIEVED_FOR: Duration = Duration::from_secs(5);
/// How often other gateways are told which stations are here.
const SAY_EVERY: Duration = Duration::from_secs(2);
/// How long it counts what another gateway said.
const FORGET_AFTER: Duration = Duration::from_secs(16);

/// Where a station is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// With this gateway, as far as is known.
    #[default]
    Here,
    /// With this peer.
    There(usize),
}

/// A station that is somewhere else now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// The peer.
    pub station: usize,
    /// Where it is.
    pub to: Place,
}

/// Knowledge of one station.
#[derive(Debug, Default)]
struct Station {
    name: StationName,
    /// Its association with this gateway (0 for none) in its last message, and the time of that message.
    word: Option<(u8, Duration)>,
    /// The last gateway that claimed the station, and the time.
    hearsay: Option<(usize, Duration)>,
    /// The conclusion.
    place: Place,
}

/// Of all of them.
pub(crate) struct Locations {
    neighbours: Vec<usize>,
    boot: u32,
    /// By peer.
    stations: BTreeMap<usize, Station>,
    say_at: Duration,
    followed_at: Duration,
}

impl Locations {
    /// All are here until something else is known. `None`: there is no other gateway.
    pub fn new(
        neighbours: &[usize],
        boot: u32,
        stations: impl Iterator<Item = (usize, StationName)>,
        now: Duration,
    ) -> Option<Self> {
        let stations = stations.map(|(peer, name)| (peer, Station { name, ..Station::default() }));
        let (neighbours, stations) = (neighbours.to_vec(), stations.collect());
        (!neighbours.is_empty()).then_some(Locations {
            neighbours,
            boot,
            stations,
            say_at: now,
            followed_at: now,
        })
    }

    /// The other gateways.
    pub fn neighbours(&self) -> &[usize] {
        &self.neighbours
    }

    /// Whether this peer is another gateway.
    pub fn is_neighbour(&self, peer: usize) -> bool {
        self.neighbours.contains(&peer)
    }

    /// Where a peer is, if it is a station.
    pub fn place(&self, peer: usize) -> Option<Place> {
        self.stations.get(&peer).map(|station| station.place)
    }

    /// Index of the peer that reaches this one.
    pub fn way(&self, peer: usize) -> usize {
        match self.place(peer) {
            Some(Place::There(gateway)) => gateway,
            Some(Place::Here) | None => peer,
        }
    }

    /// Whether a peer is a station that is associated here, as far as is known.
    pub fn is_associated(&self, peer: usize) -> bool {
        let here = |station: &Station| {
            station.place == Place::Here && station.word.is_none_or(|(association, _)| association > 0)
        };
        self.stations.get(&peer).is_some_and(here)
    }

    /// A station says which of its associations is with this gateway, 0 for none. Whether it is another one
    /// than before.
    pub fn record_association(&mut self, now: Duration, peer: usize, association: u8) -> bool {
        let Some(station) = self.stations.get_mut(&peer) else { return false };
        let before = station.word.replace((association, now)).map(|(before, _)| before);
        if before != Some(association) && association > 0 {
            self.say_at = now;
        }
        // the first word after a start ends nothing that there was before, unless it says so
        before.map_or(association == 0, |before| before != association)
    }

    /// A peer has just started: a station has said nothing yet, a gateway knows nothing.
    pub fn record_start(&mut self, now: Duration, peer: usize) {
        if let Some(station) = self.stations.get_mut(&peer) {
            station.word = None;
        }
        if self.is_neighbour(peer) {
            for station in self.stations.values_mut() {
                station.hearsay.take_if(|(gateway, _)| *gateway == peer);
            }
            self.say_at = now;
        }
    }

    /// Another gateway says that it has a station.
    pub fn record_claim(&mut self, now: Duration, gateway: usize, name: StationName) {
        if let Some(station) = self.stations.values_mut().find(|station| station.name == name) {
            station.hearsay = Some((gateway, now));
        }
    }

    /// Draws the conclusions, and gives the first station that is somewhere else by them than before. `is_up`
    /// says whether there is a session with a peer.
    pub fn follow(&mut self, now: Duration, is_up: impl Fn(usize) -> bool) -> Option<Change> {
        self.followed_at = now;
        for (peer, station) in &mut self.stations {
            let there = station.hearsay.filter(|(_, at)| now < *at + FORGET_AFTER);
            let is_here = match station.word {
                Some((association, at)) => association > 0 && now < at + BELIEVED_FOR,
                // one that knows a single gateway says nothing
                None => is_up(*peer),
            };
            let place = match there {
                Some((gateway, _)) if !is_here => Place::There(gateway),
                _ => Place::Here,
            };
            if std::mem::replace(&mut station.place, place) != place {
                return Some(Change { station: *peer, to: place });
            }
        }
        None
    }

    /// The due messages to other gateways: one for each station that is here.
    pub fn say(&mut self, now: Duration, is_up: impl Fn(usize) -> bool) -> Option<Vec<Vec<u8>>> {
        if now < self.say_at {
            return None;
        }
        self.say_at = now + SAY_EVERY;
        let boot = self.boot;
        let is_here = |(peer, station): &(&usize, &Station)| match station.word {
            Some((association, at)) => association > 0 && now < at + BELIEVED_FOR,
            None => station.place == Place::Here && is_up(**peer),
        };
        let message = |(_, station): (&usize, &Station)| {
            let mut message = Vec::new();
            Message { boot, station: station.name, said: Said::Has }.emit(&mut message);
            message
        };
        Some(self.stations.iter().filter(is_here).map(message).collect())
    }

    /// When there is something to conclude or to say.
    pub fn timeout(&self) -> Duration {
        let weighed = |station: &Station| {
            let (association, at) = station.word?;
            let matters = association > 0 && station.hearsay.is_some() && station.place == Place::Here;
            matters.then_some(at + BELIEVED_FOR)
        };
        let weighed = self.stations.values().filter_map(weighed).filter(|at| *at > self.followed_at).min();
        weighed.map_or(self.say_at, |at| at.min(self.say_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    /// The peers: a station, and two other gateways.
    const STATION: usize = 0;
    const OTHERS: [usize; 2] = [1, 2];
    const NAME: StationName = 77;

    fn locations() -> Locations {
        let stations = [(STATION, NAME)].into_iter();
        Locations::new(&OTHERS, 1, stations, Duration::ZERO).unwrap()
    }

    fn place(it: &mut Locations, now: Duration, is_up: bool) -> Option<Place> {
        while it.follow(now, |_| is_up).is_some() {}
        it.place(STATION)
    }

    #[test]
    fn a_gateway_that_lies_takes_no_station_away_that_says_it_is_here() {
        let mut it = locations();
        for second in 0..60 {
            let now = second * SECOND;
            if second % 2 == 0 {
                it.record_association(now, STATION, 1);
            }
            it.record_claim(now, OTHERS[0], NAME);
            assert_eq!(place(&mut it, now, true), Some(Place::Here), "after {second} s");
            assert!(it.is_associated(STATION));
        }
        // it falls silent, and the other gateway goes on saying so
        let now = 70 * SECOND;
        it.record_claim(now, OTHERS[0], NAME);
        assert_eq!(place(&mut it, now, true), Some(Place::There(OTHERS[0])));
        assert_eq!(it.way(STATION), OTHERS[0]);
        it.record_association(now, STATION, 1);
        assert_eq!(place(&mut it, now, true), Some(Place::Here), "its word counts again at once");
    }

    #[test]
    fn one_that_knows_a_single_gateway_says_nothing_and_stays() {
        let mut it = locations();
        it.record_claim(SECOND, OTHERS[0], NAME);
        assert_eq!(place(&mut it, SECOND, true), Some(Place::Here));
        assert_eq!(place(&mut it, SECOND, false), Some(Place::There(OTHERS[0])), "it is not to be had here");
    }

    #[test]
    fn what_a_gateway_said_ages_out_and_goes_with_its_start() {
        let mut it = locations();
        it.record_association(SECOND, STATION, 0);
        assert!(!it.is_associated(STATION));
        it.record_claim(SECOND, OTHERS[1], NAME);
        assert_eq!(place(&mut it, 10 * SECOND, true), Some(Place::There(OTHERS[1])));
        it.record_start(11 * SECOND, OTHERS[1]);
        assert_eq!(place(&mut it, 11 * SECOND, true), Some(Place::Here));
        it.record_claim(12 * SECOND, OTHERS[1], NAME);
        assert_eq!(place(&mut it, 27 * SECOND, true), Some(Place::There(OTHERS[1])));
        assert_eq!(place(&mut it, 28 * SECOND, true), Some(Place::Here));
    }

    #[test]
    fn timers_are_in_the_future_once_they_were_heeded() {
        let mut it = locations();
        it.record_association(Duration::ZERO, STATION, 1);
        it.record_claim(Duration::ZERO, OTHERS[0], NAME);
        let mut now = Duration::ZERO;
        for _ in 0..50 {
            place(&mut it, now, true);
            let _ = it.say(now, |_| true);
            assert!(it.timeout() > now, "at {now:?}");
            now = it.timeout();
        }
    }
}
