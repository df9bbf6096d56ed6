//! The addresses of names. Waiting for a name server takes a turn of the client's and no thread, so that
//! names that nobody answers for hold up neither other clients nor reads from disk.

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

/// How long a lookup may wait for its turn, and how long it may take then.
const PATIENCE: Duration = Duration::from_secs(5);
/// For how long an answer is believed, that there is none included.
const BELIEVED: Duration = Duration::from_secs(30);
/// For how long a name is not asked for again that no server answered for.
const SILENCE: Duration = Duration::from_secs(10);
/// Names remembered.
const MOST_NAMES: usize = 4096;
/// Addresses of a name that are used: each that does not answer costs a request time.
const MOST_ADDRESSES: usize = 8;
/// Lookups at a time.
const MOST_LOOKUPS: usize = 256;
/// Lookups at a time of one client.
const LOOKUPS_EACH: usize = 16;

/// For whom a name is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Asker {
    /// Its address.
    pub client: IpAddr,
    /// Whether it is another router.
    pub is_router: bool,
}

/// Names that were looked up lately.
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
    /// The addresses of a host, best first; empty where it has none or nobody says. What was known of a host
    /// stands as long as no server answers. `None`: too many names are being looked up for whoever asks.
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
            // nobody was asked: nothing is learnt of the name
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
