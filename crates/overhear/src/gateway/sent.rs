//! What was sent, for as long as anybody may say something about it.
//!
//! Two rings of a fixed size: packets, and the chunks of all of them. What was overwritten is forgotten; news of it is
//! then no news.

use crate::address::Address;
use crate::names::PacketNumber;
use crate::removal::Origin;

/// Packets remembered.
const PACKETS: usize = 1 << 13;
/// Chunks remembered: those of as many packets of 1,400 bytes, cut into pieces of 64 bytes and more.
const CHUNKS: usize = 1 << 17;

/// A chunk of a packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentChunk {
    /// The slot, and how it was sent.
    slot: u32,
    tag: u32,
}

const REMOVED: u32 = 1 << 31;
const OWN: u32 = 1 << 30;
const SLOT: u32 = OWN - 1;

impl SentChunk {
    /// A chunk that belongs into a slot of 2^`slot_bits`, and whose content it was if it was removed.
    pub fn new(address: Address, slot_bits: u8, removed: Option<Origin>) -> Self {
        let how = match removed {
            None => 0,
            Some(Origin::Own) => REMOVED | OWN,
            Some(Origin::Other) => REMOVED,
        };
        SentChunk { slot: address.slot(slot_bits) | how, tag: address.tag() }
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
