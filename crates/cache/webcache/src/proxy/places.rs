//! Permits for connections at a door: a total, and a share for each client, so that no client takes all.

use crate::client::network_of;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The permits of one door.
pub(super) struct Places {
    all: Arc<Semaphore>,
    each: usize,
    /// Connections by client; only clients with connections have entries.
    taken: Mutex<HashMap<IpAddr, usize>>,
}

/// A permit, until it is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    client: IpAddr,
    _one: OwnedSemaphorePermit,
}

impl Places {
    /// `all` permits in total, and `each` for each client.
    pub(super) fn new(all: usize, each: usize) -> Arc<Self> {
        Arc::new(Places { all: Arc::new(Semaphore::new(all)), each, taken: Mutex::default() })
    }

    /// Waits for a permit for any client; `None` if the door is closed.
    pub(super) async fn one(&self) -> Option<OwnedSemaphorePermit> {
        self.all.clone().acquire_owned().await.ok()
    }

    /// Assigns a permit to a client; `None` if the client has its maximum. A client on this machine acts for
    /// others and has no maximum of its own.
    pub(super) fn give(self: &Arc<Self>, one: OwnedSemaphorePermit, client: IpAddr) -> Option<Place> {
        let client = network_of(client);
        let mut taken = self.taken();
        let own = taken.get(&client).copied().unwrap_or(0);
        if own >= self.each && !client.is_loopback() {
            return None;
        }
        taken.insert(client, own + 1);
        Some(Place { places: self.clone(), client, _one: one })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        if let Some(own) = taken.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[tokio::test]
    async fn one_client_does_not_take_what_another_comes_for() {
        let places = Places::new(4, 2);
        let mut held = Vec::new();
        for client in ["10.0.0.1", "10.0.0.1", "fd00::1", "10.0.0.1"].map(address) {
            held.extend(places.give(places.one().await.unwrap(), client));
        }
        assert_eq!(held.len(), 3, "the third of 10.0.0.1 got none");
        held.extend(places.give(places.one().await.unwrap(), address("fd00::2:3")));
        assert!(places.all.try_acquire().is_err(), "all are taken");
        held.remove(0);
        assert!(places.give(places.one().await.unwrap(), address("fd00::4")).is_none(), "one network");
        assert!(places.give(places.one().await.unwrap(), address("10.0.0.1")).is_some());
        held.clear();
        assert!(places.taken().is_empty());
    }

    #[tokio::test]
    async fn who_is_on_this_machine_speaks_for_others() {
        let places = Places::new(4, 1);
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(places.give(places.one().await.unwrap(), address("::1")).unwrap());
        }
    }
}
