//! The other end of the hop: recently delivered packets, to solve coded repairs.
//!
//! The paper's receiver keeps (d − 1)·l packets beyond those that wait for an earlier one (section III-A).
//! Here the kernel owns TCP's receive queue. The node therefore keeps the newest packets of each flow for
//! both purposes, within a bound.

use crate::buffer::digest;
use crate::equations::{Equations, Wanted};
use crate::field;
use crate::segment::Segment;
use std::collections::{BTreeMap, VecDeque};
use wire::coded::{Coded, DIGEST_BYTES};
use wire::inner::{Flow, Inner};

/// The most packets of a flow: those in flight at once, and (d − 1)·l before them.
const MAX_PACKETS: usize = 128;
/// The most bytes of all flows.
const MAX_BYTES: usize = 4 << 20;
/// Cost of a packet beyond its payload.
const PACKET_COST_BYTES: usize = 64;

/// Recently delivered packets.
#[derive(Debug, Default)]
pub struct History {
    flows: BTreeMap<Flow, Delivered>,
    bytes: usize,
    now: u64,
    spare: Vec<Vec<u8>>,
    /// Packets restored later.
    restored: VecDeque<Vec<u8>>,
}

/// The packets of one flow.
#[derive(Debug, Default)]
struct Delivered {
    /// TCP sequence numbers and payloads, in the order of delivery.
    packets: VecDeque<(u32, Vec<u8>)>,
    /// Repairs that wait for other packets.
    equations: Equations,
    last_use: u64,
}

/// Reason why a repair restored nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRestored {
    /// It is not a TCP segment.
    Malformed,
    /// A combined packet is missing: it was lost, too, or is too old. The repair waits for others, and
    /// [`History::poll_restored`] returns the results.
    Waits,
    /// The result differs from the original.
    WrongBytes,
}

impl History {
    /// Bytes kept.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Notes a delivered packet.
    pub fn record_delivery(&mut self, packet: &[u8], inner: &Inner) {
        let Some(sequence) = inner.tcp_sequence.filter(|_| inner.payload_bytes() > 0) else { return };
        let payload = &packet[inner.payload_offset..inner.total_bytes];
        self.now += 1;
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(payload);
        let flow = self.flows.entry(inner.flow).or_default();
        flow.last_use = self.now;
        self.bytes += payload.len() + PACKET_COST_BYTES;
        if !flow.equations.is_empty() {
            let before = flow.equations.bytes();
            flow.equations.record_delivery(sequence, payload);
            self.restored.extend(flow.restored());
            self.bytes = self.bytes + flow.equations.bytes() - before;
        }
        flow.packets.push_back((sequence, copy));
        if flow.packets.len() > MAX_PACKETS
            && let Some((_, old)) = flow.packets.pop_front()
        {
            self.bytes -= old.len() + PACKET_COST_BYTES;
            self.spare.push(old);
        }
        while self.bytes > MAX_BYTES && self.forget_flow() {}
    }

    /// Drops the flow that was idle longest.
    fn forget_flow(&mut self) -> bool {
        let Some((&flow, _)) = self.flows.iter().min_by_key(|(_, flow)| flow.last_use) else { return false };
        let Some(gone) = self.flows.remove(&flow) else { return false };
        self.bytes -= gone.equations.bytes();
        for (_, payload) in gone.packets {
            self.bytes -= payload.len() + PACKET_COST_BYTES;
            if self.spare.len() < MAX_PACKETS {
                self.spare.push(payload);
            }
        }
        true
    }

    /// The next packet restored later. Call it after [`History::record_delivery`] and [`History::restore`]
    /// until it returns `None`.
    pub fn poll_restored(&mut self) -> Option<Vec<u8>> {
        self.restored.pop_front()
    }

    /// Appends the lost packet to `out`. After an error, `out` is unchanged.
    pub fn restore(&mut self, coded: &Coded<'_>, out: &mut Vec<u8>) -> Result<(), NotRestored> {
        let start = out.len();
        let restored = self.try_restore(coded, out);
        if restored.is_err() {
            out.truncate(start);
        }
        restored
    }

    fn try_restore(&mut self, coded: &Coded<'_>, out: &mut Vec<u8>) -> Result<(), NotRestored> {
        let start = out.len();
        out.extend_from_slice(coded.header);
        out.extend_from_slice(coded.payload);
        let inner = Inner::parse(&out[start..]).map_err(|_| NotRestored::Malformed)?;
        let segment = Segment::parse(&out[start..], &inner).ok_or(NotRestored::Malformed)?;
        if segment.payload_at != coded.header.len() {
            return Err(NotRestored::Malformed);
        }
        let flow = self.flows.get_mut(&inner.flow).ok_or(NotRestored::Waits)?;
        let payload_at = start + coded.header.len();
        let mut absent = Vec::new();
        for (offset, scale) in coded.terms() {
            let sequence = segment.sequence.wrapping_add_signed(offset);
            let mut newest_first = flow.packets.iter().rev();
            let Some((_, other)) = newest_first.find(|packet| packet.0 == sequence) else {
                absent.push((sequence, scale));
                continue;
            };
            let Some(sum) = out.get_mut(payload_at..payload_at + other.len()) else {
                return Err(NotRestored::WrongBytes);
            };
            field::over_scaled(sum, other, scale);
        }
        if absent.is_empty() {
            field::multiply_all(&mut out[payload_at..], field::inverse(coded.scale()));
            return finish(out, start, payload_at, segment.end, coded.digest);
        }
        absent.push((segment.sequence, coded.scale()));
        absent.sort_unstable();
        if absent.windows(2).any(|two| two[0].0 == two[1].0) {
            return Err(NotRestored::Malformed);
        }
        let before = flow.equations.bytes();
        let (header, digest) = (coded.header.to_vec(), coded.digest);
        let wanted = Wanted { sequence: segment.sequence, header, digest };
        flow.equations.learn(wanted, absent, out[payload_at..].to_vec());
        self.restored.extend(flow.restored());
        self.bytes = self.bytes + flow.equations.bytes() - before;
        while self.bytes > MAX_BYTES && self.forget_flow() {}
        Err(NotRestored::Waits)
    }
}

impl Delivered {
    /// The waiting packets that can be restored now.
    fn restored(&mut self) -> Vec<Vec<u8>> {
        let mut restored = Vec::new();
        while let Some((Wanted { header, digest, .. }, payload)) = self.equations.poll_solved() {
            let mut packet = header;
            let payload_at = packet.len();
            packet.extend_from_slice(payload);
            let end = Inner::parse(&packet).map(|inner| inner.total_bytes);
            if end.is_ok_and(|end| finish(&mut packet, 0, payload_at, end, digest).is_ok()) {
                restored.push(packet);
            }
        }
        restored
    }
}

/// Truncates the packet at `start` to its length, if its digest matches.
fn finish(
    out: &mut Vec<u8>,
    start: usize,
    payload_at: usize,
    end: usize,
    expected: [u8; DIGEST_BYTES],
) -> Result<(), NotRestored> {
    out.truncate(start + end);
    let is_whole =
        end >= payload_at - start && digest(&out[start..payload_at], &out[payload_at..]) == expected;
    if is_whole { Ok(()) } else { Err(NotRestored::WrongBytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xor;
    use etherparse::PacketBuilder;

    fn packet(port: u16, sequence: u32, payload: &[u8]) -> (Vec<u8>, Inner) {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        builder.tcp(80, port, sequence, 1000).write(&mut packet, payload).unwrap();
        let inner = Inner::parse(&packet).unwrap();
        (packet, inner)
    }

    fn coded(lost: &[u8], offsets: &[i32], sum: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        Coded::emit(digest(&lost[..40], &lost[40..]), &lost[..40], offsets.iter().copied(), sum, &mut body);
        body
    }

    #[test]
    fn a_lost_packet_comes_out_of_its_sum_whatever_the_lengths() {
        let mut history = History::default();
        let payloads = [vec![1; 30], vec![2; 50], vec![3; 10]];
        let packets: Vec<_> =
            payloads.iter().zip([u32::MAX - 29, 0, 50]).map(|(payload, at)| packet(9, at, payload)).collect();
        let mut sum = Vec::new();
        payloads.iter().for_each(|payload| xor::into(&mut sum, payload));
        for lost in 0..3 {
            let offsets: Vec<i32> = (0..3)
                .filter(|&other| other != lost)
                .map(|other| {
                    packets[other].1.tcp_sequence.unwrap().wrapping_sub(packets[lost].1.tcp_sequence.unwrap())
                        as i32
                })
                .collect();
            let body = coded(&packets[lost].0, &offsets, &sum);
            let coded = Coded::parse(&body).unwrap();
            let mut out = b"before".to_vec();
            assert_eq!(history.restore(&coded, &mut out), Err(NotRestored::Waits));
            assert_eq!(out, b"before");
            (0..3)
                .filter(|&other| other != lost)
                .for_each(|other| history.record_delivery(&packets[other].0, &packets[other].1));
            assert_eq!(history.restore(&coded, &mut out), Ok(()));
            assert_eq!(&out[6..], packets[lost].0);
            history = History::default();
        }
    }

    #[test]
    fn other_bytes_under_the_same_number_are_found_out() {
        let mut history = History::default();
        let (lost, _) = packet(9, 100, &[1; 50]);
        let (other, inner) = packet(9, 150, &[2; 49]);
        history.record_delivery(&other, &inner);
        let mut sum = vec![1; 50];
        xor::into(&mut sum, &[2; 50]);
        let body = coded(&lost, &[50], &sum);
        assert_eq!(
            history.restore(&Coded::parse(&body).unwrap(), &mut Vec::new()),
            Err(NotRestored::WrongBytes)
        );
    }

    #[test]
    fn memory_is_bounded_by_flow_and_in_all() {
        let mut history = History::default();
        for sequence in 0..1000 {
            let (packet, inner) = packet(9, sequence * 1000, &[7; 1000]);
            history.record_delivery(&packet, &inner);
        }
        assert_eq!(history.bytes(), MAX_PACKETS * (1000 + PACKET_COST_BYTES));
        for port in 0..200 {
            for sequence in 0..100 {
                let (packet, inner) = packet(port, sequence * 1000, &[7; 1000]);
                history.record_delivery(&packet, &inner);
                assert!(history.bytes() <= MAX_BYTES);
            }
        }
        let sum: usize = history
            .flows
            .values()
            .flat_map(|flow| &flow.packets)
            .map(|it| it.1.len() + PACKET_COST_BYTES)
            .sum();
        assert_eq!(history.bytes(), sum);
        assert!(history.flows.len() > 30);
    }
}
