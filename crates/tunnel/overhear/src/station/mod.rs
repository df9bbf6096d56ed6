//! The decoder, at a station.

mod held;
mod refusal;

pub use refusal::Refusal;

use crate::address::{Address, Addresses};
use crate::cache::{HEAD_BYTES, Holds, SlotCache, USUAL_CHUNK_BYTES};
use crate::names::{PacketNumber, StationId};
use crate::settings::{Collisions, Settings};
use held::{Gaps, HeldPackets};
use re::mac::PacketMac;
use std::ops::Range;
use std::time::Duration;
use wire::chunk_reply::ChunkReply;
use wire::shim::MAX_RESTORED_BYTES;
use wire::shim::slots::{Encoded, Part, Stretch};

/// What became of a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<'a> {
    /// It is this.
    Restored(&'a [u8]),
    /// It is restored, and waits for an earlier one of its flow; [`Station::poll_deliver`] gives it later.
    Queued,
    /// Chunks are missing; [`Station::poll_request`] says what to ask for.
    Held,
    /// It is dropped.
    Refused(Refusal),
}

/// A packet that had waited.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its number.
    pub number: PacketNumber,
    /// The packet as it was.
    pub packet: Vec<u8>,
}

/// What was counted since the station was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StationStatistics {
    /// Packets received that were addressed to this station.
    pub received_packets: u64,
    /// Of them, those from which something had been removed.
    pub encoded_packets: u64,
    /// Of those, the ones that lacked chunks.
    pub held_packets: u64,
    /// Packets in which another chunk stood than was meant.
    pub wrong_slots_packets: u64,
    /// Packets given up.
    pub lost_packets: u64,
    /// Packets refused.
    pub refused_packets: u64,
    /// Packets overheard.
    pub overheard_packets: u64,
    /// Chunks put together from the cache.
    pub hit_chunks: u64,
    /// Chunks that were missing.
    pub missed_chunks: u64,
}

/// Puts packets together again, and learns from all that is heard.
#[derive(Debug)]
pub struct Station {
    settings: Settings,
    station: StationId,
    addresses: Addresses,
    mac: Option<PacketMac>,
    cache: SlotCache<HEAD_BYTES>,
    held: HeldPackets,
    statistics: StationStatistics,
    restored: Vec<u8>,
    chunks: Vec<(Range<usize>, Address)>,
    /// Sum of what was looked at only to have it near.
    fetched: u8,
    last_flush: Option<u32>,
}

impl Station {
    /// A station with an empty cache of 2^`settings.slot_bits` slots, which must not be more than its
    /// gateway's. The MAC's key is that of its association.
    pub fn new(
        settings: Settings,
        station: StationId,
        mac_key: Option<[u8; 32]>,
    ) -> Result<Self, crate::SettingsError> {
        settings.validate()?;
        Ok(Station {
            addresses: Addresses::new(&settings.network_key),
            mac: mac_key.map(|key| PacketMac::new(&key)),
            cache: SlotCache::new(settings.slot_bits),
            held: HeldPackets::new(settings.misses),
            statistics: StationStatistics::default(),
            restored: Vec::with_capacity(2048),
            chunks: Vec::new(),
            fetched: 0,
            last_flush: None,
            station,
            settings,
        })
    }

    /// Which station this is.
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

    /// Takes a packet that was sent to this station as `number`. Packets of one `flow` are delivered in the
    /// order in which they came, if [`poll_deliver`](Station::poll_deliver) has given all it has before the
    /// next is received.
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

    /// Whether the packet was restored, into `self.restored`; otherwise it is held.
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
        if self.mac.is_some() && encoded.mac.is_none() {
            return Err(Refusal::NoMac);
        }
        let missing = self.restore(&encoded)?;
        let proved = missing == 0 && proves(self.mac.as_ref(), encoded.mac, number, &self.restored);
        let held = if proved { Ok(()) } else { self.hold(number, flow, bytes, &encoded, missing, now) };
        // only now: what is learnt may take the place of what was put in
        self.learn_literals(&encoded);
        self.statistics.hit_chunks += (encoded.slot_count - missing) as u64;
        self.statistics.missed_chunks += missing as u64;
        held.map(|()| proved)
    }

    /// Puts together what is there, and says how many chunks are not.
    fn restore(&mut self, encoded: &Encoded<'_>) -> Result<usize, Refusal> {
        for slot in encoded.slots() {
            self.fetched ^= self.cache.fetch(slot, USUAL_CHUNK_BYTES);
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
            // which of them is the wrong one nobody knows
            self.statistics.wrong_slots_packets += 1;
            gaps.distrust();
        }
        self.held.hold(number, flow, gaps, now)?;
        self.statistics.held_packets += 1;
        Ok(())
    }

    /// Takes a chunk reply for this station. What it completes, [`poll_deliver`](Station::poll_deliver)
    /// gives.
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
        let proved =
            packet.len() <= MAX_RESTORED_BYTES && proves(self.mac.as_ref(), encoded.mac, number, &packet);
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

    /// Learns from a packet that was sent to another station.
    pub fn overhear(&mut self, encoded: &[u8]) -> Result<(), Refusal> {
        self.statistics.overheard_packets += 1;
        let encoded = Encoded::parse(encoded)?;
        self.learn_literals(&encoded);
        Ok(())
    }

    /// Keeps what this node itself sends, so that a relay that heard it need not send it back.
    pub fn keep_sent(&mut self, payload: &[u8]) {
        self.learn(payload);
    }

    /// Learns from a chunk reply that was sent to another station. Which of the chunks are parts only whoever
    /// asked knows; those take a slot that nobody will name.
    pub fn overhear_reply(&mut self, reply: &[u8]) -> Result<(), Refusal> {
        for chunk in ChunkReply::parse(reply)?.chunks() {
            self.keep(self.addresses.of(chunk), chunk);
        }
        Ok(())
    }

    /// A packet that is held came otherwise: nothing is asked for any more.
    pub fn cancel_request(&mut self, number: PacketNumber) {
        self.held.give_up(number);
    }

    /// Writes a request that is to be sent now, and says for which packet; `None` if there is none.
    pub fn poll_request(&mut self, now: Duration, out: &mut Vec<u8>) -> Option<PacketNumber> {
        self.held.ask(now, out)
    }

    /// A packet that has waited and waits no longer. Packets that were held for too long are given up first.
    pub fn poll_deliver(&mut self, now: Duration) -> Option<Delivered> {
        self.statistics.lost_packets += self.held.expire(now) as u64;
        self.held.deliver().map(|(number, packet)| Delivered { number, packet })
    }

    /// When [`poll_request`](Station::poll_request) and [`poll_deliver`](Station::poll_deliver) want to be
    /// asked again.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.held.next_timeout()
    }

    /// Empties the cache, as the gateway asks for with flush `number`, unless that was done; the flush is to
    /// be acknowledged in both cases.
    pub fn flush(&mut self, number: u32) {
        if self.last_flush != Some(number) {
            self.last_flush = Some(number);
            self.cache.clear();
        }
    }

    /// The station associates anew: whatever it kept is forgotten.
    pub fn associate(&mut self, mac_key: Option<[u8; 32]>) {
        self.mac = mac_key.map(|key| PacketMac::new(&key));
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
            chunks.push((chunk, address));
        }
        for (chunk, address) in &chunks {
            self.fetched ^= self.cache.fetch(address.slot(slot_bits), chunk.len());
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

/// Whether the MAC proves the packet. Where none was agreed, everything is believed.
fn proves(mac: Option<&PacketMac>, of_packet: Option<[u8; 8]>, number: PacketNumber, packet: &[u8]) -> bool {
    match (mac, of_packet) {
        (Some(mac), Some(of_packet)) => mac.verifies(number.0, packet, of_packet),
        (Some(_), None) => false,
        (None, _) => true,
    }
}
