//! The request and its door.

use crate::resolution::Asker;
use crate::semantics::directives::Directives;
use crate::semantics::key::{Key, NoTarget};
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Version};
use std::net::{IpAddr, SocketAddr};

/// The door of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Door {
    /// Intercepted on its way to this address.
    Transparent(SocketAddr),
    /// From a client that uses this forward proxy.
    Forward,
    /// From a client that treats this proxy as the origin.
    Reverse,
    /// From another router.
    Peer,
}

/// A valid request.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its door.
    pub door: Door,
    /// Address of the client.
    pub client: IpAddr,
    /// Its method.
    pub method: Method,
    /// Its target.
    pub key: Key,
    /// Its fields.
    pub headers: HeaderMap,
    /// Its cache directives.
    pub directives: Directives,
    /// Its version.
    pub version: Version,
    /// Whether Host names the connection's destination.
    pub trusted: bool,
}

impl Asked {
    /// Reads a request's head.
    pub fn of(parts: Parts, door: Door, client: IpAddr) -> Result<Self, NoTarget> {
        let Parts { method, uri, version, mut headers, .. } = parts;
        let unnamed = version == Version::HTTP_10 && !headers.contains_key(HOST) && uri.authority().is_none();
        if let (Door::Transparent(destination), true) = (&door, unnamed) {
            // HTTP/1.0 may omit the host; the connection gives it.
            let named = HeaderValue::try_from(destination.to_string()).map_err(|_| NoTarget::Host)?;
            headers.insert(HOST, named);
        }
        let key = Key::of(&uri, &headers)?;
        let directives = Directives::of_request(&headers);
        Ok(Asked { door, client, method, key, headers, directives, version, trusted: true })
    }

    /// Whether it comes from another router, and not from a client of this one.
    pub fn is_from_router(&self) -> bool {
        self.door == Door::Peer || self.headers.contains_key(hyper::header::VIA)
    }

    /// The asker for whom its names are resolved.
    pub(super) fn asker(&self) -> Asker {
        Asker { client: self.client, is_router: self.door == Door::Peer }
    }

    /// Whether the URI itself contains the connection's destination address.
    pub(super) fn names_address(&self, address: IpAddr) -> bool {
        self.key.host().parse::<IpAddr>().is_ok_and(|named| named == address)
    }

    /// Whether a cache may answer it.
    pub fn is_cacheable(&self) -> bool {
        use hyper::header::{IF_MATCH, IF_UNMODIFIED_SINCE, UPGRADE};
        // The origin evaluates preconditions for changes.
        let conditions = [IF_MATCH, IF_UNMODIFIED_SINCE, UPGRADE];
        matches!(self.method, Method::GET | Method::HEAD)
            && self.trusted
            && !conditions.iter().any(|condition| self.headers.contains_key(condition))
    }
}
