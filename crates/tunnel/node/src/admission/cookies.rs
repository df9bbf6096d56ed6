//! Cookies: who shows one has lately heard this node at the address that it speaks from.

use crate::handshake::derive;
use blake2::Blake2sMac;
use blake2::digest::consts::U16;
use blake2::digest::{KeyInit, Mac};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use wire::challenge::COOKIE_BYTES;
use wire::handshake::MARK_BYTES;

/// How long a secret makes cookies; it is accepted for as long again.
pub const SECRET_LIFETIME: Duration = Duration::from_secs(60);

/// What makes cookies and knows them again; nothing is remembered of any.
pub struct Cookies {
    root: [u8; 32],
}

impl Cookies {
    /// With this secret.
    #[must_use]
    pub fn new(root: [u8; 32]) -> Self {
        Cookies { root }
    }

    /// The cookie for whoever speaks from `address`.
    #[must_use]
    pub fn of(&self, now: Duration, address: SocketAddr) -> [u8; COOKIE_BYTES] {
        self.made_in(now.as_secs() / SECRET_LIFETIME.as_secs(), address)
    }

    /// Whether `mark` was made with such a cookie over `parts`.
    #[must_use]
    pub fn accept(
        &self,
        now: Duration,
        address: SocketAddr,
        mark: [u8; MARK_BYTES],
        parts: &[&[u8]],
    ) -> bool {
        let newest = now.as_secs() / SECRET_LIFETIME.as_secs();
        let made_in = |period| {
            let expected = cookie_mark(&self.made_in(period, address), parts);
            u128::from_be_bytes(expected) ^ u128::from_be_bytes(mark) == 0
        };
        made_in(newest) || newest.checked_sub(1).is_some_and(made_in)
    }

    fn made_in(&self, period: u64, address: SocketAddr) -> [u8; COOKIE_BYTES] {
        let secret = derive(&self.root, &period.to_be_bytes());
        let mut mac = <Blake2sMac<U16> as KeyInit>::new(&secret.into());
        match address.ip() {
            IpAddr::V4(ip) => mac.update(&ip.to_ipv6_mapped().octets()),
            IpAddr::V6(ip) => mac.update(&ip.octets()),
        }
        mac.update(&address.port().to_be_bytes());
        mac.finalize().into_bytes().into()
    }
}

/// The mark that a cookie makes over `parts`: BLAKE2s-128 keyed with it.
#[must_use]
pub fn cookie_mark(cookie: &[u8; COOKIE_BYTES], parts: &[&[u8]]) -> [u8; MARK_BYTES] {
    let mut mac =
        <Blake2sMac<U16> as KeyInit>::new_from_slice(cookie).expect("BLAKE2s takes keys to 32 bytes");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_serves_at_its_address_for_a_while() {
        let cookies = Cookies::new([7; 32]);
        let now = Duration::from_secs(1000);
        let at = SocketAddr::from(([192, 0, 2, 1], 4780));
        let mark = cookie_mark(&cookies.of(now, at), &[b"header", b"noise"]);
        let accepts = |later, address, parts: &[&[u8]]| cookies.accept(now + later, address, mark, parts);
        assert!(accepts(Duration::ZERO, at, &[b"header", b"noise"]));
        assert!(accepts(SECRET_LIFETIME, at, &[b"headernoise"]));
        assert!(!accepts(2 * SECRET_LIFETIME, at, &[b"headernoise"]), "too late");
        assert!(!accepts(Duration::ZERO, ([192, 0, 2, 1], 4781).into(), &[b"headernoise"]), "elsewhere");
        assert!(!accepts(Duration::ZERO, at, &[b"headernoisE"]), "something else");
        assert!(!Cookies::new([8; 32]).accept(now, at, mark, &[b"headernoise"]), "another node's");
    }
}
