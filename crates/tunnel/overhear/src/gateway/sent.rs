//! Sent packets, while reports about them may arrive.
//!
//! Two rings of a fixed size: packets, and the chunks of all of them. Reports about overwritten packets are
//! ignored.

use crate::address::Address;
use crate::names::PacketNumber;
use crate::removal::Origin;
use wire::shim::slots::{MAX_SLOT_BITS, Part};

/// Number of packets.
const PACKETS: usize = 1 << 13;
/// Number of chunks: those of as many packets of 1,400 bytes, cut into 64 bytes and more.
const CHUNKS: usize = 1 << 17;

/// A chunk of a sent packet.
///
/// ```text
/// | removed (1) | own (1) | - (2) | end (1) | part (3) | slot (24) |
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct SentChunk {
    /// The slot, and flags of the transmission.
    slot: u32,
    tag: u32,
}

const REMOVED: u32 = 1 << 31;
const OWN: u32 = 1 << 30;
const END: u32 = 1 << 27;
const PART_SHIFT: u32 = MAX_SLOT_BITS as u32;
const PART: u32 = END - (1 << PART_SHIFT);
const SLOT: u32 = (1 << PART_SHIFT) - 1;

impl SentChunk {
    /// A chunk sent with its bytes, for a cache of 2^`slot_bits` slots.
    pub fn literal(address: Address, slot_bits: u8) -> Self {
        SentChunk { slot: address.slot(slot_bits), tag: address.tag() }
    }

    /// A chunk of which only the slot was sent, for this part of it, with its origin.
    pub fn removed(slot: u32, tag: u32, part: Part, origin: Origin) -> Self {
        let how = match origin {
            Origin::Own => REMOVED | OWN,
            Origin::Other => REMOVED,
        };
        let part = match part {
            Part::Whole => 0,
            Part::Beginning(count) => u32::from(count) << PART_SHIFT & PART,
            Part::End(count) => END | u32::from(count) << PART_SHIFT & PART,
        };
        SentChunk { slot: slot | how | part, tag }
    }

    /// The same chunk, marked as sent with its bytes.
    pub fn carried(self) -> Self {
        SentChunk { slot: self.slot(), ..self }
    }

    /// The gateway's slot.
    pub fn slot(self) -> u32 {
        self.slot & SLOT
    }

    /// Whether only the slot was sent.
    pub fn was_removed(self) -> bool {
        self.slot & REMOVED != 0
    }

    /// The part that was referred to.
    pub fn part(self) -> Part {
        match ((self.slot & PART) >> PART_SHIFT) as u8 {
            0 => Part::Whole,
            count if self.slot & END != 0 => Part::End(count),
            count => Part::Beginning(count),
        }
    }

    /// The origin, if the chunk was removed.
    pub fn origin(self) -> Origin {
        if self.slot & OWN != 0 { Origin::Own } else { Origin::Other }
    }

    /// Its tag, which shows whether the slot still has the chunk.
    pub fn tag(self) -> u32 {
        self.tag
    }
}

/// A sent packet.
#[derive(Debug, Clone, Copy)]
pub struct SentPacket {
    /// Its number.
    pub number: PacketNumber,
    /// Number of its first chunk, counted from the beginning.
    start: u64,
    chunks: u32,
    /// Column of its addressee.
    pub column: u8,
    /// Number of requests for its chunks.
    pub requests: u8,
    /// Whether its addressee has it.
    pub acknowledged: bool,
}

/// Placeholder: no packet has this number.
const NONE: SentPacket = SentPacket {
    number: PacketNumber(u64::MAX),
    start: 0,
    chunks: 0,
    column: 0,
    requests: 0,
    acknowledged: false,
};

/// The rings.
#[derive(Debug)]
pub struct SentPackets {
    packets: Vec<SentPacket>,
    chunks: Vec<SentChunk>,
    written: u64,
    next: u64,
}

impl SentPackets {
    /// Empty rings.
    pub fn new() -> Self {
        SentPackets {
            packets: vec![NONE; PACKETS],
            chunks: vec![SentChunk::default(); CHUNKS],
            written: 0,
            next: 0,
        }
    }

    /// The number of the next packet.
    pub fn next(&self) -> PacketNumber {
        PacketNumber(self.next)
    }

    /// Adds a chunk to the next packet.
    pub fn push_chunk(&mut self, chunk: SentChunk) {
        self.chunks[self.written as usize % CHUNKS] = chunk;
        self.written += 1;
    }

    /// Adds the packet of the last `chunks` pushed chunks.
    pub fn push_packet(&mut self, column: u8, chunks: usize) -> PacketNumber {
        let number = PacketNumber(self.next);
        let start = self.written - chunks as u64;
        self.packets[number.0 as usize % PACKETS] =
            SentPacket { number, start, chunks: chunks as u32, column, ..NONE };
        self.next += 1;
        number
    }

    /// A packet, if it was not overwritten.
    pub fn packet(&self, number: PacketNumber) -> Option<SentPacket> {
        let packet = self.packets[number.0 as usize % PACKETS];
        let sent = number.0 < self.next && packet.number == number;
        (sent && self.written - packet.start <= CHUNKS as u64).then_some(packet)
    }

    /// Counts a request for a packet's chunks.
    pub fn note_request(&mut self, number: PacketNumber) {
        let packet = &mut self.packets[number.0 as usize % PACKETS];
        packet.requests = packet.requests.saturating_add(1);
    }

    /// Notes that the addressee has the packet.
    pub fn note_acknowledgment(&mut self, number: PacketNumber) {
        self.packets[number.0 as usize % PACKETS].acknowledged = true;
    }

    /// The chunks of a packet that [`packet`](SentPackets::packet) just returned.
    pub fn chunks(&self, packet: SentPacket) -> impl Iterator<Item = SentChunk> + '_ {
        let start = packet.start as usize;
        (start..start + packet.chunks as usize).map(|at| self.chunks[at % CHUNKS])
    }

    /// The oldest number that the rings may have.
    pub fn oldest(&self) -> PacketNumber {
        PacketNumber(self.next.saturating_sub(PACKETS as u64))
    }
}
