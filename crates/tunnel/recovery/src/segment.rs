//! The part of a TCP segment in an IP packet that Snoop reads, and the one change that it makes.

use etherparse::{LaxSlicedPacket, TransportSlice};
use std::ops::Range;
use wire::inner::{Flow, Inner};

const TCP_HEADER_BYTES: usize = 20;
const CHECKSUM_AT: usize = 16;
const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;
/// The most blocks of selective acknowledgment in TCP's options.
const MAX_BLOCKS: usize = 4;

/// The parsed fields of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub(crate) flow: Flow,
    pub(crate) sequence: u32,
    /// `None` without the flag.
    pub(crate) acknowledgment: Option<u32>,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) reset: bool,
    pub(crate) window: u16,
    /// End of the packet's headers and start of its payload.
    pub(crate) payload_at: usize,
    /// The packet's end by its IP header.
    pub(crate) end: usize,
    /// Start of TCP's header.
    tcp_at: usize,
    /// Range of the selective acknowledgment option in the packet.
    sack_at: Option<Range<usize>>,
    blocks: [(u32, u32); MAX_BLOCKS],
    block_count: usize,
}

impl Segment {
    /// Parses a packet; `None` if it is not a complete TCP segment.
    #[must_use]
    pub fn parse(packet: &[u8], inner: &Inner) -> Option<Self> {
        inner.tcp_sequence?;
        let sliced = LaxSlicedPacket::from_ip(packet).ok()?;
        let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { return None };
        let header_bytes = tcp.header_slice().len();
        let tcp_at = inner.payload_offset.checked_sub(header_bytes)?;
        let mut segment = Segment {
            flow: inner.flow,
            sequence: tcp.sequence_number(),
            acknowledgment: tcp.ack().then(|| tcp.acknowledgment_number()),
            syn: tcp.syn(),
            fin: tcp.fin(),
            reset: tcp.rst(),
            window: tcp.window_size(),
            payload_at: inner.payload_offset,
            end: inner.total_bytes,
            tcp_at,
            sack_at: None,
            blocks: [(0, 0); MAX_BLOCKS],
            block_count: 0,
        };
        segment.read_sack(packet);
        Some(segment)
    }

    fn read_sack(&mut self, packet: &[u8]) {
        let mut at = self.tcp_at + TCP_HEADER_BYTES;
        while at < self.payload_at {
            match packet[at] {
                OPTION_END => return,
                OPTION_NOP => at += 1,
                kind => {
                    let Some(&length) = packet.get(at + 1) else { return };
                    let end = at + usize::from(length);
                    if length < 2 || end > self.payload_at {
                        return;
                    }
                    if kind == OPTION_SACK {
                        let (edges, _) = packet[at + 2..end].as_chunks::<4>();
                        for pair in edges.chunks_exact(2).take(MAX_BLOCKS) {
                            let [start, end] = [pair[0], pair[1]].map(u32::from_be_bytes);
                            self.blocks[self.block_count] = (start, end);
                            self.block_count += 1;
                        }
                        self.sack_at = Some(at..end);
                        return;
                    }
                    at = end;
                }
            }
        }
    }

    /// Selectively acknowledged blocks, from the first byte to behind the last one.
    pub(crate) fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..self.block_count]
    }

    /// Bytes of payload.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.end - self.payload_at
    }

    /// Sequence numbers of the segment: its payload, and one for FIN.
    pub(crate) fn length(&self) -> u64 {
        self.payload_bytes() as u64 + u64::from(self.fin)
    }

    /// Removes the selective acknowledgment from the packet, because the loss is repaired here. The option is
    /// advisory, and a receiver may withdraw it (RFC 2018, section 8). The packet states nothing that the
    /// receiver did not state.
    pub(crate) fn strip_sack(&self, packet: &mut [u8]) {
        let Some(Range { start, end }) = self.sack_at.clone() else { return };
        // The checksum covers words from the header's start.
        let even = |at: usize| at - (at - self.tcp_at) % 2;
        let words = even(start)..even(end + 1).min(packet.len());
        let before = sum(&packet[words.clone()]);
        packet[start..end].fill(OPTION_NOP);
        let after = sum(&packet[words]);
        let at = self.tcp_at + CHECKSUM_AT;
        let checksum = u16::from_be_bytes([packet[at], packet[at + 1]]);
        let updated = !fold(u64::from(!checksum) + u64::from(!fold(before)) + after);
        packet[at..at + 2].copy_from_slice(&updated.to_be_bytes());
    }
}

fn sum(words: &[u8]) -> u64 {
    words.chunks(2).map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum()
}

/// Folds to 16 bits with end-around carry (RFC 1624).
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpOptionElement};
    use proptest::prelude::*;

    fn checksum_is_right(packet: &[u8]) -> bool {
        let sliced = LaxSlicedPacket::from_ip(packet).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = &sliced.transport else { panic!("no TCP") };
        let right = match sliced.net.as_ref().unwrap() {
            etherparse::LaxNetSlice::Ipv4(ip) => {
                tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination())
            }
            etherparse::LaxNetSlice::Ipv6(ip) => {
                tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination())
            }
            _ => panic!("no IP"),
        };
        right == Ok(tcp.checksum())
    }

    proptest! {
        /// For any place of the option, the result is the same segment without it, with a correct checksum.
        #[test]
        fn a_selective_acknowledgment_is_taken_out(
            v6: bool,
            nops in 0usize..3,
            block: (u32, u32),
            other: Option<(u32, u32)>,
            payload in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let sack = TcpOptionElement::SelectiveAcknowledgement(block, [other, None, None]);
            let mut options = vec![TcpOptionElement::Noop; nops];
            options.push(sack);
            let mut packet = Vec::new();
            let builder = if v6 { PacketBuilder::ipv6([1; 16], [2; 16], 64) } else { PacketBuilder::ipv4([1; 4], [2; 4], 64) };
            builder.tcp(80, 4242, 77, 1000).ack(99).options(&options).unwrap().write(&mut packet, &payload).unwrap();
            let segment = Segment::parse(&packet, &Inner::parse(&packet).unwrap()).unwrap();
            let blocks: Vec<_> = [Some(block), other].into_iter().flatten().collect();
            prop_assert_eq!(segment.blocks(), &blocks[..]);
            prop_assert!(checksum_is_right(&packet));
            segment.strip_sack(&mut packet);
            prop_assert!(checksum_is_right(&packet));
            let left = Segment::parse(&packet, &Inner::parse(&packet).unwrap()).unwrap();
            prop_assert_eq!(left.blocks(), &[]);
            prop_assert_eq!((left.sequence, left.acknowledgment, left.payload_bytes()), (77, Some(99), payload.len()));
        }

        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 20..160), v6: bool) {
            bytes[0] = if v6 { 0x60 } else { 0x45 };
            bytes[if v6 { 6 } else { 9 }] = wire::inner::TCP;
            if let Ok(inner) = Inner::parse(&bytes)
                && let Some(segment) = Segment::parse(&bytes, &inner)
            {
                prop_assert!(segment.payload_at <= segment.end && segment.end <= bytes.len());
                segment.strip_sack(&mut bytes);
            }
        }
    }
}
