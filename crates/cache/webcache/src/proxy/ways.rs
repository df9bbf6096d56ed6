//! Along which ways a request may be sent, best first.

use super::request::{Asked, Door};
use super::upstream::{Kind, Way};
use super::{Proxy, now};
use crate::semantics::UnixSeconds;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a name may take to resolve.
const RESOLVING: Duration = Duration::from_secs(5);
/// For how long an answer is believed.
const BELIEVED_SECONDS: u64 = 30;
/// Names remembered.
const MOST_NAMES: usize = 4096;

/// Names that were looked up lately.
#[derive(Debug, Default)]
pub(super) struct Names(Mutex<HashMap<String, (UnixSeconds, Vec<IpAddr>)>>);

impl Names {
    /// The addresses of a host; none where it has none or nobody says.
    async fn resolve(&self, host: &str) -> Vec<IpAddr> {
        if let Ok(address) = host.parse() {
            return vec![address];
        }
        let now = now();
        if let Some((until, known)) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(host)
            && now < *until
        {
            return known.clone();
        }
        let looked_up = tokio::time::timeout(RESOLVING, tokio::net::lookup_host((host, 0))).await;
        let addresses: Vec<IpAddr> = match looked_up {
            Ok(Ok(found)) => found.map(|found| found.ip()).collect(),
            _ => Vec::new(),
        };
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= MOST_NAMES {
            names.clear();
        }
        names.insert(host.to_owned(), (now + BELIEVED_SECONDS, addresses.clone()));
        addresses
    }
}

impl Proxy {
    /// Whether Host names where the client was going. One that does not would let a client put its own
    /// content under another's name; the request is then passed on to where it was going, and nothing of it
    /// is kept.
    pub(super) async fn is_host_right(&self, asked: &Asked) -> bool {
        let Door::Transparent(destination) = &asked.door else { return true };
        if !self.settings.verify_host || asked.names_address(destination.ip()) {
            return asked.key.port() == destination.port();
        }
        let addresses = self.names.resolve(asked.key.host()).await;
        asked.key.port() == destination.port() && addresses.contains(&destination.ip())
    }

    /// The addresses of a host that a client may be led to. Only who is on this machine is led to this
    /// machine's own: what listens there trusts whoever can come.
    pub(super) async fn names_of(&self, host: &str, client: IpAddr) -> Vec<IpAddr> {
        let mut addresses = self.names.resolve(host).await;
        let inward = |address: &IpAddr| {
            let address = address.to_canonical();
            address.is_loopback() || address.is_unspecified() || address.is_multicast()
        };
        if !client.is_loopback() && addresses.iter().any(inward) {
            self.statistics.refuse("inward");
            addresses.retain(|address| !inward(address));
        }
        addresses
    }

    /// The ways for content that may come out of another router's cache.
    pub(super) async fn ways(&self, asked: &Asked) -> Vec<Way> {
        let mut ways = match &self.settings.selector {
            Some(selector) if asked.trusted => selector.ways(&asked.key, asked.door == Door::Peer).await,
            _ => Vec::new(),
        };
        if let Some(icp) = self.settings.icp.as_ref().filter(|_| asked.trusted && !asked.is_from_router()) {
            ways.extend(icp.ways(&asked.key).await);
        }
        // Routers that are all gone still may route.
        ways.extend(self.ways_to_origin(asked).await);
        ways
    }

    /// The ways for what only the origin can answer.
    pub(super) async fn ways_to_origin(&self, asked: &Asked) -> Vec<Way> {
        let origin = |address: SocketAddr| Way { address, kind: Kind::Origin };
        if let Door::Transparent(destination) = &asked.door {
            return vec![origin(*destination)];
        }
        let addresses = match asked.door {
            // The operator names a reverse proxy's upstreams.
            Door::Reverse => self.names.resolve(asked.key.host()).await,
            _ => self.names_of(asked.key.host(), asked.client).await,
        };
        addresses.into_iter().map(|address| origin((address, asked.key.port()).into())).collect()
    }
}
