//! Whole IP packets as they cross a link: with headers, empty and retransmitted ones too.

use crate::flow::Toward;
use io::offload::{Front, split};
use std::time::Duration;
use wire::inner::{Inner, TCP};

/// The longest packet of a link with an ordinary MTU.
pub(crate) const MAX_PACKET_BYTES: usize = 1500;
/// The least payload for which a super-segment is cut.
const MIN_SEGMENT_BYTES: usize = 536;
/// Types of TCP super-segments in a [`Front`].
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;

/// A packet on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing<'a> {
    /// The time of its capture.
    pub at: Duration,
    /// Its direction.
    pub toward: Toward,
    /// The packet.
    pub bytes: &'a [u8],
}

#[derive(Debug, Clone)]
struct Entry {
    end: usize,
    at: Duration,
    toward: Toward,
}

/// Consecutive packets in one buffer.
#[derive(Debug, Clone, Default)]
pub struct Crossings {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    segment: Vec<u8>,
}

impl Crossings {
    /// Adds a copy of a packet. TCP super-segments are cut as the capturing host's device cuts them.
    pub(crate) fn push(&mut self, at: Duration, toward: Toward, inner: &Inner, packet: &[u8]) {
        if packet.len() > MAX_PACKET_BYTES
            && inner.flow.protocol == TCP
            && self.push_cut(at, toward, inner, packet)
        {
            return;
        }
        self.push_whole(at, toward, packet);
    }

    fn push_whole(&mut self, at: Duration, toward: Toward, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.entries.push(Entry { end: self.bytes.len(), at, toward });
    }

    /// Adds the segments of a super-segment. Returns whether it was one.
    fn push_cut(&mut self, at: Duration, toward: Toward, inner: &Inner, packet: &[u8]) -> bool {
        let segment_bytes = MAX_PACKET_BYTES.saturating_sub(inner.payload_offset);
        let Some(front) = front(packet, segment_bytes) else { return false };
        let mut copy = std::mem::take(&mut self.segment);
        copy.clear();
        copy.extend_from_slice(packet);
        let was_cut = split(&front, &mut copy, |segment| self.push_whole(at, toward, segment)).is_ok();
        self.segment = copy;
        was_cut
    }

    /// The packets, in the capture's order.
    pub fn packets(&self) -> impl Iterator<Item = Crossing<'_>> {
        let mut start = 0;
        self.entries.iter().map(move |&Entry { end, at, toward }| {
            let bytes = &self.bytes[start..end];
            start = end;
            Crossing { at, toward, bytes }
        })
    }

    /// Bytes of all packets.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// The header of a device for a TCP super-segment; `None` if its segments would be tiny, or if extension
/// headers are before TCP's.
fn front(packet: &[u8], segment_bytes: usize) -> Option<Front> {
    let (gso_type, ip_header_bytes) = match packet.first()? >> 4 {
        4 => (TCP_V4, usize::from(packet[0] & 0xf) * 4),
        6 if packet.get(6) == Some(&TCP) => (TCP_V6, 40),
        _ => return None,
    };
    (segment_bytes >= MIN_SEGMENT_BYTES).then_some(())?;
    let gso_size = u16::try_from(segment_bytes).ok()?;
    let csum_start = u16::try_from(ip_header_bytes).ok()?;
    Some(Front { gso_type, gso_size, csum_start, ..Front::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn segment(payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 60).tcp(80, 4000, 7, 8000).ack(1);
        builder.write(&mut packet, payload).unwrap();
        packet
    }

    fn crossings(packet: &[u8]) -> Crossings {
        let mut crossings = Crossings::default();
        crossings.push(Duration::ZERO, Toward::Client, &Inner::parse(packet).unwrap(), packet);
        crossings
    }

    #[test]
    fn a_super_segment_crosses_as_the_segments_of_its_payload() {
        let payload: Vec<u8> = (0..4000u32).map(|at| (at / 7) as u8).collect();
        let cut = crossings(&segment(&payload));
        let (mut sequence, mut found) = (7, Vec::new());
        for packet in cut.packets() {
            let inner = Inner::parse(packet.bytes).unwrap();
            assert!(packet.bytes.len() <= MAX_PACKET_BYTES);
            assert_eq!((inner.tcp_sequence, inner.total_bytes), (Some(sequence), packet.bytes.len()));
            sequence += inner.payload_bytes() as u32;
            found.extend_from_slice(&packet.bytes[inner.payload_offset..]);
        }
        assert_eq!((found, cut.packets().count()), (payload, 3));
    }

    #[test]
    fn an_ordinary_packet_crosses_as_it_is() {
        let packet = segment(&[1; 1460]);
        let whole = crossings(&packet);
        assert_eq!(whole.packets().map(|it| it.bytes.to_vec()).collect::<Vec<_>>(), [packet]);
    }
}
