//! The RST that refuses a packet.

use super::segment::{Bare, Segment, flag, is_unicast};
use smoltcp::wire::TcpControl;

/// Appends the RST that answers a packet of no connection (RFC 9293, section 3.10.7.1).
///
/// The return value is false, and nothing is appended, if no RST may answer: to a RST, to addresses that are
/// not unicast, and to a packet that is not a whole TCP segment with right checksums.
pub fn write_reset(packet: &[u8], out: &mut Vec<u8>) -> bool {
    let Some(segment) = Segment::parse(packet) else { return false };
    let ends = [segment.source, segment.destination];
    if segment.has(flag::RST) || !ends.iter().all(|end| is_unicast(end.ip())) {
        return false;
    }
    let (sequence, acknowledgment) = match segment.acknowledgment {
        Some(acknowledgment) => (acknowledgment, None),
        None => (0, Some(segment.end())),
    };
    let (source, destination) = (segment.destination, segment.source);
    Bare { source, destination, control: TcpControl::Rst, sequence, acknowledgment, window: 0 }.write(out);
    true
}

/// Whether a packet resets an answer to a SYN that acknowledges another SYN (RFC 9293, section 3.10.7.3): a
/// host refuses it so, and waits on.
#[must_use]
pub fn resets_another_answer(packet: &[u8], syn: &[u8]) -> bool {
    let Some((reset, syn)) = Segment::parse(packet).zip(Segment::parse(syn)) else { return false };
    reset.has(flag::RST) && reset.acknowledgment.is_none() && reset.sequence != syn.end()
}
