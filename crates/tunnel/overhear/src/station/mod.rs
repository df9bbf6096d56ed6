//! The decoder at a station.

mod held;
mod proof;
mod refusal;

pub use refusal::Refusal;

use crate::address::{Address, Addresses};
use crate::cache::{HEAD_BYTES, Holds, SlotCache, USUAL_CHUNK_BYTES};
use crate::names::{PacketNumber, StationId};
use crate::settings::{Collisions, Settings};
use held::{Gaps, HeldPackets};
use proof::Proof;
use std::ops::Range;
use std::time::Duration;
use wire::chunk_reply::ChunkReply;
use wire::shim::MAX_RESTORED_BYTES;
use wire::shim::slots::{Encoded, Part, Stretch};

/// Result of receiving a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// The restored packet.
    Restored(&'a [u8]),
    /// It is restored, and waits for an earlier packet of its flow; [`Station::poll_deliver`] returns it
    /// later.
    Queued,
    /// Chunks are missing; [`Station::poll_request`] writes the request.
    Held,
    /// It is dropped, for this reason.
    Refused(Refusal),
}

/// A packet that waited.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its number.
    pub number: PacketNumber,
    /// The restored packet.
    pub packet: Vec<u8>,
}

/// Counts since the station was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StationStatistics {
    /// Packets received that are addressed to this station.
    pub received_packets: u64,
    /// Received packets with removed chunks.
    pub encoded_packets: u64,
    /// Encoded packets with missing chunks.
    pub held_packets: u64,
    /// Packets with a chunk that differs from the intended one.
    pub wrong_slots_packets: u64,
    /// Packets dropped before they were restored.
    pub lost_packets: u64,
    /// Packets refused.
    pub refused_packets: u64,
    /// Packets overheard.
    pub overheard_packets: u64,
    /// Chunks taken from the cache.
    pub hit_chunks: u64,
    /// Chunks that were missing.
    pub missed_chunks: u64,
}

/// Restores packets, and learns from every packet heard.
#[derive(Debug)]
pub struct Station {
    settings: Settings,
    station: StationId,
    addresses: Addresses,
    proof: Proof,
    cache: SlotCache<HEAD_BYTES>,
    held: HeldPackets,
    statistics: StationStatistics,
    restored: Vec<u8>,
    chunks: Vec<(Range<usize>, Address)>,
    last_flush: Option<u32>,
}

impl Station {
    /// A station with an empty cache of 2^`settings.slot_bits` slots, at most its gateway's number. `mac_key`
    /// is that of its association.
    pub fn new(
        settings: Settings,
        station: StationId,
        mac_key: Option<[u8; 32]>,
    ) -> Result<Self, crate::SettingsError> {
        settings.validate()?;
        Ok(Station {
            addresses: Addresses::new(&settings.network_key),
            proof: Proof::new(mac_key),
            cache: SlotCache::new(settings.slot_bits),
            held: HeldPackets::new(settings.misses),
            statistics: StationStatistics::default(),
            restored: Vec::with_capacity(2048),
            chunks: Vec::new(),
            last_flush: None,
            station,
            settings,
        })
    }

    /// Number of this station.
    #[must_use]
    pub fn id(&self) -> StationId {
        self.station
    }

    /// Its cache has two to this many slots.
    #[must_use]
    pub fn slot_bits(&self) -> u8 {
        self.cache.slot_bits()
    }

    /// Bytes of memory of the cache, once it is full.
    #[must_use]
    pub fn cache_bytes(&self) -> usize {
        self.cache.size_bytes()
    }

    /// What was counted.
    #[must_use]
    pub fn statistics(&self) -> &StationStatistics {
        &self.statistics
    }

    /// Receives a packet that was sent to this station as `number`. Packets of one `flow` are delivered in
    /// order of arrival, if the caller empties [`poll_deliver`](Station::poll_deliver) before the next
    /// packet.
    pub fn receive(
        &mut self,
        number: PacketNumber,
        flow: u64,
        encoded: &[u8],
        now: Duration,
    ) -> Received<'_> {
        self.statistics.received_packets += 1;
        match self.restore_or_hold(number, flow, encoded, now) {
            Ok(true) if self.held.blocks(flow) => {
                self.held.queue(number, flow, &self.restored, now);
                Received::Queued
            }
            Ok(true) => Received::Restored(&self.restored),
            Ok(false) => Received::Held,
            Err(refusal) => {
                self.statistics.refused_packets += 1;
                Received::Refused(refusal)
            }
        }
    }

    /// Restores the packet into `self.restored` and returns true, or holds it.
    fn restore_or_hold(
        &mut self,
        number: PacketNumber,
        flow: u64,
        bytes: &[u8],
        now: Duration,
    ) -> Result<bool, Refusal> {
        let encoded = Encoded::parse(bytes)?;
        if encoded.slot_count == 0 {
            self.restored.clear();
            self.restored.extend_from_slice(encoded.literals);
            self.learn(encoded.literals);
            return Ok(true);
        }
        self.statistics.encoded_packets += 1;
        if encoded.slot_bits != self.cache.slot_bits() {
            return Err(Refusal::SlotBits(encoded.slot_bits));
        }
        if self.proof.is_required() && encoded.mac.is_none() {
            return Err(Refusal::NoMac);
        }
        let missing = self.restore(&encoded)?;
        let proved = missing == 0 && self.proof.holds(encoded.mac, number, &self.restored);
        let held = if proved { Ok(()) } else { self.hold(number, flow, bytes, &encoded, missing, now) };
        // Learning comes last, because it may overwrite chunks that the packet refers to.
        self.learn_literals(&encoded);
        self.statistics.hit_chunks += (encoded.slot_count - missing) as u64;
        self.statistics.missed_chunks += missing as u64;
        held.map(|()| proved)
    }

    /// Restores the packet from the present chunks, and returns the number of missing ones.
    fn restore(&mut self, encoded: &Encoded<'_>) -> Result<usize, Refusal> {
        for slot in encoded.slots() {
            self.cache.prefetch(slot, USUAL_CHUNK_BYTES);
        }
        self.restored.clear();
        let mut missing = 0;
        for stretch in encoded.stretches() {
            match stretch {
                Stretch::Literals(literals) => self.restored.extend_from_slice(literals),
                Stretch::Slot(slot, part) => match self.cache.chunk(slot).and_then(|chunk| part.of(chunk)) {
                    Some(bytes) => self.restored.extend_from_slice(bytes),
                    None => missing += 1,
                },
            }
        }
        if self.restored.len() > MAX_RESTORED_BYTES { Err(Refusal::TooLong) } else { Ok(missing) }
    }

    fn hold(
        &mut self,
        number: PacketNumber,
        flow: u64,
        bytes: &[u8],
        encoded: &Encoded<'_>,
        missing: usize,
        now: Duration,
    ) -> Result<(), Refusal> {
        let mut gaps =
            Gaps { encoded: bytes.to_vec(), present: Vec::new(), lengths: Vec::new(), is_wrong: false };
        for (slot, part) in encoded.references() {
            let bytes = self.cache.chunk(slot).and_then(|chunk| part.of(chunk));
            gaps.present.extend_from_slice(bytes.unwrap_or_default());
            gaps.lengths.push(bytes.map(|bytes| bytes.len() as u16));
        }
        if missing == 0 {
            // Which chunk is wrong is unknown.
            self.statistics.wrong_slots_packets += 1;
            gaps.distrust();
        }
        self.held.hold(number, flow, gaps, now)?;
        self.statistics.held_packets += 1;
        Ok(())
    }

    /// Receives a chunk reply for this station. [`poll_deliver`](Station::poll_deliver) returns the packet
    /// that it completes.
    pub fn receive_reply(&mut self, reply: &[u8], now: Duration) -> Result<(), Refusal> {
        let reply = ChunkReply::parse(reply)?;
        let Some((number, gaps)) = self.held.gaps(reply.number) else { return Err(Refusal::Unasked) };
        let asked_for = gaps.missing().count();
        if reply.chunks().count() != asked_for {
            return Err(Refusal::Unasked);
        }
        let mut packet = Vec::with_capacity(2048);
        let encoded = Encoded::parse(&gaps.encoded)?;
        let (mut supplied, mut lengths, mut present) =
            (reply.chunks(), gaps.lengths.iter(), &gaps.present[..]);
        let mut chunks: Vec<&[u8]> = Vec::new();
        for stretch in encoded.stretches() {
            packet.extend_from_slice(match stretch {
                Stretch::Literals(literals) => literals,
                Stretch::Slot(_, part) => match lengths.next().copied().flatten() {
                    Some(count) => {
                        let (bytes, rest) = present.split_at(usize::from(count));
                        present = rest;
                        bytes
                    }
                    None => {
                        let bytes = supplied.next().unwrap_or_default();
                        if part == Part::Whole {
                            chunks.push(bytes);
                        }
                        bytes
                    }
                },
            });
        }
        let proved = packet.len() <= MAX_RESTORED_BYTES && self.proof.holds(encoded.mac, number, &packet);
        let all_supplied = asked_for == encoded.slot_count;
        if proved {
            self.held.complete(number, packet);
        } else if all_supplied {
            self.held.give_up(number);
            self.statistics.lost_packets += 1;
        } else {
            gaps.distrust();
            self.statistics.wrong_slots_packets += 1;
            self.held.ask_again(number, now);
        }
        for chunk in chunks {
            self.keep(self.addresses.of(chunk), chunk);
        }
        if all_supplied && !proved { Err(Refusal::NotRestored) } else { Ok(()) }
    }

    /// Learns from a packet to another station.
    pub fn overhear(&mut self, encoded: &[u8]) -> Result<(), Refusal> {
        self.statistics.overheard_packets += 1;
        let encoded = Encoded::parse(encoded)?;
        self.learn_literals(&encoded);
        Ok(())
    }

    /// Stores a packet of this node, so that a relay that heard it need not send it back.
    pub fn keep_sent(&mut self, payload: &[u8]) {
        self.learn(payload);
    }

    /// Learns from a chunk reply to another station. Only the requester knows which chunks are parts. A part
    /// takes a slot that nobody refers to.
    pub fn overhear_reply(&mut self, reply: &[u8]) -> Result<(), Refusal> {
        for chunk in ChunkReply::parse(reply)?.chunks() {
            self.keep(self.addresses.of(chunk), chunk);
        }
        Ok(())
    }

    /// Cancels the requests for a held packet that arrived otherwise.
    pub fn cancel_request(&mut self, number: PacketNumber) {
        self.held.give_up(number);
    }

    /// Writes a due request and returns its packet; `None` if no request is due.
    pub fn poll_request(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<PacketNumber> {
        self.held.ask(now, out)
    }

    /// A packet that waits no longer. Packets held for too long are dropped first.
    pub fn poll_deliver(&mut self, now: Duration) -> Option<Delivered> {
        self.statistics.lost_packets += self.held.expire(now) as u64;
        self.held.deliver().map(|(number, packet)| Delivered { number, packet })
    }

    /// Time of the next call of [`poll_request`](Station::poll_request) and
    /// [`poll_deliver`](Station::poll_deliver).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.held.next_timeout()
    }

    /// Empties the cache for flush `number`, unless that is done. The caller acknowledges the flush in both
    /// cases.
    pub fn flush(&mut self, number: u32) {
        if self.last_flush != Some(number) {
            self.last_flush = Some(number);
            self.cache.clear();
        }
    }

    /// Starts a new association with an empty cache.
    pub fn associate(&mut self, mac_key: Option<[u8; 32]>) {
        self.proof = Proof::new(mac_key);
        self.cache.clear();
        self.held.clear();
        self.last_flush = None;
    }

    fn learn_literals(&mut self, encoded: &Encoded<'_>) {
        let mut literals = encoded.literals;
        for run in encoded.runs() {
            let (of_run, rest) = literals.split_at((run.literal_bytes as usize).min(literals.len()));
            self.learn(of_run);
            literals = rest;
        }
        self.learn(literals);
    }

    fn learn(&mut self, literals: &[u8]) {
        if literals.len() < self.settings.boundaries.min_chunk.bytes() {
            return;
        }
        let slot_bits = self.cache.slot_bits();
        let mut chunks = std::mem::take(&mut self.chunks);
        chunks.clear();
        for chunk in self.settings.boundaries.chunks(literals) {
            let address = self.addresses.of(&literals[chunk.clone()]);
            self.cache.prefetch(address.slot(slot_bits), chunk.len());
            chunks.push((chunk, address));
        }
        for (chunk, address) in &chunks {
            self.keep(*address, &literals[chunk.clone()]);
        }
        self.chunks = chunks;
    }

    fn keep(&mut self, address: Address, chunk: &[u8]) {
        let marks = matches!(self.settings.collisions, Collisions::Mark(_));
        match self.cache.holds(address, chunk) {
            Holds::Chunk | Holds::Mark => {}
            Holds::Another if marks => self.cache.mark(address.slot(self.cache.slot_bits())),
            Holds::Nothing | Holds::Another => self.cache.put(address, chunk),
        }
    }
}
