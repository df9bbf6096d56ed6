//! What was sent, for as long as anybody may say something about it.
//!
//! Two rings of a fixed size: packets, and the chunks of all of them. What was overwritten is forgotten; news
//! of it is then no news.

use crate::address::Address;
use crate::names::PacketNumber;
use crate::removal::Origin;
use wire::shim::slots::{MAX_SLOT_BITS, Part};

/// Packets remembered.
const PACKETS: usize = 1 << 13;
/// Chunks remembered: those of as many packets of 1,400 bytes, cut into pieces of 64 bytes and more.
const CHUNKS: usize = 1 << 17;

/// A chunk of a packet.
///
/// ```text
/// | removed (1) | own (1) | - (2) | end (1) | part (3) | slot (24) |
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct SentChunk {
    /// The slot, and how it was sent.
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
    /// A chunk that was sent with its bytes, and belongs into a slot of 2^`slot_bits`.
    pub fn literal(address: Address, slot_bits: u8) -> Self {
        SentChunk { slot: address.slot(slot_bits), tag: address.tag() }
    }

    /// A chunk of which only its slot was sent, for a part of it, and whose content it was.
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

    /// The same chunk, sent with its bytes.
    pub fn carried(self) -> Self {
        SentChunk { slot: self.slot(), ..self }
    }

    /// Its slot at the gateway.
    pub fn slot(self) -> u32 {
        self.slot & SLOT
    }

    /// Only its slot was sent.
    pub fn was_removed(self) -> bool {
        self.slot & REMOVED != 0
    }

    /// Which part of it was meant.
    pub fn part(self) -> Part {
        match ((self.slot & PART) >> PART_SHIFT) as u8 {
            0 => Part::Whole,
            count if self.slot & END != 0 => Part::End(count),
            count => Part::Beginning(count),
        }
    }

    /// Whose content it was, if it was removed.
    pub fn origin(self) -> Origin {
        if self.slot & OWN != 0 { Origin::Own } else { Origin::Other }
    }

    /// Its tag, by which is known whether the slot holds it still.
    pub fn tag(self) -> u32 {
        self.tag
    }
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct SentPacket {
    /// Its number.
    pub number: PacketNumber,
    /// Of its first chunk, counted since the beginning.
    start: u64,
    chunks: u32,
    /// Whose it is.
    pub column: u8,
    /// How often its chunks were asked for.
    pub requests: u8,
    /// Its addressee has it.
    pub acknowledged: bool,
}

/// No packet has this number.
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
    /// Nothing was sent yet.
    pub fn new() -> Self {
        SentPackets {
            packets: vec![NONE; PACKETS],
            chunks: vec![SentChunk::default(); CHUNKS],
            written: 0,
            next: 0,
        }
    }

    /// The number of what will be sent next.
    pub fn next(&self) -> PacketNumber {
        PacketNumber(self.next)
    }

    /// Adds a chunk to the packet that is sent next.
    pub fn push_chunk(&mut self, chunk: SentChunk) {
        self.chunks[self.written as usize % CHUNKS] = chunk;
        self.written += 1;
    }

    /// Sends the packet, whose chunks were the last `chunks` pushed.
    pub fn push_packet(&mut self, column: u8, chunks: usize) -> PacketNumber {
        let number = PacketNumber(self.next);
        let start = self.written - chunks as u64;
        self.packets[number.0 as usize % PACKETS] =
            SentPacket { number, start, chunks: chunks as u32, column, ..NONE };
        self.next += 1;
        number
    }

    /// A packet, if it is still remembered.
    pub fn packet(&self, number: PacketNumber) -> Option<SentPacket> {
        let packet = self.packets[number.0 as usize % PACKETS];
        let sent = number.0 < self.next && packet.number == number;
        (sent && self.written - packet.start <= CHUNKS as u64).then_some(packet)
    }

    /// Notes that a packet's chunks were asked for.
    pub fn note_request(&mut self, number: PacketNumber) {
        let packet = &mut self.packets[number.0 as usize % PACKETS];
        packet.requests = packet.requests.saturating_add(1);
    }

    /// Notes that a packet's addressee has it.
    pub fn note_acknowledgment(&mut self, number: PacketNumber) {
        self.packets[number.0 as usize % PACKETS].acknowledged = true;
    }

    /// The chunks of a packet that [`packet`](SentPackets::packet) gave just now.
    pub fn chunks(&self, packet: SentPacket) -> impl Iterator<Item = SentChunk> + '_ {
        let start = packet.start as usize;
        (start..start + packet.chunks as usize).map(|at| self.chunks[at % CHUNKS])
    }

    /// The oldest number that may still be remembered.
    pub fn oldest(&self) -> PacketNumber {
        PacketNumber(self.next.saturating_sub(PACKETS as u64))
    }
}
