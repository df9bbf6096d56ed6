//! The owner of a packet: its flow and its two hosts, as numbers that compare fast.

use crate::sharing::Sharing;
use crate::store::Stored;
use std::net::IpAddr;
use wire::inner::{Flow, TCP};

/// An odd constant with well-mixed bits: the golden ratio's fraction.
pub(crate) const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The owner of a packet, under the encoder's secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Tag of the flow. Two flows have equal tags with probability 2^-32, and nobody knows which ones do.
    pub tag: u32,
    /// Mixed into the fingerprints of windows, so that only this flow finds them.
    pub of_windows: u64,
    /// Mixed into the fingerprints of spans, so that all flows that share find them.
    pub of_spans: u64,
}

impl Owner {
    /// The owner of all packets where flows are not distinguished.
    pub const NOBODY: Owner = Owner { tag: 0, of_windows: 0, of_spans: 0 };

    /// The owner of this flow's packets.
    pub fn of(flow: &Flow, sharing: Sharing, secret: u64) -> Self {
        if sharing == Sharing::ToTheByte {
            return Owner::NOBODY;
        }
        let hosts = [flow.source, flow.destination].into_iter().fold(secret, |hash, address| {
            let bits = match address {
                IpAddr::V4(address) => u128::from(address.to_bits()),
                IpAddr::V6(address) => address.to_bits(),
            };
            fold(hash ^ bits as u64, MULTIPLIER ^ (bits >> 64) as u64)
        });
        let [source, destination, protocol] =
            [flow.source_port, flow.destination_port, flow.protocol.into()].map(u64::from);
        let of_windows = fold(hosts ^ (protocol << 32 | source << 16 | destination), MULTIPLIER ^ secret);
        let of_spans = if sharing == Sharing::Host { hosts } else { 0 };
        Owner { tag: (of_windows >> 32) as u32, of_windows, of_spans }
    }
}

/// Multiplies, and combines both halves of the product by XOR.
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Both addresses of an IP packet, as bytes of its header.
pub(crate) fn addresses(packet: &[u8]) -> Option<&[u8]> {
    match packet.first()? >> 4 {
        4 => packet.get(12..20),
        6 => packet.get(8..40),
        _ => None,
    }
}

/// Whether `next` is the TCP segment directly behind `stored` in the same flow.
pub(crate) fn goes_on(stored: &Stored<'_>, next: &Stored<'_>) -> bool {
    let (Some(at), Some(next_at)) = (tcp_sequence(stored.packet), tcp_sequence(next.packet)) else {
        return false;
    };
    stored.flow == next.flow && at.wrapping_add(stored.payload.len() as u32) == next_at
}

/// The sequence number of a TCP segment directly behind an IP header without extensions.
fn tcp_sequence(packet: &[u8]) -> Option<u32> {
    let first = packet.first()?;
    let (protocol, header_bytes) = match first >> 4 {
        4 => (packet.get(9)?, usize::from(first & 15) * 4),
        6 => (packet.get(6)?, 40),
        _ => return None,
    };
    let number = packet.get(header_bytes + 4..)?.first_chunk()?;
    (*protocol == TCP).then(|| u32::from_be_bytes(*number))
}
