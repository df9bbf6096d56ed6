//! A flow and its ratio, in the form of the programs' map: `struct flow` and `struct ratio` of
//! `bpf/boost.bpf.c`.

use rustix::time::{ClockId, clock_gettime};
use std::net::IpAddr;
use wire::inner::Flow;

/// Bytes of a flow's key.
const KEY_BYTES: usize = 36;
/// Bytes of its value.
const VALUE_BYTES: usize = 16;
/// One, in the map's unit.
const ONE: f64 = 1024.0;

/// A ratio from now on, in the map's form: the flow's key, and the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told([u8; Self::BYTES]);

impl Told {
    /// Bytes of key and value.
    pub const BYTES: usize = KEY_BYTES + VALUE_BYTES;
    /// A ratio of no flow.
    #[cfg(feature = "bpf")]
    pub(crate) const NOBODYS: Told = Told([0; Self::BYTES]);

    /// The number of segments in a wire packet for the flow that leaves this host as `flow`. The minimum is
    /// one, because tr is never below ref.
    #[must_use]
    pub fn now(flow: &Flow, ratio: f64) -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        let nanoseconds = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        let mut bytes = [0; Self::BYTES];
        bytes[..KEY_BYTES].copy_from_slice(&key(flow));
        bytes[KEY_BYTES..].copy_from_slice(&value(ratio, nanoseconds));
        Told(bytes)
    }

    /// Parses key and value; `None` for another length.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Told)
    }

    /// The bytes of key and value.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// The key and the value.
    #[cfg(feature = "bpf")]
    pub(crate) fn entry(&self) -> (&[u8], &[u8]) {
        self.0.split_at(KEY_BYTES)
    }
}

/// The key of the flow that leaves a socket of this host as `flow`. Addresses are in network order, with IPv4
/// mapped into IPv6; ports are in the machine's order.
fn key(flow: &Flow) -> [u8; KEY_BYTES] {
    let mapped = |address: IpAddr| match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let mut key = [0; KEY_BYTES];
    key[..16].copy_from_slice(&mapped(flow.source));
    key[16..32].copy_from_slice(&mapped(flow.destination));
    key[32..34].copy_from_slice(&flow.source_port.to_ne_bytes());
    key[34..].copy_from_slice(&flow.destination_port.to_ne_bytes());
    key
}

/// The value: segments a wire packet, and the machine's monotonic clock in nanoseconds.
fn value(ratio: f64, told_nanoseconds: u64) -> [u8; VALUE_BYTES] {
    let mut value = [0; VALUE_BYTES];
    value[..8].copy_from_slice(&told_nanoseconds.to_ne_bytes());
    // A saturating cast: NaN becomes 0, which the programs treat as 1.
    value[8..12].copy_from_slice(&((ratio * ONE) as u32).to_ne_bytes());
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_over_ipv4_has_the_key_of_a_socket_that_maps_it_into_ipv6() {
        let flow = |source: &str, destination: &str| Flow {
            source: source.parse().unwrap_or(IpAddr::from([0; 4])),
            destination: destination.parse().unwrap_or(IpAddr::from([0; 4])),
            protocol: wire::inner::TCP,
            source_port: 80,
            destination_port: 4242,
        };
        let v4 = key(&flow("10.9.0.1", "10.9.0.2"));
        assert_eq!(v4, key(&flow("::ffff:10.9.0.1", "::ffff:10.9.0.2")));
        assert_ne!(v4, key(&flow("10.9.0.2", "10.9.0.1")));
        assert_eq!(v4[10..16], [0xff, 0xff, 10, 9, 0, 1]);
        assert_eq!(v4[32..], [80u16.to_ne_bytes(), 4242u16.to_ne_bytes()].concat());
    }

    #[test]
    fn a_ratio_that_is_no_number_is_none() {
        assert_eq!(value(2.5, 7)[8..12], 2560u32.to_ne_bytes());
        for odd in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            assert_eq!(value(odd, 7)[8..12], [0; 4]);
        }
        assert_eq!(value(f64::INFINITY, 7)[8..12], u32::MAX.to_ne_bytes());
    }
}
