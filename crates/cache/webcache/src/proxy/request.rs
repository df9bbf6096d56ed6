//! What is asked for, and by which door it came.

use crate::resolution::Asker;
use crate::semantics::directives::Directives;
use crate::semantics::key::{Key, NoTarget};
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Version};
use std::net::{IpAddr, SocketAddr};

/// By which door a request came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// Taken on its way to this address.
    Transparent(SocketAddr),
    /// From a client that was told of this proxy.
    Forward,
    /// As if we were the origin.
    Reverse,
    /// From another router.
    Peer,
}

/// A request that makes sense.
#[derive(Debug, Clone)]
pub struct Asked {
    /// By which door it came.
    pub door: Door,
    /// Who asks.
    pub client: IpAddr,
    /// Its method.
    pub method: Method,
    /// What it is for.
    pub key: Key,
    /// Its fields.
    pub headers: HeaderMap,
    /// Its cache directives.
    pub directives: Directives,
    /// Its version.
    pub version: Version,
    /// Whether Host was found to name where the client went.
    pub trusted: bool,
}

impl Asked {
    /// Reads a request's head.
    pub fn of(parts: Parts, door: Door, client: IpAddr) -> Result<Self, NoTarget> {
        let Parts { method, uri, version, mut headers, .. } = parts;
        let unnamed = version == Version::HTTP_10 && !headers.contains_key(HOST) && uri.authority().is_none();
        if let (Door::Transparent(destination), true) = (&door, unnamed) {
            // HTTP/1.0 need not say the host; the connection does.
            let named = HeaderValue::try_from(destination.to_string()).map_err(|_| NoTarget::Host)?;
            headers.insert(HOST, named);
        }
        let key = Key::of(&uri, &headers)?;
        let directives = Directives::of_request(&headers);
        Ok(Asked { door, client, method, key, headers, directives, version, trusted: true })
    }

    /// Whether another router asks, and not a client of this one.
    pub fn is_from_router(&self) -> bool {
        self.door == Door::Peer || self.headers.contains_key(hyper::header::VIA)
    }

    /// For whom its names are looked up.
    pub(super) fn asker(&self) -> Asker {
        Asker { client: self.client, is_router: self.door == Door::Peer }
    }

    /// Whether the address that the client went to is written in the URI itself.
    pub(super) fn names_address(&self, address: IpAddr) -> bool {
        self.key.host().parse::<IpAddr>().is_ok_and(|named| named == address)
    }

    /// Whether a cache may answer it at all.
    pub fn is_cacheable(&self) -> bool {
        use hyper::header::{IF_MATCH, IF_UNMODIFIED_SINCE, UPGRADE};
        // Preconditions for changes are the origin's to judge.
        let conditions = [IF_MATCH, IF_UNMODIFIED_SINCE, UPGRADE];
        matches!(self.method, Method::GET | Method::HEAD)
            && self.trusted
            && !conditions.iter().any(|condition| self.headers.contains_key(condition))
    }
}
