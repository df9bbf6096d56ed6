//! SYN packets that a connection can be taken with.

use super::segment::{Segment, flag, is_unicast, option};

/// A smaller maximum segment size is not taken, as in Linux (`TCP_MIN_SND_MSS`): packets would be all header.
const MIN_SEGMENT_BYTES: u16 = 48;

/// Whether a packet is a SYN that [`Connection::accept`](super::Connection::accept) takes.
///
/// It is a whole SYN without ACK, RST, FIN and payload, its checksums are right, its addresses are unicast,
/// and no IPv6 extension header stands before it. It has none of the options MD5 (RFC 2385), AO (RFC 5925)
/// and MPTCP (RFC 8684), which only the two hosts can speak.
#[must_use]
pub fn is_takeable_syn(packet: &[u8]) -> bool {
    Segment::parse(packet).is_some_and(|segment| is_takeable(&segment))
}

/// Whether a segment with right checksums is such a SYN.
pub(super) fn is_takeable(segment: &Segment) -> bool {
    let controls = segment.flags & (flag::SYN | flag::ACK | flag::RST | flag::FIN);
    let ends = [segment.source, segment.destination];
    controls == flag::SYN
        && segment.payload.is_empty()
        && ends.iter().all(|end| end.port() != 0 && is_unicast(end.ip()))
        && segment.options().all(|option| match option {
            Ok((option::MAXIMUM_SEGMENT, &[high, low])) => {
                u16::from_be_bytes([high, low]) >= MIN_SEGMENT_BYTES
            }
            Ok((option::MAXIMUM_SEGMENT | option::MD5 | option::AUTHENTICATION | option::MULTIPATH, _)) => {
                false
            }
            other => other.is_ok(),
        })
}
