//! Compress: makes the rest of a packet after redundancy elimination shorter, packet by packet.
//!
//! Redundancy elimination leaves two kinds of repetition. *Headers* repeat those of the flow's last packets:
//! they are written as differences from a header that the receiver has confirmed ([`wire::headers`]).
//! *Literals* are often text: they are compressed by themselves ([`re::literals`]). Neither uses state that a
//! lost packet could damage. [`wire::short`] has the form of the result.

use crate::elimination::kept_headers::{Headers, REACH};
use re::literals::{Compressor, Expander};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use wire::frame::PACKET_MAC_BYTES;
use wire::headers::{self, Context, Unfinished};
use wire::inner::Flow;
use wire::shim::MAX_RESTORED_BYTES;
use wire::shim::compact::Compact;
use wire::{Malformed, short, varint};

/// Flows whose confirmed headers are known; the one confirmed longest ago goes first.
const MAX_FLOWS: usize = 256;

/// Parts to leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortening {
    /// Headers that differ little from confirmed ones.
    pub headers: bool,
    /// Repetition that a compressor finds in literals.
    pub literals: bool,
    /// Headers of datagrams: packets that wait for the same peer share one.
    pub packing: bool,
}

impl Shortening {
    /// Everything goes as it is.
    pub const NONE: Self = Shortening { headers: false, literals: false, packing: false };
    /// Everything is left out that can be.
    pub const ALL: Self = Shortening { headers: true, literals: true, packing: true };
}

/// The sending side.
#[derive(Debug)]
pub struct Compress {
    shortening: Shortening,
    headers: Headers,
    /// Hashes of the flows of the packets in `headers`, by the same slots. Two flows with one hash only find
    /// headers that differ more.
    flows: Box<[u64]>,
    /// The newest confirmed packet of each flow, by its hash.
    confirmed: BTreeMap<u64, u64>,
    compressor: Compressor,
    delta: Vec<u8>,
    compressed: Vec<u8>,
}

/// A packet in the compact form: as it is, or reduced.
#[derive(Debug, Clone, Copy)]
pub struct Reduction<'a> {
    /// The MAC, with regions.
    pub mac: Option<[u8; PACKET_MAC_BYTES]>,
    /// The shim's regions with their number; empty without.
    pub regions: &'a [u8],
    /// The shim's literals, or the whole packet. They start with the packet's headers.
    pub literals: &'a [u8],
}

impl Compress {
    /// Nothing is confirmed yet.
    #[must_use]
    pub fn new(shortening: Shortening) -> Self {
        let headers = Headers::new();
        let flows = vec![0; headers.slots()].into();
        Compress {
            shortening,
            headers,
            flows,
            confirmed: BTreeMap::new(),
            compressor: Compressor::new(),
            delta: Vec::new(),
            compressed: Vec::new(),
        }
    }

    /// Appends the body of a shortened frame to `out` if that makes it shorter than the frame it would be
    /// otherwise; if not, leaves `out` as it was. Remembers the packet's header either way.
    pub fn write(
        &mut self,
        sequence: u64,
        packet: &[u8],
        flow: &Flow,
        generation: u8,
        reduction: &Reduction<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Reduction { mac, regions, mut literals } = *reduction;
        let unshortened_bytes = mac.map_or(0, |mac| 1 + mac.len()) + regions.len() + literals.len();
        let mut what = if mac.is_some() { short::REGIONS } else { 0 };
        self.delta.clear();
        if let Some(split) = self.shortening.headers.then(|| headers::split(packet)).flatten() {
            let flow = hash_of(flow);
            if let Some(&confirmed) = self.confirmed.get(&flow)
                && sequence - confirmed < REACH
                && let Some(context) = self.headers.get(confirmed)
            {
                let distance = (sequence - confirmed) as u32;
                varint::emit(distance, &mut self.delta);
                let context = Context { header: context, distance };
                if headers::compress(&context, &split, &mut self.delta).is_some() {
                    what |= short::HEADER;
                    literals = &literals[split.header.len()..];
                }
            }
            self.headers.put(sequence, split.header);
            self.flows[sequence as usize % self.headers.slots()] = flow;
        }
        if what & short::HEADER == 0 {
            self.delta.clear();
        }
        self.compressed.clear();
        if self.shortening.literals && self.compressor.compress(literals, &mut self.compressed) {
            what |= short::COMPRESSED;
            literals = &self.compressed;
        }
        let mac_bytes = mac.map_or(0, |mac| mac.len());
        if 1 + mac_bytes + self.delta.len() + regions.len() + literals.len() >= unshortened_bytes {
            return false;
        }
        out.push(generation << short::WHAT_BITS | what);
        out.extend_from_slice(mac.as_ref().map_or(&[], |mac| mac));
        out.extend_from_slice(&self.delta);
        out.extend_from_slice(regions);
        out.extend_from_slice(literals);
        true
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.headers.memory_bytes()
            + self.flows.len() * size_of::<u64>()
            + self.delta.capacity()
            + self.compressed.capacity()
    }

    /// Sets whether packets wait for the processor and not for the link. Literals are then compressed rarely.
    pub fn set_processor_short(&mut self, is_short: bool) {
        self.compressor.set_processor_short(is_short);
    }

    /// The receiver holds `sequence`.
    pub fn confirm(&mut self, sequence: u64) {
        let at = sequence as usize % self.headers.slots();
        if self.headers.get(sequence).is_none() {
            return;
        }
        let flow = self.flows[at];
        let newest = self.confirmed.entry(flow).or_insert(sequence);
        *newest = sequence.max(*newest);
        if self.confirmed.len() > MAX_FLOWS
            && let Some(oldest) =
                self.confirmed.iter().min_by_key(|(_, sequence)| **sequence).map(|(flow, _)| *flow)
        {
            self.confirmed.remove(&oldest);
        }
    }

    /// The receiver has lost what it had.
    pub fn forget(&mut self) {
        self.headers.clear();
        self.confirmed.clear();
    }
}

fn hash_of(flow: &Flow) -> u64 {
    let mut hasher = DefaultHasher::new();
    flow.hash(&mut hasher);
    hasher.finish()
}

/// The receiving side.
#[derive(Debug)]
pub struct Decompress {
    headers: Headers,
    expander: Expander,
    header: Vec<u8>,
    shim: Vec<u8>,
}

/// The body of a shortened frame, converted back.
#[derive(Debug)]
pub struct Decompressed<'a> {
    /// MAC and compact shim with its literals, if the packet was reduced. Otherwise the packet is appended to
    /// the caller's buffer.
    pub reduced: Option<([u8; PACKET_MAC_BYTES], &'a [u8])>,
    /// The remaining change of the restored packet's header.
    pub unfinished: Option<Unfinished>,
}

/// Why a shortened packet could not be put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecompressError {
    /// It makes no sense.
    Malformed,
    /// It speaks of what was known before this node forgot.
    OtherGeneration,
    /// It starts from the header of this packet, which is not known.
    UnknownHeader(u64),
}

impl From<Malformed> for DecompressError {
    fn from(_: Malformed) -> Self {
        DecompressError::Malformed
    }
}

fn take<const N: usize>(body: &mut &[u8]) -> Result<[u8; N], DecompressError> {
    let (front, rest) = body.split_first_chunk().ok_or(DecompressError::Malformed)?;
    *body = rest;
    Ok(*front)
}

impl Decompress {
    /// Knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Decompress {
            headers: Headers::new(),
            expander: Expander::new(),
            header: Vec::new(),
            shim: Vec::new(),
        }
    }

    /// Puts the body of a shortened frame back into the compact form, or appends the packet to `out`. An
    /// error may leave a part of the packet there.
    pub fn read<'a>(
        &'a mut self,
        sequence: u64,
        generation: u8,
        mut body: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<Decompressed<'a>, DecompressError> {
        let [front] = take(&mut body)?;
        let what = front & short::WHAT;
        if front >> short::WHAT_BITS != generation << short::WHAT_BITS >> short::WHAT_BITS {
            return Err(DecompressError::OtherGeneration);
        }
        let mac = if what & short::REGIONS != 0 { Some(take(&mut body)?) } else { None };
        self.header.clear();
        let mut unfinished = None;
        if what & short::HEADER != 0 {
            let distance = varint::parse(&mut body)?;
            let confirmed = sequence.checked_sub(distance.into()).ok_or(DecompressError::Malformed)?;
            let known = self.headers.get(confirmed).ok_or(DecompressError::UnknownHeader(confirmed))?;
            let context = Context { header: known, distance };
            unfinished = Some(headers::expand_header(&context, &mut body, &mut self.header)?);
        }
        let is_compressed = what & short::COMPRESSED != 0;
        let Some(mac) = mac else {
            out.extend_from_slice(&self.header);
            if is_compressed {
                self.expander.expand(body, MAX_RESTORED_BYTES, out)?;
            } else {
                out.extend_from_slice(body);
            }
            return Ok(Decompressed { reduced: None, unfinished });
        };
        if unfinished.is_none() && !is_compressed {
            return Ok(Decompressed { reduced: Some((mac, body)), unfinished });
        }
        self.shim.clear();
        let regions = Compact::take_regions(&mut body)?;
        self.shim.extend_from_slice(regions);
        self.shim.extend_from_slice(&self.header);
        if is_compressed {
            self.expander.expand(body, MAX_RESTORED_BYTES, &mut self.shim)?;
        } else {
            self.shim.extend_from_slice(body);
        }
        Ok(Decompressed { reduced: Some((mac, &self.shim)), unfinished })
    }

    /// Remembers the header of a packet whose bytes are proven.
    pub fn hold(&mut self, sequence: u64, packet: &[u8]) {
        if let Some(split) = headers::split(packet) {
            self.headers.put(sequence, split.header);
        }
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.headers.memory_bytes() + self.header.capacity() + self.shim.capacity()
    }

    /// Forgets everything.
    pub fn forget(&mut self) {
        self.headers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;
    use wire::inner::Inner;

    fn segment(sequence: u32, payload: &[u8]) -> Vec<u8> {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(80, 4242, sequence, 1000);
        let mut packet = Vec::new();
        builder.write(&mut packet, payload).unwrap();
        packet
    }

    fn pass(
        compress: &mut Compress,
        decompress: &mut Decompress,
        sequence: u64,
        packet: &[u8],
    ) -> Option<usize> {
        let flow = Inner::parse(packet).unwrap().flow;
        let mut body = Vec::new();
        let reduction = Reduction { mac: None, regions: &[], literals: packet };
        let shortened = compress.write(sequence, packet, &flow, 0, &reduction, &mut body);
        if shortened {
            let mut restored = Vec::new();
            let decompressed = decompress.read(sequence, 0, &body, &mut restored).unwrap();
            assert!(decompressed.reduced.is_none());
            if let Some(unfinished) = decompressed.unfinished {
                unfinished.finish(&mut restored).unwrap();
            }
            assert_eq!(restored, packet);
        }
        decompress.hold(sequence, packet);
        shortened.then_some(body.len())
    }

    #[test]
    fn a_confirmed_header_makes_the_next_one_short() {
        let (mut compress, mut decompress) = (Compress::new(Shortening::ALL), Decompress::new());
        assert_eq!(pass(&mut compress, &mut decompress, 0, &segment(0, b"")), None, "nothing is known");
        assert_eq!(pass(&mut compress, &mut decompress, 1, &segment(0, b"")), None, "nothing is confirmed");
        compress.confirm(1);
        assert!(pass(&mut compress, &mut decompress, 2, &segment(100, b"")).unwrap() <= 7);
        let text = b"and again the text that stands in this packet ".repeat(20);
        assert!(pass(&mut compress, &mut decompress, 3, &segment(100, &text)).unwrap() < 100);
        compress.forget();
        assert_eq!(pass(&mut compress, &mut decompress, 4, &segment(200, b"")), None);
    }

    #[test]
    fn what_is_not_known_is_named() {
        let (mut decompress, mut out) = (Decompress::new(), Vec::new());
        let mut error = |generation, body| decompress.read(9, generation, body, &mut out).unwrap_err();
        assert_eq!(error(0, &[2, 4, 0]), DecompressError::UnknownHeader(5));
        assert_eq!(error(1, &[2, 4, 0]), DecompressError::OtherGeneration);
        assert_eq!(error(0, &[]), DecompressError::Malformed);
        assert!(decompress.read(9, 33, &[1 << 3], &mut out).unwrap().reduced.is_none());
        assert!(out.is_empty());
    }

    proptest! {
        /// With any confirmations in any order, restored packets equal the sent ones, and flows are bounded.
        #[test]
        fn packets_pass(packets in proptest::collection::vec(
            (any::<u32>(), 0u16..600, 0usize..300, any::<u8>(), any::<bool>()), 1..200)) {
            let (mut compress, mut decompress) = (Compress::new(Shortening::ALL), Decompress::new());
            for (number, (sequence, port, length, byte, confirmed)) in packets.into_iter().enumerate() {
                let mut packet = segment(sequence, &vec![byte; length]);
                packet[20..22].copy_from_slice(&port.to_be_bytes());
                pass(&mut compress, &mut decompress, number as u64, &packet);
                if confirmed {
                    compress.confirm(number as u64);
                }
                prop_assert!(compress.confirmed.len() <= MAX_FLOWS);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200), known: bool) {
            let mut decompress = Decompress::new();
            if known {
                (0..10).for_each(|sequence| decompress.hold(sequence, &segment(1, b"x")));
            }
            let _ = decompress.read(9, 0, &body, &mut Vec::new());
        }
    }
}
