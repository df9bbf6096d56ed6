//! Permits for connections, of which strangers cannot hold the last one.
//!
//! A connection *waits* until its request is authorized, and is then *served*. Both numbers are bounded, and
//! a newcomer never waits: without room, the oldest connection of its own address or of all is closed. An
//! operator sends the whole request at once, while a slow sender soon is the oldest.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The most waiting connections.
const WAITING: usize = 128;
/// The most waiting connections of one address: four browsers with six each.
const WAITING_EACH: usize = 24;
/// The most served connections.
const SERVED: usize = 32;

#[derive(Debug)]
struct Entry {
    number: u64,
    from: IpAddr,
    leave: Arc<Notify>,
}

/// Connections in order of arrival.
#[derive(Debug, Default)]
struct State {
    next: u64,
    waiting: Vec<Entry>,
    served: Vec<Entry>,
}

/// All permits.
#[derive(Debug, Clone, Default)]
pub struct Places(Arc<Mutex<State>>);

/// A connection's permit, returned when dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    number: u64,
    leave: Arc<Notify>,
}

impl Places {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a newcomer from this address displaces another connection.
    pub fn are_taken(&self, from: IpAddr) -> bool {
        let (from, state) = (whose(from), self.state());
        state.waiting.len() >= WAITING
            || state.waiting.iter().filter(|entry| entry.from == from).count() >= WAITING_EACH
    }

    /// A permit to wait.
    pub fn enter(&self, from: IpAddr) -> Place {
        let (from, leave) = (whose(from), Arc::new(Notify::new()));
        let mut state = self.state();
        let of_this_address = state.waiting.iter().filter(|entry| entry.from == from).count();
        if of_this_address >= WAITING_EACH {
            if let Some(at) = state.waiting.iter().position(|entry| entry.from == from) {
                state.waiting.remove(at).leave.notify_one();
            }
        } else if state.waiting.len() >= WAITING {
            state.waiting.remove(0).leave.notify_one();
        }
        let number = state.next;
        state.next += 1;
        state.waiting.push(Entry { number, from, leave: leave.clone() });
        Place { places: self.clone(), number, leave }
    }
}

impl Place {
    /// Marks the request as authorized, so that strangers cannot displace it.
    pub fn serve(&self) {
        let mut state = self.places.state();
        let Some(at) = state.waiting.iter().position(|entry| entry.number == self.number) else { return };
        let entry = state.waiting.remove(at);
        if state.served.len() >= SERVED {
            state.served.remove(0).leave.notify_one();
        }
        state.served.push(entry);
    }

    /// Returns when this permit is displaced.
    pub async fn is_lost(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.state();
        let State { waiting, served, .. } = &mut *state;
        for entries in [waiting, served] {
            entries.retain(|entry| entry.number != self.number);
        }
    }
}

/// The owner of an address: an IPv6 host chooses addresses from a network of 64 bits.
fn whose(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn is_lost(place: &Place) -> bool {
        let state = place.places.state();
        !state.waiting.iter().chain(&state.served).any(|entry| entry.number == place.number)
    }

    #[test]
    fn a_newcomer_takes_the_oldest_place_of_its_own_address_first() {
        let places = Places::default();
        let other = places.enter(address("192.0.2.9"));
        let own: Vec<Place> = (0..WAITING_EACH).map(|_| places.enter(address("192.0.2.1"))).collect();
        assert!(places.are_taken(address("192.0.2.1")) && !places.are_taken(address("192.0.2.2")));
        let _newcomer = places.enter(address("192.0.2.1"));
        assert!(is_lost(&own[0]) && !is_lost(&own[1]) && !is_lost(&other));
    }

    #[test]
    fn who_is_served_keeps_the_place_whoever_comes() {
        let places = Places::default();
        let operator = places.enter(address("192.0.2.1"));
        operator.serve();
        let strangers: Vec<Place> =
            (0..1000_u32).map(|number| places.enter(IpAddr::from(number.to_be_bytes()))).collect();
        assert!(!is_lost(&operator));
        assert_eq!(strangers.iter().filter(|place| !is_lost(place)).count(), WAITING);
        // Other authorized connections take turns.
        for place in strangers.iter().filter(|place| !is_lost(place)).take(SERVED) {
            place.serve();
        }
        assert!(is_lost(&operator));
        drop(strangers);
        assert!(places.state().waiting.is_empty() && places.state().served.is_empty());
    }

    #[test]
    fn a_host_has_all_addresses_of_its_network_and_an_ipv4_address_is_one_in_either_form() {
        assert_eq!(whose(address("2001:db8::1")), whose(address("2001:db8::ffff:1")));
        assert_ne!(whose(address("2001:db8:0:1::1")), whose(address("2001:db8::1")));
        assert_eq!(whose(address("::ffff:192.0.2.1")), address("192.0.2.1"));
    }
}
