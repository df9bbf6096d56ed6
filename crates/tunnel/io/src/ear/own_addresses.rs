//! The addresses of this host: what is for them comes by the socket, and what is from them was said here.

use nix::ifaddrs::getifaddrs;
use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

/// Addresses come and go, and nothing breaks when one is missed: it is heard twice, or overheard in vain.
const AGE: Duration = Duration::from_secs(10);

/// What they were when last looked at.
#[derive(Debug, Default)]
pub struct OwnAddresses {
    addresses: HashSet<IpAddr>,
    stale_at: Duration,
}

impl OwnAddresses {
    /// Looks again if it is time.
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

    /// Whether it is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.addresses.contains(&address)
    }
}
