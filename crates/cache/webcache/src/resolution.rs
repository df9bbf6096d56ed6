//! Name resolution. A waiting look-up takes one of the client's permits and no thread. Names without an
//! answer therefore delay neither other clients nor disk reads.

mod order;
mod system;
mod turns;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use system::System;
use tokio::time::{Instant, timeout};
use turns::Turns;

/// Timeout of a look-up's wait for its permit, and of the look-up itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// Lifetime of an answer, also of a negative one.
const BELIEVED: Duration = Duration::from_secs(30);
/// Time before a name without any server's answer is looked up again.
const SILENCE: Duration = Duration::from_secs(10);
/// The most names remembered.
const MOST_NAMES: usize = 4096;
/// The most addresses of a name that are used, because each dead one costs a request time.
const MOST_ADDRESSES: usize = 8;
/// The most look-ups at a time.
const MOST_LOOKUPS: usize = 256;
/// The most look-ups of one client at a time.
const LOOKUPS_EACH: usize = 16;

/// The client of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Asker {
    /// Its address.
    pub client: IpAddr,
    /// Whether it is another router.
    pub is_router: bool,
}

/// Recently resolved names.
#[derive(Debug)]
pub(crate) struct Names {
    known: Mutex<HashMap<String, Known>>,
    turns: Arc<Turns>,
    system: System,
}

#[derive(Debug, Clone)]
struct Known {
    addresses: Vec<IpAddr>,
    until: Instant,
}

impl Default for Names {
    fn default() -> Self {
        let turns = Turns::new(MOST_LOOKUPS, LOOKUPS_EACH);
        Names { known: Mutex::default(), turns, system: System::default() }
    }
}

impl Names {
    /// The addresses of a host, best first; empty if it has none or no server answers. A known answer stays
    /// while no server answers. `None` if the asker has too many look-ups under way.
    pub async fn resolve(&self, host: &str, asker: Asker) -> Option<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            return Some(vec![address]);
        }
        let before = self.known().get(host).cloned();
        if let Some(known) = &before
            && Instant::now() < known.until
        {
            return Some(known.addresses.clone());
        }
        let Ok(_turn) = timeout(PATIENCE, self.turns.take(asker)).await else {
            // No server was asked, so nothing is learned about the name.
            return before.map(|known| known.addresses).filter(|known| !known.is_empty());
        };
        let stale = before.map(|known| known.addresses).unwrap_or_default();
        let answer = timeout(PATIENCE, self.system.addresses_of(host)).await.ok().flatten();
        let (addresses, believed) = match answer {
            Some(mut found) => {
                found.truncate(MOST_ADDRESSES);
                (order::in_order(found), BELIEVED)
            }
            None => (stale, SILENCE),
        };
        self.remember(host, addresses.clone(), believed);
        Some(addresses)
    }

    fn remember(&self, host: &str, addresses: Vec<IpAddr>, believed: Duration) {
        let mut known = self.known();
        if known.len() >= MOST_NAMES {
            known.clear();
        }
        known.insert(host.to_owned(), Known { addresses, until: Instant::now() + believed });
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
