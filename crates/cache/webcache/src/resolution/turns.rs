//! Permits for slow work: a total, and a share for each client. A client waits only behind its own work.

use super::Asker;
use crate::client::network_of;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A router's share in client shares, because it asks for all of its clients.
const ROUTER_SHARE: usize = 4;

/// The permits.
#[derive(Debug)]
pub(super) struct Turns {
    all: Arc<Semaphore>,
    each: usize,
    /// Permits by asker; only askers with a permit or a wait have entries.
    askers: Mutex<HashMap<Asker, Own>>,
}

/// A client's permits, and the number of its users.
#[derive(Debug)]
struct Own {
    turns: Arc<Semaphore>,
    users: usize,
}

/// A permit, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _place: Place,
    _own: Option<OwnedSemaphorePermit>,
    _one: Option<OwnedSemaphorePermit>,
}

impl Turns {
    /// `all` permits in total, and `each` for each client.
    pub fn new(all: usize, each: usize) -> Arc<Self> {
        Arc::new(Turns { all: Arc::new(Semaphore::new(all)), each, askers: Mutex::default() })
    }

    /// Waits for one of the asker's permits, and then for one of all, each in order of arrival. A client on
    /// this machine acts for others and has no share of its own.
    pub async fn take(self: &Arc<Self>, asker: Asker) -> Turn {
        let (place, turns) = self.place(Asker { client: network_of(asker.client), ..asker });
        let own = if asker.client.is_loopback() { None } else { turns.acquire_owned().await.ok() };
        let one = self.all.clone().acquire_owned().await.ok();
        Turn { _place: place, _own: own, _one: one }
    }

    fn place(self: &Arc<Self>, asker: Asker) -> (Place, Arc<Semaphore>) {
        let each = if asker.is_router { self.each * ROUTER_SHARE } else { self.each };
        let mut askers = self.askers();
        let own =
            askers.entry(asker).or_insert_with(|| Own { turns: Arc::new(Semaphore::new(each)), users: 0 });
        own.users += 1;
        (Place { turns: self.clone(), asker }, own.turns.clone())
    }

    fn askers(&self) -> MutexGuard<'_, HashMap<Asker, Own>> {
        self.askers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An asker's entry, dropped with its last user.
#[derive(Debug)]
struct Place {
    turns: Arc<Turns>,
    asker: Asker,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut askers = self.turns.askers();
        if let Some(own) = askers.get_mut(&self.asker) {
            own.users -= 1;
            if own.users == 0 {
                askers.remove(&self.asker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_millis(50);

    fn client(last: u8) -> Asker {
        Asker { client: [10, 0, 0, last].into(), is_router: false }
    }

    #[tokio::test]
    async fn a_client_waits_behind_its_own_turns_and_not_behind_anothers() {
        let turns = Turns::new(3, 2);
        let first = turns.take(client(1)).await;
        let _second = turns.take(client(1)).await;
        assert!(timeout(SOON, turns.take(client(1))).await.is_err(), "it has two");
        let third = timeout(SOON, turns.take(client(2))).await.unwrap();
        assert!(timeout(SOON, turns.take(client(3))).await.is_err(), "there are three");
        drop(third);
        assert!(timeout(SOON, turns.take(client(3))).await.is_ok());
        drop(first);
        assert!(timeout(SOON, turns.take(client(1))).await.is_ok());
    }

    #[tokio::test]
    async fn a_router_has_a_larger_share_of_its_own() {
        let turns = Turns::new(9, 1);
        let router = Asker { is_router: true, ..client(1) };
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(timeout(SOON, turns.take(router)).await.unwrap());
        }
        assert!(timeout(SOON, turns.take(router)).await.is_err());
        assert!(timeout(SOON, turns.take(client(1))).await.is_ok());
    }

    #[tokio::test]
    async fn nothing_is_left_of_a_client_that_waits_no_longer() {
        let turns = Turns::new(4, 1);
        let held = turns.take(client(1)).await;
        assert!(timeout(SOON, turns.take(client(1))).await.is_err());
        assert_eq!(turns.askers().len(), 1);
        drop(held);
        assert!(turns.askers().is_empty());
        assert_eq!(turns.all.available_permits(), 4);
    }

    #[tokio::test]
    async fn who_is_on_this_machine_speaks_for_others() {
        let turns = Turns::new(4, 1);
        let here = Asker { client: [127, 0, 0, 1].into(), is_router: false };
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(timeout(SOON, turns.take(here)).await.unwrap());
        }
    }
}
