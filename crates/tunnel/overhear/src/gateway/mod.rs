//! The encoder, at a gateway.

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

/// So long after its acknowledgment a packet for which nothing was requested is taken for restored ("a few
/// seconds", REfactor, section 3.2.1).
pub const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// Whose a packet is that is for no station known.
const NOBODY: u8 = MAX_STATIONS as u8;

/// Over how many packets of others the share that a station overhears is averaged.
const SHARE_PACKETS: f64 = 128.0;

/// What was counted since the gateway was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatewayStatistics {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub packet_bytes: u64,
    /// Packets from which something was removed.
    pub encoded_packets: u64,
    /// What they became, all of them, in bytes.
    pub sent_bytes: u64,
    /// Chunks.
    pub chunks: u64,
    /// Of them, those that the cache held.
    pub found_chunks: u64,
    /// Bytes of those.
    pub found_bytes: u64,
    /// Chunks removed, all of them or a part.
    pub removed_chunks: u64,
    /// Bytes of those.
    pub removed_bytes: u64,
    /// Of them, what was found beside a chunk and not by its own hash.
    pub beside_bytes: u64,
    /// Chunks whose slot held another.
    pub collisions: u64,
    /// Requests answered.
    pub answered_requests: u64,
    /// Requests that were not.
    pub refused_requests: u64,
    /// Bytes of replies.
    pub reply_bytes: u64,
}

/// Why a station cannot associate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// Its cache is too small.
    #[error("a cache of 2^{0} slots is too small; at least 2^{MIN_SLOT_BITS} are needed")]
    SlotBits(u8),
    /// There are too many.
    #[error("{MAX_STATIONS} stations are associated already")]
    Full,
}

/// A chunk of the packet that is being encoded.
#[derive(Debug, Clone)]
struct Chunk {
    range: Range<usize>,
    address: Address,
    /// None until it was looked up.
    found: Option<Holds>,
}

/// Encodes what is sent to stations.
#[derive(Debug)]
pub struct Gateway {
    settings: Settings,
    addresses: Addresses,
    cache: GatewayCache,
    knowledge: Knowledge,
    stations: Stations,
    sent: SentPackets,
    /// Acknowledged packets from which something was removed, and when they are settled.
    settling: VecDeque<(Duration, PacketNumber)>,
    flush: Flush,
    statistics: GatewayStatistics,
    /// As the packet is cut.
    chunks: Vec<Chunk>,
    /// As what is sent of it is cut.
    literals: Vec<Chunk>,
    /// Whole chunks that are to be removed, and with what stands beside them.
    found: Vec<Reference>,
    references: Vec<Reference>,
    runs: Vec<Run>,
    slots: Vec<u32>,
    /// Slots whose chunk another one of the packet takes the place of.
    displacing: Vec<u32>,
    /// Sum of what was looked at only to have it near.
    fetched: u8,
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
            fetched: 0,
            settings,
        })
    }

    /// Bytes of memory of the cache, once it is full.
    #[must_use]
    pub fn cache_bytes(&self) -> usize {
        self.cache.size_bytes()
    }

    /// What was counted.
    #[must_use]
    pub fn statistics(&self) -> &GatewayStatistics {
        &self.statistics
    }

    /// The share of what was sent to others lately that a station overheard; none as long as it has said
    /// nothing.
    #[must_use]
    pub fn overheard_share(&self, by: StationId) -> Option<f64> {
        self.stations.iter().find(|of| of.station == by).and_then(|of| of.listener.overheard_share)
    }

    /// What a station overheard since it associated, by the rate at which it was sent.
    #[must_use]
    pub fn overheard_by_rate(&self, by: StationId) -> Option<&[OverheardAtRate]> {
        self.stations.get(by).map(|associated| associated.by_rate.as_slice())
    }

    /// The number of what is sent next.
    #[must_use]
    pub fn next_number(&self) -> PacketNumber {
        self.sent.next()
    }

    /// A station associates, with an empty cache. What was known of an earlier association is forgotten.
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

    /// The station listened before it was known here: what it says it heard of earlier packets counts, too.
    pub fn accept_earlier_reports(&mut self, station: StationId) {
        let oldest = self.sent.oldest().0;
        if let Some(associated) = self.stations.get_mut(station) {
            associated.joined_at = oldest;
        }
    }

    /// Whether there is a station by this name.
    #[must_use]
    pub fn is_associated(&self, station: StationId) -> bool {
        self.stations.column(station).is_some()
    }

    /// A station has left. What it had is forgotten.
    pub fn leave(&mut self, station: StationId) {
        self.stations.remove(station);
        self.stations_have_changed();
    }

    /// Stations came, went or changed their rates.
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

    /// A station's rate is known to have changed, and what transmissions to it take.
    pub fn set_rate(&mut self, station: StationId, rate_bits_per_second: u64, air_time: crate::AirTime) {
        let Some(associated) = self.stations.get_mut(station) else { return };
        associated.association.air_time = air_time;
        associated.association.rate_is_known = true;
        associated.association.rate_bits_per_second = rate_bits_per_second;
        associated.listener.rate_bits_per_second = rate_bits_per_second;
        self.stations_have_changed();
    }

    /// By rates, a station is taken to overhear this share of what is sent to others, instead of what the
    /// table says; `None`: what the table says. By receipts nothing needs to be said: the share follows from
    /// them.
    pub fn estimate_overhearing(&mut self, of: StationId, share: Option<f64>) {
        let Some(associated) = self.stations.get_mut(of) else { return };
        associated.listener.estimate = share.map(|share| share.clamp(0.0, OverheardFractions::NEARER));
        self.stations_have_changed();
    }

    /// The station has received a packet or a reply that was sent to it: what it carried, the station has.
    /// What was removed from it the station has too, unless it asks for it within [`SETTLED_AFTER`].
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

    /// The station has overheard a packet or a reply that was sent to another: what it carried, the station
    /// has. Of packets before this one of which it has said nothing, it is taken to have heard none.
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

    /// The station has said of every packet before `until` whether it heard it.
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

    /// A packet that was sent to a station since it associated, and the station's column.
    fn packet_of(&self, station: StationId, number: PacketNumber) -> Option<(SentPacket, u8)> {
        let associated = self.stations.get(station)?;
        let packet = self.sent.packet(number)?;
        let column = associated.listener.column;
        // of a column's earlier station it is no news
        (packet.column == column && number.0 >= associated.joined_at).then_some((packet, column))
    }

    /// A station has what a packet carried, or with `removed` what was removed from it.
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

    /// Takes packets for restored for which nothing was requested in time.
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

    /// Whether two chunks in one slot leave it marked.
    fn marks(&self) -> bool {
        matches!(self.settings.collisions, Collisions::Mark(_))
    }
}

/// Whose content a slot's chunk is, seen from the station of a column.
fn origin(head: Head, column: u8) -> Origin {
    if head.addressee() == column { Origin::Own } else { Origin::Other }
}
