//! Cookies: who shows one has lately heard this node at the address that it speaks from.

use crate::session::handshake::{derive, keyed_mark};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use wire::challenge::COOKIE_BYTES;
use wire::handshake::MARK_BYTES;

/// How long a secret makes cookies; it is accepted for as long again.
pub const SECRET_LIFETIME: Duration = Duration::from_secs(60);

/// Makes and verifies cookies, without state for any of them.
pub struct Cookies {
    root: [u8; 32],
}

impl Cookies {
    /// With this secret.
    #[must_use]
    pub fn new(root: [u8; 32]) -> Self {
        Cookies { root }
    }

    /// The cookie for a sender at `address`.
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
            let expected = keyed_mark(&self.made_in(period, address), parts);
            u128::from_be_bytes(expected) ^ u128::from_be_bytes(mark) == 0
        };
        made_in(newest) || newest.checked_sub(1).is_some_and(made_in)
    }

    fn made_in(&self, period: u64, address: SocketAddr) -> [u8; COOKIE_BYTES] {
        let secret = derive(&self.root, &period.to_be_bytes());
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        keyed_mark(&secret, &[&ip.octets(), &address.port().to_be_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_serves_at_its_address_for_a_while() {
        let cookies = Cookies::new([7; 32]);
        let now = Duration::from_secs(1000);
        let at = SocketAddr::from(([192, 0, 2, 1], 4780));
        let mark = keyed_mark(&cookies.of(now, at), &[b"header", b"noise"]);
        let accepts = |later, address, parts: &[&[u8]]| cookies.accept(now + later, address, mark, parts);
        assert!(accepts(Duration::ZERO, at, &[b"header", b"noise"]));
        assert!(accepts(SECRET_LIFETIME, at, &[b"headernoise"]));
        assert!(!accepts(2 * SECRET_LIFETIME, at, &[b"headernoise"]), "too late");
        assert!(!accepts(Duration::ZERO, ([192, 0, 2, 1], 4781).into(), &[b"headernoise"]), "elsewhere");
        assert!(!accepts(Duration::ZERO, at, &[b"headernoisE"]), "something else");
        assert!(!Cookies::new([8; 32]).accept(now, at, mark, &[b"headernoise"]), "another node's");
    }
}
