//! The encoder at a gateway.

mod encode;
mod exchange;
mod flushing;
mod listening;
mod narrow;
mod neighbours;
mod requests;
mod sent;
mod stations;

pub use encode::Sent;
pub use exchange::NamedChunk;
pub use requests::Answer;
pub use stations::OverheardAtRate;

use crate::address::{Address, Addresses};
use crate::cache::{Head, Holds};
use crate::flush::Flush;
use crate::knowledge::{Knowledge, Listener, MAX_STATIONS, OverheardFractions};
use crate::names::{PacketNumber, StationId};
use crate::references::Reference;
use crate::removal::{Origin, Profile};
use crate::settings::{Association, Collisions, Settings, SettingsError};
use narrow::NarrowCache;
use neighbours::GatewayCache;
use re::mac::PacketMac;
use sent::{SentChunk, SentPacket, SentPackets};
use stations::{Associated, Stations};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;
use wire::shim::slots::{MIN_SLOT_BITS, Run};

/// An acknowledged packet counts as restored after this time without a request ("a few seconds", REfactor,
/// section 3.2.1).
pub const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Column of a packet for an unknown station.
const NOBODY: u8 = MAX_STATIONS as u8;

/// Number of others' packets in the average of a station's overheard share.
const SHARE_PACKETS: f64 = 128.0;

/// Counts since the gateway was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatewayStatistics {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub packet_bytes: u64,
    /// Packets from which something was removed.
    pub encoded_packets: u64,
    /// Bytes sent for all packets.
    pub sent_bytes: u64,
    /// Chunks.
    pub chunks: u64,
    /// Chunks that the cache held.
    pub found_chunks: u64,
    /// Bytes of those chunks.
    pub found_bytes: u64,
    /// Chunks removed, whole or in part.
    pub removed_chunks: u64,
    /// Bytes of those chunks.
    pub removed_bytes: u64,
    /// Removed bytes that were found beside a chunk and not by their own hash.
    pub beside_bytes: u64,
    /// Chunks whose slot held another chunk.
    pub collisions: u64,
    /// Requests answered.
    pub answered_requests: u64,
    /// Requests refused.
    pub refused_requests: u64,
    /// Bytes of replies.
    pub reply_bytes: u64,
}

/// Reason why a station cannot associate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// Its cache is too small.
    #[error("a cache of 2^{0} slots is too small; at least 2^{MIN_SLOT_BITS} are needed")]
    SlotBits(u8),
    /// There are too many stations.
    #[error("{MAX_STATIONS} stations are associated already")]
    Full,
}

/// A chunk of the packet in the encoder.
#[derive(Debug, Clone)]
struct Chunk {
    range: Range<usize>,
    address: Address,
    /// `None` before the look-up.
    found: Option<Holds>,
}

/// Encodes packets for stations.
#[derive(Debug)]
pub struct Gateway {
    settings: Settings,
    addresses: Addresses,
    cache: GatewayCache,
    knowledge: Knowledge,
    stations: Stations,
    sent: SentPackets,
    /// Acknowledged packets with removed bytes, and the times at which they are settled.
    settling: VecDeque<(Duration, PacketNumber)>,
    flush: Flush,
    statistics: GatewayStatistics,
    /// Chunks of the packet.
    chunks: Vec<Chunk>,
    /// Chunks of its literals.
    literals: Vec<Chunk>,
    /// Whole chunks to remove, then with their neighbours.
    found: Vec<Reference>,
    references: Vec<Reference>,
    runs: Vec<Run>,
    slots: Vec<u32>,
    /// Slots whose chunk another chunk of the packet displaces.
    displacing: Vec<u32>,
}

impl Gateway {
    /// A gateway without stations, with an empty cache.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.validate()?;
        Ok(Gateway {
            addresses: Addresses::new(&settings.network_key),
            cache: GatewayCache::new(settings.slot_bits),
            knowledge: Knowledge::new(settings.knowledge, settings.slot_bits),
            stations: Stations::new(),
            sent: SentPackets::new(),
            settling: VecDeque::new(),
            flush: Flush::default(),
            statistics: GatewayStatistics::default(),
            chunks: Vec::new(),
            literals: Vec::new(),
            found: Vec::new(),
            references: Vec::new(),
            runs: Vec::new(),
            slots: Vec::new(),
            displacing: Vec::new(),
            settings,
        })
    }

    /// Bytes of memory of a full cache of 2^`slot_bits` slots.
    #[must_use]
    pub fn bytes_of_cache(slot_bits: u8) -> usize {
        GatewayCache::bytes_of(slot_bits)
    }

    /// Bytes of memory of the cache, once it is full.
    #[must_use]
    pub fn cache_bytes(&self) -> usize {
        self.cache.size_bytes()
    }

    /// Counts since the gateway was made.
    #[must_use]
    pub fn statistics(&self) -> &GatewayStatistics {
        &self.statistics
    }

    /// The share of others' recent packets that a station overheard; `None` before its first report.
    #[must_use]
    pub fn overheard_share(&self, by: StationId) -> Option<f64> {
        self.stations.iter().find(|of| of.station == by).and_then(|of| of.listener.overheard_share)
    }

    /// Packets that a station overheard since its association, by their rate.
    #[must_use]
    pub fn overheard_by_rate(&self, by: StationId) -> Option<&[OverheardAtRate]> {
        self.stations.get(by).map(|associated| associated.by_rate.as_slice())
    }

    /// The number of the next packet.
    #[must_use]
    pub fn next_number(&self) -> PacketNumber {
        self.sent.next()
    }

    /// Associates a station with an empty cache. State of an earlier association is forgotten.
    pub fn join(
        &mut self,
        station: StationId,
        association: Association,
        _now: Duration,
    ) -> Result<(), JoinError> {
        if association.slot_bits < MIN_SLOT_BITS {
            return Err(JoinError::SlotBits(association.slot_bits));
        }
        self.stations.remove(station);
        let (column, cleaned) = self.stations.free_column().ok_or(JoinError::Full)?;
        if cleaned != 0 {
            self.knowledge.forget_columns(&mut self.cache, cleaned);
        }
        let narrow = association.slot_bits < self.settings.slot_bits;
        let next = self.sent.next().0;
        let listener = Listener {
            column,
            rate_bits_per_second: association.rate_bits_per_second,
            reported_until: next,
            overheard_share: None,
            cold_start: 0.0,
            estimate: None,
        };
        self.stations.insert(Associated {
            station,
            listener,
            joined_at: next,
            mac: association.mac_key.map(|key| PacketMac::new(&key)),
            narrow: narrow.then(|| NarrowCache::new(association.slot_bits)),
            profile: Profile::default(),
            flush_pending: false,
            heard: 0,
            by_rate: Vec::new(),
            last_slot: None,
            news: None,
            association,
        });
        self.stations_have_changed();
        Ok(())
    }

    /// Accepts reports about packets before the association, because the station already listened.
    pub fn accept_earlier_reports(&mut self, station: StationId) {
        let oldest = self.sent.oldest().0;
        if let Some(associated) = self.stations.get_mut(station) {
            associated.joined_at = oldest;
        }
    }

    /// Whether this station is associated.
    #[must_use]
    pub fn is_associated(&self, station: StationId) -> bool {
        self.stations.column(station).is_some()
    }

    /// Removes a station and all knowledge about it.
    pub fn leave(&mut self, station: StationId) {
        self.stations.remove(station);
        self.stations_have_changed();
    }

    /// Updates the knowledge after a change of stations or rates.
    fn stations_have_changed(&mut self) {
        self.knowledge.stations_are(self.stations.iter().map(|station| station.listener));
        let fractions = OverheardFractions::default();
        let rates: Vec<(u8, u64)> = self
            .stations
            .iter()
            .filter(|station| station.association.rate_is_known)
            .map(|station| (station.listener.column, station.listener.rate_bits_per_second))
            .collect();
        for station in self.stations.iter_mut().filter(|station| station.association.rate_is_known) {
            let listener = &mut station.listener;
            let others = rates.iter().filter(|(column, _)| *column != listener.column);
            let (count, sum) = others.fold((0u32, 0.0), |(count, sum), (_, rate)| {
                (count + 1, sum + fractions.probability(listener.rate_bits_per_second, *rate))
            });
            listener.cold_start = sum / f64::from(count.max(1));
        }
    }

    /// Sets a station's rate and the air time of transmissions to it.
    pub fn set_rate(&mut self, station: StationId, rate_bits_per_second: u64, air_time: crate::AirTime) {
        let Some(associated) = self.stations.get_mut(station) else { return };
        associated.association.air_time = air_time;
        associated.association.rate_is_known = true;
        associated.association.rate_bits_per_second = rate_bits_per_second;
        associated.listener.rate_bits_per_second = rate_bits_per_second;
        self.stations_have_changed();
    }

    /// Sets the estimated share of others' packets that a station overhears, in place of the table's
    /// (knowledge by rates). `None` restores the table. With receipts the share follows from reports.
    pub fn estimate_overhearing(&mut self, of: StationId, share: Option<f64>) {
        let Some(associated) = self.stations.get_mut(of) else { return };
        associated.listener.estimate = share.map(|share| share.clamp(0.0, OverheardFractions::NEARER));
        self.stations_have_changed();
    }

    /// Notes that the station received a packet or reply that was addressed to it, so it has the chunks
    /// inside. The removed chunks count as present, too, unless it requests them within [`SETTLED_AFTER`].
    pub fn record_acknowledgment(&mut self, by: StationId, number: PacketNumber, now: Duration) {
        self.settle(now);
        let Some((packet, column)) = self.packet_of(by, number) else { return };
        self.station_has(column, packet, false);
        if !packet.acknowledged
            && let Some(news) = self.stations.get_mut(by).and_then(|it| it.news.as_mut())
        {
            news.note(number);
        }
        if !packet.acknowledged && self.sent.chunks(packet).any(SentChunk::was_removed) {
            self.settling.push_back((now + SETTLED_AFTER, number));
        }
        self.sent.note_acknowledgment(number);
    }

    /// Notes that the station overheard a packet or reply to another station, so it has the chunks inside.
    /// Earlier packets without a report count as not heard.
    pub fn record_overheard(&mut self, by: StationId, number: PacketNumber) {
        let Some(packet) = self.sent.packet(number) else { return };
        let Some(associated) = self.stations.get_mut(by) else { return };
        let column = associated.listener.column;
        if number.0 < associated.joined_at || packet.column == column {
            return;
        }
        associated.heard += 1;
        if let Some(at) = self
            .stations
            .rate(packet.column)
            .and_then(|rate| self.stations.get_mut(by).and_then(|associated| associated.at_rate(rate)))
        {
            at.overheard_packets += 1;
        }
        if let Some(news) = self.stations.get_mut(by).and_then(|associated| associated.news.as_mut()) {
            news.note(number);
        }
        self.settle_reports_until(by, PacketNumber(number.0 + 1));
        self.station_has(column, packet, false);
    }

    /// Notes that the station's reports cover all packets before `until`.
    pub fn settle_reports_until(&mut self, by: StationId, until: PacketNumber) {
        let until = until.0.min(self.sent.next().0);
        let oldest = self.sent.oldest().0;
        let Some(associated) = self.stations.get_mut(by) else { return };
        let listener = &mut associated.listener;
        if until <= listener.reported_until {
            return;
        }
        let reported = listener.reported_until.max(oldest)..until;
        listener.reported_until = until;
        let column = listener.column;
        let mut of_others = 0.0;
        for number in reported {
            let Some(packet) = self.sent.packet(PacketNumber(number)) else { continue };
            if packet.column == column {
                continue;
            }
            of_others += 1.0;
            let rate = self.stations.rate(packet.column);
            let associated = self.stations.get_mut(by);
            if let Some(at) = associated.zip(rate).and_then(|(associated, rate)| associated.at_rate(rate)) {
                at.packets += 1;
            }
        }
        let Some(associated) = self.stations.get_mut(by) else { return };
        let heard = f64::from(std::mem::take(&mut associated.heard)).min(of_others);
        if of_others > 0.0 {
            let listener = &mut associated.listener;
            let share = listener.overheard_share.get_or_insert(listener.cold_start);
            *share += (heard / of_others - *share) * (of_others / SHARE_PACKETS).min(1.0);
        }
    }

    /// A packet sent to a station since its association, and the station's column.
    fn packet_of(&self, station: StationId, number: PacketNumber) -> Option<(SentPacket, u8)> {
        let associated = self.stations.get(station)?;
        let packet = self.sent.packet(number)?;
        let column = associated.listener.column;
        // A report about an earlier station of the column is ignored.
        (packet.column == column && number.0 >= associated.joined_at).then_some((packet, column))
    }

    /// Notes that a station has a packet's literal chunks, or with `removed` its removed chunks.
    fn station_has(&mut self, column: u8, packet: SentPacket, removed: bool) {
        let Gateway { cache, knowledge, stations, sent, .. } = self;
        let Some(associated) = stations.of_column_mut(column) else { return };
        if packet.number.0 < associated.joined_at {
            return;
        }
        for chunk in sent.chunks(packet).filter(|chunk| chunk.was_removed() == removed) {
            let slot = chunk.slot();
            let head = cache.head(slot);
            if !removed && let Some(narrow) = &mut associated.narrow {
                narrow.fill(slot);
            }
            if head.chunk_bytes() > 0 && head.tag() == chunk.tag() {
                knowledge.set(cache, slot, column, true);
            }
        }
    }

    /// Marks packets as restored that had no request in time.
    fn settle(&mut self, now: Duration) {
        while let Some(&(at, number)) = self.settling.front() {
            if at > now {
                break;
            }
            self.settling.pop_front();
            let Some(packet) = self.sent.packet(number).filter(|packet| packet.requests == 0) else {
                continue;
            };
            self.had_what_was_removed(packet);
        }
    }

    fn had_what_was_removed(&mut self, packet: SentPacket) {
        self.station_has(packet.column, packet, true);
        let Some(associated) = self.stations.of_column_mut(packet.column) else { return };
        for chunk in self.sent.chunks(packet).filter(|chunk| chunk.was_removed()) {
            associated.profile.record_chunk(chunk.origin(), true);
        }
    }

    /// Whether a collision marks the slot.
    fn marks(&self) -> bool {
        matches!(self.settings.collisions, Collisions::Mark(_))
    }
}

/// Origin of a slot's chunk, relative to the station of a column.
fn origin(head: Head, column: u8) -> Origin {
    if head.addressee() == column { Origin::Own } else { Origin::Other }
}
