//! The encoding of one packet.

use super::neighbours::GatewayCache;
use super::{Chunk, Gateway, NOBODY, origin};
use crate::address::Addresses;
use crate::boundaries::Boundaries;
use crate::cache::Holds;
use crate::gateway::sent::SentChunk;
use crate::names::{PacketNumber, StationId};
use crate::references::{Grower, Reference, gaps, runs};
use crate::removal::{Candidate, Origin};
use std::ops::Range;
use std::time::Duration;
use wire::chunk_request::MAX_SLOTS;
use wire::shim::MAX_RESTORED_BYTES;
use wire::shim::slots::{MAC_BYTES, Part, Slots};

/// A sent packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Its number.
    pub number: PacketNumber,
    /// Bytes appended.
    pub bytes: usize,
    /// Bytes that the gateway held before.
    pub found_bytes: usize,
    /// Bytes removed.
    pub removed_bytes: usize,
    /// Chunks removed, whole or in part.
    pub removed_chunks: usize,
    /// Appended bytes that are not the packet's.
    pub shim_bytes: usize,
}

impl Gateway {
    /// Appends to `out` the encoding of `packet` for a station. At most 65,534 bytes are cut into chunks,
    /// from the beginning. Nothing is removed for a station that is not associated.
    pub fn encode(&mut self, to: StationId, packet: &[u8], now: Duration, out: &mut Vec<u8>) -> Sent {
        self.settle(now);
        self.flush.count(packet.len());
        let packet = &packet[..packet.len().min(MAX_RESTORED_BYTES)];
        self.find(packet);
        let column = self.stations.column(to).unwrap_or(NOBODY);
        let chunks_bytes = self.profile(to, column);
        self.choose(to, column, chunks_bytes, packet);
        let start = out.len();
        let removed_bytes = self.emit(to, packet, out);
        let removed_chunks = self.references.len();
        let of_found: usize = self.found.iter().map(|found| found.range.len()).sum();
        let beside_bytes = removed_bytes.saturating_sub(of_found);
        let found_bytes = chunks_bytes + beside_bytes;
        let number = self.remember(packet, to, column);
        let bytes = out.len() - start;
        let shim_bytes = bytes - (packet.len() - removed_bytes);
        let counted = &mut self.statistics;
        counted.packets += 1;
        counted.packet_bytes += packet.len() as u64;
        counted.encoded_packets += u64::from(removed_chunks > 0);
        counted.sent_bytes += bytes as u64;
        counted.found_bytes += found_bytes as u64;
        counted.removed_chunks += removed_chunks as u64;
        counted.removed_bytes += removed_bytes as u64;
        counted.beside_bytes += beside_bytes as u64;
        Sent { number, bytes, found_bytes, removed_bytes, removed_chunks, shim_bytes }
    }

    /// Bytes of a packet that would be removed for a station now. It keeps nothing of the packet.
    pub fn would_remove(&mut self, to: StationId, packet: &[u8]) -> usize {
        let packet = &packet[..packet.len().min(MAX_RESTORED_BYTES)];
        self.find(packet);
        let found = self.chunks.iter().filter(|chunk| chunk.found == Some(Holds::Chunk));
        let chunks_bytes = found.map(|chunk| chunk.range.len()).sum();
        let column = self.stations.column(to).unwrap_or(NOBODY);
        self.choose(to, column, chunks_bytes, packet);
        self.references.iter().map(|reference| reference.range.len()).sum()
    }

    /// Bytes that each run of the last encoded packet replaces; empty if nothing was removed.
    pub fn removed_of_runs(&self) -> impl Iterator<Item = u32> + '_ {
        let runs = if self.references.is_empty() { &[] } else { &self.runs[..] };
        let mut references = self.references.iter();
        let bytes = move |run: &wire::shim::slots::Run| -> usize {
            references.by_ref().take(run.slots as usize).map(|reference| reference.range.len()).sum()
        };
        runs.iter().map(bytes).map(|bytes| bytes as u32)
    }

    /// Cuts the packet and looks its chunks up.
    fn find(&mut self, packet: &[u8]) {
        self.chunks.clear();
        let Gateway { settings, addresses, cache, chunks, .. } = self;
        cut(settings.boundaries, addresses, cache, packet, 0..packet.len(), chunks);
        look_up(cache, packet, chunks);
    }

    /// Counts the chunks found by origin, and returns their bytes.
    fn profile(&mut self, to: StationId, column: u8) -> usize {
        let (mut own_bytes, mut others_bytes, mut found) = (0, 0, 0);
        for chunk in self.chunks.iter().filter(|chunk| chunk.found == Some(Holds::Chunk)) {
            found += 1;
            match origin(self.cache.head(chunk.address.slot(self.settings.slot_bits)), column) {
                Origin::Own => own_bytes += chunk.range.len(),
                Origin::Other => others_bytes += chunk.range.len(),
            }
        }
        self.statistics.chunks += self.chunks.len() as u64;
        self.statistics.found_chunks += found;
        if let Some(associated) = self.stations.get_mut(to) {
            associated.profile.record_packet(own_bytes, others_bytes);
        }
        own_bytes + others_bytes
    }

    /// Chooses the chunks to remove, and the bytes beside them.
    fn choose(&mut self, to: StationId, column: u8, chunks_bytes: usize, packet: &[u8]) {
        self.found.clear();
        self.references.clear();
        self.displacing.clear();
        let Gateway {
            settings,
            cache,
            knowledge,
            stations,
            sent,
            chunks,
            found,
            references,
            flush,
            displacing,
            ..
        } = self;
        let Some(associated) = stations.get_mut(to) else { return };
        if associated.flush_pending || flush.runs() || chunks_bytes == 0 {
            return;
        }
        let narrow = associated.narrow.as_ref();
        let slot_bytes = f64::from(narrow.map_or(settings.slot_bits, |narrow| narrow.slot_bits())) / 8.0;
        let next = sent.next().0;
        // A chunk's own bits, and its share of the front, the runs and the MAC.
        let front_bytes = 3.0 + if associated.mac.is_some() { MAC_BYTES as f64 } else { 0.0 };
        // If the station lacked a chunk that this packet displaces, the gateway could not supply it.
        let another = chunks.iter().filter(|chunk| chunk.found == Some(Holds::Another));
        displacing.extend(another.map(|chunk| chunk.address.slot(settings.slot_bits)));
        let (profile, mut room) = (&mut associated.profile, MAX_SLOTS);
        let mut removes = |slot: u32, bytes: usize| {
            if displacing.contains(&slot) || room == 0 {
                return false;
            }
            let there = narrow.is_none_or(|narrow| narrow.holds(slot));
            let candidate = Candidate {
                probability: if there {
                    knowledge.probability(cache, slot, &associated.listener, next)
                } else {
                    0.0
                },
                chunk_bytes: bytes as f64,
                shim_bytes: slot_bytes + front_bytes * bytes as f64 / chunks_bytes as f64,
                redundant_bytes: chunks_bytes as f64,
            };
            let origin = origin(cache.head(slot), column);
            let association = &associated.association;
            let removes = settings.removal.removes(
                &candidate,
                origin,
                profile,
                &association.air_time,
                association.rate_bits_per_second,
            );
            if removes {
                room -= 1;
            } else if candidate.probability > 0.0 {
                profile.record_literal(origin);
            }
            removes
        };
        for chunk in chunks.iter().filter(|chunk| chunk.found == Some(Holds::Chunk)) {
            let slot = chunk.address.slot(settings.slot_bits);
            if removes(slot, chunk.range.len()) {
                found.push(Reference::to_whole(chunk.range.clone(), slot));
            }
        }
        if settings.parts {
            let smallest_bytes = settings.boundaries.min_chunk.bytes();
            Grower { packet, seen: &*cache, smallest_bytes, allows: removes }.grow(found, references);
        } else {
            references.clone_from(found);
        }
    }

    /// Writes shim and literals, and returns the number of removed bytes.
    fn emit(&mut self, to: StationId, packet: &[u8], out: &mut Vec<u8>) -> usize {
        self.cut_literals(packet);
        let grew = self.references.len() != self.found.len();
        if grew && self.literals.iter().any(|chunk| self.displaces_what_is_meant(chunk)) {
            self.references.clone_from(&self.found);
            self.cut_literals(packet);
        }
        let removed_bytes: usize = self.references.iter().map(|reference| reference.range.len()).sum();
        runs(&self.references, &mut self.runs);
        let number = self.sent.next();
        let associated = self.stations.get(to);
        let mac = associated.and_then(|associated| associated.mac.as_ref());
        let narrow = associated.and_then(|associated| associated.narrow.as_ref());
        let slot_bits = narrow.map_or(self.settings.slot_bits, |narrow| narrow.slot_bits());
        let mac = mac.filter(|_| removed_bytes > 0).map(|mac| mac.of(number.0, packet));
        self.slots.clear();
        let of_station = (1 << slot_bits) - 1;
        self.slots.extend(self.references.iter().map(|reference| reference.chunk & of_station));
        let shim = Slots { slot_bits, mac, runs: &self.runs, slots: &self.slots };
        if removed_bytes <= shim.encoded_len() {
            // The removal does not pay.
            Slots { slot_bits, mac: None, runs: &[], slots: &[] }.emit(out);
            out.extend_from_slice(packet);
            if removed_bytes > 0 {
                self.references.clear();
                self.cut_literals(packet);
            }
            return 0;
        }
        shim.emit(out);
        for gap in gaps(&self.references, packet.len()) {
            out.extend_from_slice(&packet[gap]);
        }
        removed_bytes
    }

    /// Cuts the packet's literals as a listener does: each stretch between references on its own.
    fn cut_literals(&mut self, packet: &[u8]) {
        let Gateway { settings, addresses, cache, chunks, literals, references, .. } = self;
        literals.clear();
        let mut of_packet = &chunks[..];
        for gap in gaps(references, packet.len()) {
            let before = of_packet.partition_point(|chunk| chunk.range.start < gap.start);
            of_packet = &of_packet[before..];
            let within = of_packet.partition_point(|chunk| chunk.range.end <= gap.end);
            let (as_they_are, behind) = of_packet.split_at(within);
            let starts = as_they_are.first().map(|first| first.range.start) == Some(gap.start);
            let ends = as_they_are.last().map(|last| last.range.end) == Some(gap.end);
            if starts && ends {
                literals.extend_from_slice(as_they_are);
            } else {
                cut(settings.boundaries, addresses, cache, packet, gap, literals);
            }
            of_packet = behind;
        }
        look_up(cache, packet, literals);
    }

    /// Whether a chunk displaces a chunk that the packet refers to.
    fn displaces_what_is_meant(&self, chunk: &Chunk) -> bool {
        let slot = chunk.address.slot(self.settings.slot_bits);
        chunk.found == Some(Holds::Another) && self.references.iter().any(|reference| reference.chunk == slot)
    }

    /// Stores the packet's chunks, and records the transmission and the neighbours of chunks.
    fn remember(&mut self, packet: &[u8], to: StationId, column: u8) -> PacketNumber {
        let mut beside = Beside::new(self.stations.get(to).and_then(|to| to.last_slot));
        let (mut literal, mut reference) = (0, 0);
        loop {
            let next_literal = self.literals.get(literal);
            let next_reference = self.references.get(reference);
            let is_literal = match (next_literal, next_reference) {
                (Some(literal), Some(reference)) => literal.range.start < reference.range.start,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            if is_literal {
                self.keep(packet, literal, column, &mut beside);
                literal += 1;
            } else {
                self.note_removed(reference, column, &mut beside);
                reference += 1;
            }
        }
        if let Some(associated) = self.stations.get_mut(to) {
            associated.last_slot = beside.last.filter(|(_, end)| *end == packet.len()).map(|(slot, _)| slot);
        }
        self.sent.push_packet(column, self.literals.len() + self.references.len())
    }

    /// Stores a chunk that is sent with its bytes.
    pub(super) fn keep(&mut self, packet: &[u8], literal: usize, column: u8, beside: &mut Beside) {
        let number = self.sent.next();
        let slot_bits = self.settings.slot_bits;
        let (marks, caches) = (self.marks(), !self.flush.runs());
        let Gateway { cache, knowledge, stations, sent, statistics, literals, .. } = self;
        let chunk = &literals[literal];
        let slot = chunk.address.slot(slot_bits);
        statistics.collisions += u64::from(chunk.found == Some(Holds::Another));
        match chunk.found {
            Some(Holds::Another) if marks => {
                cache.mark(slot);
                knowledge.forget_slot(slot);
            }
            Some(Holds::Nothing | Holds::Another) if caches => {
                cache.put(chunk.address, &packet[chunk.range.clone()]);
                knowledge.forget_slot(slot);
            }
            None | Some(Holds::Nothing | Holds::Another | Holds::Chunk | Holds::Mark) => {}
        }
        sent.push_chunk(SentChunk::literal(chunk.address, slot_bits));
        if cache.head(slot).tag() != chunk.address.tag() {
            beside.last = None;
            return;
        }
        cache.note_addressee(slot, column);
        beside.stands(cache, slot, &chunk.range);
        knowledge.transmitted(cache, slot, number.0, column);
        if knowledge.guesses() {
            stations
                .iter_mut()
                .filter_map(|station| station.narrow.as_mut())
                .for_each(|narrow| narrow.fill(slot));
        } else if let Some(narrow) = stations.of_column_mut(column).and_then(|to| to.narrow.as_mut()) {
            narrow.fill(slot);
        }
    }

    /// Notes a chunk that is removed, whole or in part.
    fn note_removed(&mut self, reference: usize, column: u8, beside: &mut Beside) {
        let Gateway { cache, sent, references, .. } = self;
        let Reference { range, chunk: slot, part } = &references[reference];
        let head = cache.head(*slot);
        sent.push_chunk(SentChunk::removed(*slot, head.tag(), *part, origin(head, column)));
        match part {
            Part::Whole => {
                cache.note_addressee(*slot, column);
                beside.stands(cache, *slot, range);
            }
            // The neighbour at its other end is known.
            Part::Beginning(_) => beside.last = None,
            Part::End(_) => beside.last = Some((*slot, range.end)),
        }
    }
}

/// Notes which chunks are neighbours, in a pass over the packet.
pub(super) struct Beside {
    /// Slot and end of the last chunk.
    last: Option<(u32, usize)>,
    /// Slot of the last chunk in the station's packet before.
    of_packet_before: Option<u32>,
}

impl Beside {
    pub(super) fn new(of_packet_before: Option<u32>) -> Self {
        Beside { last: None, of_packet_before }
    }

    /// Notes that the slot's chunk occupies this range.
    fn stands(&mut self, cache: &mut GatewayCache, slot: u32, range: &Range<usize>) {
        match (self.last, self.of_packet_before) {
            (Some((before, end)), _) if end == range.start => cache.note_neighbours(before, slot),
            (None, Some(before)) if range.start == 0 => cache.note_neighbours_if_new(before, slot),
            _ => {}
        }
        self.last = Some((slot, range.end));
    }
}

/// Cuts a stretch of a packet and appends its chunks to `out`. A rest below the smallest chunk is not a
/// chunk. The memory of a chunk's slot arrives while the next chunks are cut.
pub(super) fn cut(
    boundaries: Boundaries,
    addresses: &Addresses,
    cache: &GatewayCache,
    packet: &[u8],
    stretch: Range<usize>,
    out: &mut Vec<Chunk>,
) {
    if stretch.len() < boundaries.min_chunk.bytes() {
        return;
    }
    for range in boundaries.chunks(&packet[stretch.clone()]) {
        let range = range.start + stretch.start..range.end + stretch.start;
        let address = addresses.of(&packet[range.clone()]);
        cache.prefetch(address.slot(cache.slot_bits()), range.len());
        out.push(Chunk { range, address, found: None });
    }
}

/// Looks up the chunks that were not looked up yet. A chunk that another gateway only named gets its bytes.
pub(super) fn look_up(cache: &mut GatewayCache, packet: &[u8], chunks: &mut [Chunk]) {
    for chunk in chunks.iter_mut().filter(|chunk| chunk.found.is_none()) {
        let bytes = &packet[chunk.range.clone()];
        cache.supply(chunk.address, bytes);
        chunk.found = Some(cache.holds(chunk.address, bytes));
    }
}
