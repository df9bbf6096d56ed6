//! One packet's way through the encoder.

use super::{Chunk, Gateway, NOBODY, origin};
use crate::cache::Holds;
use crate::gateway::sent::SentChunk;
use crate::names::{PacketNumber, StationId};
use crate::removal::{Candidate, Origin};
use std::time::Duration;
use wire::chunk_request::MAX_SLOTS;
use wire::shim::MAX_RESTORED_BYTES;
use wire::shim::slots::{MAC_BYTES, Run, Slots};

/// What was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Under which number.
    pub number: PacketNumber,
    /// Bytes appended.
    pub bytes: usize,
    /// Bytes that the gateway held already.
    pub found_bytes: usize,
    /// Bytes removed.
    pub removed_bytes: usize,
    /// Chunks removed.
    pub removed_chunks: usize,
    /// Of the bytes appended, those that are none of the packet's.
    pub shim_bytes: usize,
}

impl Gateway {
    /// Appends to `out` what is to be sent to a station in place of `packet`, at most 65,534 bytes that are cut into chunks
    /// from their beginning. For a station that is not associated nothing is removed.
    pub fn encode(&mut self, to: StationId, packet: &[u8], now: Duration, out: &mut Vec<u8>) -> Sent {
        self.settle(now);
        self.flush.count(packet.len());
        let packet = &packet[..packet.len().min(MAX_RESTORED_BYTES)];
        self.find(packet);
        let column = self.stations.column(to).unwrap_or(NOBODY);
        let found_bytes = self.profile(to, column);
        self.choose(to, column, found_bytes);
        let start = out.len();
        let removed_bytes = self.emit(to, packet, out);
        let removed_chunks = self.slots.len();
        for run in &self.runs {
            self.statistics.removed_chunks += u64::from(run.slots);
        }
        let number = self.remember(packet, column);
        let bytes = out.len() - start;
        let shim_bytes = bytes - (packet.len() - removed_bytes);
        let counted = &mut self.statistics;
        counted.packets += 1;
        counted.packet_bytes += packet.len() as u64;
        counted.encoded_packets += u64::from(removed_chunks > 0);
        counted.sent_bytes += bytes as u64;
        counted.found_bytes += found_bytes as u64;
        counted.removed_bytes += removed_bytes as u64;
        Sent { number, bytes, found_bytes, removed_bytes, removed_chunks, shim_bytes }
    }

    /// Cuts the packet and looks its chunks up.
    fn find(&mut self, packet: &[u8]) {
        let slot_bits = self.cache.slot_bits();
        self.chunks.clear();
        for range in self.settings.boundaries.chunks(packet) {
            let address = self.addresses.of(&packet[range.clone()]);
            self.chunks.push(Chunk { range, address, found: Holds::Nothing, removed: None });
        }
        for chunk in &self.chunks {
            let slot = chunk.address.slot(slot_bits);
            self.fetched ^= self.cache.fetch(slot, chunk.range.len()) ^ self.knowledge.fetch(slot);
        }
        for chunk in &mut self.chunks {
            chunk.found = self.cache.holds(chunk.address, &packet[chunk.range.clone()]);
        }
    }

    /// Counts what was found, by whose it is, and says how many bytes of it there are.
    fn profile(&mut self, to: StationId, column: u8) -> usize {
        let (mut own_bytes, mut others_bytes, mut found) = (0, 0, 0);
        for chunk in self.chunks.iter().filter(|chunk| chunk.found == Holds::Chunk) {
            found += 1;
            match origin(self.cache.head(chunk.address.slot(self.settings.slot_bits)), column) {
                Origin::Own => own_bytes += chunk.range.len(),
                Origin::Other => others_bytes += chunk.range.len(),
            }
        }
        self.statistics.chunks += self.chunks.len() as u64;
        self.statistics.found_chunks += found;
        if let Some(associated) = self.stations.get_mut(to) {
            associated.profile.packet(own_bytes, others_bytes);
        }
        own_bytes + others_bytes
    }

    /// Decides which chunks are removed.
    fn choose(&mut self, to: StationId, column: u8, found_bytes: usize) {
        self.slots.clear();
        self.displacing.clear();
        let Gateway { settings, cache, knowledge, stations, sent, chunks, slots, flush, displacing, .. } =
            self;
        let Some(associated) = stations.get_mut(to) else { return };
        if associated.flush_pending || flush.runs() || found_bytes == 0 {
            return;
        }
        let narrow_bits = associated.narrow.as_ref().map_or(settings.slot_bits, |narrow| narrow.slot_bits());
        let next = sent.next().0;
        // its own bits, and its part of the front, the runs and the MAC
        let front_bytes = 3.0 + if associated.mac.is_some() { MAC_BYTES as f64 } else { 0.0 };
        // what this very packet takes the place of could not be supplied if the station lacked it
        let another = chunks.iter().filter(|chunk| chunk.found == Holds::Another);
        displacing.extend(another.map(|chunk| chunk.address.slot(settings.slot_bits)));
        for chunk in chunks.iter_mut().filter(|chunk| chunk.found == Holds::Chunk).take(MAX_SLOTS) {
            let slot = chunk.address.slot(settings.slot_bits);
            if displacing.contains(&slot) {
                continue;
            }
            let there = associated.narrow.as_ref().is_none_or(|narrow| narrow.holds(slot));
            let chunk_bytes = chunk.range.len() as f64;
            let candidate = Candidate {
                probability: if there {
                    knowledge.probability(slot, &associated.listener, next)
                } else {
                    0.0
                },
                chunk_bytes,
                shim_bytes: f64::from(narrow_bits) / 8.0 + front_bytes * chunk_bytes / found_bytes as f64,
                redundant_bytes: found_bytes as f64,
            };
            let origin = origin(cache.head(slot), column);
            let association = &associated.association;
            let removes = settings.removal.removes(
                &candidate,
                origin,
                &associated.profile,
                &association.air_time,
                association.rate_bits_per_second,
            );
            if removes {
                chunk.removed = Some(origin);
                slots.push(chunk.address.slot(narrow_bits));
            } else if candidate.probability > 0.0 {
                associated.profile.left_in(origin);
            }
        }
    }

    /// Writes shim and literals, and says how many bytes it removed.
    fn emit(&mut self, to: StationId, packet: &[u8], out: &mut Vec<u8>) -> usize {
        self.runs.clear();
        let mut removed_bytes = 0;
        let (mut literal_bytes, mut behind_slot) = (0, false);
        for chunk in &self.chunks {
            match self.runs.last_mut() {
                Some(run) if chunk.removed.is_some() && behind_slot => run.slots += 1,
                _ if chunk.removed.is_some() => {
                    self.runs.push(Run { literal_bytes, slots: 1 });
                    literal_bytes = 0;
                }
                _ => literal_bytes += chunk.range.len() as u32,
            }
            behind_slot = chunk.removed.is_some();
            removed_bytes += if behind_slot { chunk.range.len() } else { 0 };
        }
        let number = self.sent.next();
        let associated = self.stations.get_mut(to);
        let mac = associated.as_ref().and_then(|associated| associated.mac.as_ref());
        let slot_bits = associated.as_ref().and_then(|associated| associated.narrow.as_ref());
        let slot_bits = slot_bits.map_or(self.settings.slot_bits, |narrow| narrow.slot_bits());
        let mac = mac.filter(|_| removed_bytes > 0).map(|mac| mac.of(number.0, packet));
        let shim = Slots { slot_bits, mac, runs: &self.runs, slots: &self.slots };
        if removed_bytes <= shim.encoded_len() {
            // not worth it
            self.chunks.iter_mut().for_each(|chunk| chunk.removed = None);
            self.runs.clear();
            self.slots.clear();
            Slots { slot_bits, mac: None, runs: &[], slots: &[] }.emit(out);
            out.extend_from_slice(packet);
            return 0;
        }
        shim.emit(out);
        let mut literals_from = 0;
        for chunk in self.chunks.iter().filter(|chunk| chunk.removed.is_some()) {
            out.extend_from_slice(&packet[literals_from..chunk.range.start]);
            literals_from = chunk.range.end;
        }
        out.extend_from_slice(&packet[literals_from..]);
        removed_bytes
    }

    /// Keeps the packet's chunks, and remembers what was sent.
    fn remember(&mut self, packet: &[u8], column: u8) -> PacketNumber {
        let number = self.sent.next();
        let slot_bits = self.settings.slot_bits;
        let (marks, caches) = (self.marks(), !self.flush.runs());
        let Gateway { cache, knowledge, stations, sent, statistics, chunks, .. } = self;
        for chunk in chunks.iter() {
            let slot = chunk.address.slot(slot_bits);
            statistics.collisions += u64::from(chunk.found == Holds::Another);
            match chunk.found {
                Holds::Mark => {}
                Holds::Another if marks => {
                    cache.mark(slot);
                    knowledge.forget_slot(slot);
                }
                Holds::Nothing | Holds::Another if caches => {
                    cache.put(chunk.address, &packet[chunk.range.clone()]);
                    knowledge.forget_slot(slot);
                }
                Holds::Nothing | Holds::Another | Holds::Chunk => {}
            }
            sent.push_chunk(SentChunk::new(chunk.address, slot_bits, chunk.removed));
            if cache.head(slot).tag() != chunk.address.tag() {
                continue;
            }
            cache.note_addressee(slot, column);
            if chunk.removed.is_none() {
                knowledge.transmitted(slot, number.0, column);
                if knowledge.guesses() {
                    stations
                        .iter_mut()
                        .filter_map(|station| station.narrow.as_mut())
                        .for_each(|narrow| narrow.fill(slot));
                } else if let Some(narrow) = stations.of_column_mut(column).and_then(|to| to.narrow.as_mut())
                {
                    narrow.fill(slot);
                }
            }
        }
        sent.push_packet(column, chunks.len())
    }
}
