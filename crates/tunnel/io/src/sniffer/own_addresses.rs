//! The addresses of this host. Datagrams to them arrive by the socket, and datagrams from them were sent
//! here.

use nix::ifaddrs::getifaddrs;
use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

/// Interval of the look-up. A missed change is harmless: a datagram is received twice, or overheard in vain.
const AGE: Duration = Duration::from_secs(10);

/// The addresses at the last look-up.
#[derive(Debug, Default)]
pub struct OwnAddresses {
    addresses: HashSet<IpAddr>,
    stale_at: Duration,
}

impl OwnAddresses {
    /// Looks the addresses up again when they are too old.
    pub fn refresh(&mut self, now: Duration) {
        if now < self.stale_at {
            return;
        }
        self.stale_at = now + AGE;
        match getifaddrs() {
            Ok(interfaces) => {
                self.addresses = interfaces
                    .filter_map(|interface| {
                        let address = interface.address?;
                        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
                        v4.or_else(|| Some(IpAddr::V6(address.as_sockaddr_in6()?.ip())))
                    })
                    .collect();
            }
            Err(error) => tracing::debug!("cannot list this host's addresses: {error}"),
        }
    }

    /// Whether it is an address of this host.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address)
    }
}
