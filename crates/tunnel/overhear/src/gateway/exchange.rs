//! Messages between gateways about stations that overhear both (REfactor, section 3.4, "unassociated client
//! caches").
//!
//! A station also reports packets that it overheard from another gateway. That gateway notes them as for its
//! own stations. From time to time it names the chunks to the station's own gateway. The names replace the
//! paper's bit vector of slots: they are the newly added slots, each with its chunk's tag. The tag is beyond
//! the paper, in which both gateways hear each other and therefore hold the same chunks; the tag removes this
//! condition. The bytes of a named chunk come with the first packet from which it is removed. A request is
//! answered from there.
//!
//! Relays exchange the same messages about stations that are members of both, also about packets addressed to
//! them.
//!
//! False names by a neighbour are detected like those of a lying station: by misses. These cost the station
//! trust, and no station gets a wrong byte.

use super::Gateway;
use super::stations::Stations;
use crate::names::{PacketNumber, StationId};
use std::collections::VecDeque;
pub use wire::named_chunks::NamedChunk;

/// The most packets that wait to be reported; older ones are dropped.
const MOST_NEWS: usize = 4096;

/// The most packets between a station's overhearing elsewhere and the report of it.
const UNCERTAIN_PACKETS: u64 = 1024;

/// Packets that a station of another gateway or relay overheard or received here.
#[derive(Debug, Default)]
pub struct News(VecDeque<PacketNumber>);

impl News {
    /// Adds a packet; if the list is full, the oldest one is dropped.
    pub fn note(&mut self, number: PacketNumber) {
        if self.0.len() >= MOST_NEWS {
            self.0.pop_front();
        }
        self.0.push_back(number);
    }
}

fn news_of(stations: &mut Stations, station: StationId) -> Option<&mut News> {
    stations.get_mut(station)?.news.as_mut()
}

impl Gateway {
    /// Notes that the station belongs to another gateway or relay. Packets that it overhears or receives from
    /// now on are recorded for [`take_news`](Gateway::take_news).
    pub fn note_news(&mut self, of: StationId) {
        if let Some(associated) = self.stations.get_mut(of) {
            associated.news.get_or_insert_default();
        }
    }

    /// Appends up to `most` new chunks that such a station overheard or received here. Packets are not
    /// divided. Displaced chunks are left out.
    pub fn take_news(&mut self, of: StationId, most: usize, out: &mut Vec<NamedChunk>) {
        let start = out.len();
        let Gateway { stations, sent, cache, .. } = self;
        while let Some(number) = news_of(stations, of).and_then(|news| news.0.front().copied()) {
            let named = out.len();
            if let Some(packet) = sent.packet(number) {
                let carried = sent.chunks(packet).filter(|chunk| !chunk.was_removed());
                let kept = carried.filter(|chunk| cache.head(chunk.slot()).tag() == chunk.tag());
                out.extend(kept.map(|chunk| NamedChunk { slot: chunk.slot(), tag: chunk.tag() }));
            }
            if out.len() - start > most && named > start {
                out.truncate(named);
                return;
            }
            if let Some(news) = news_of(stations, of) {
                news.0.pop_front();
            }
        }
    }

    /// Notes chunks that another gateway named, because this station overheard them there; its slots have
    /// `slot_bits` bits. If the slot has another chunk here, the order in which the station got both is
    /// unknown. The named chunk then takes the slot if no station is known to have the other one, and if that
    /// was not sent recently.
    pub fn learn_named(
        &mut self,
        station: StationId,
        slot_bits: u8,
        chunks: impl IntoIterator<Item = NamedChunk>,
    ) {
        let Some(column) = self.stations.column(station) else { return };
        let own_bits = self.settings.slot_bits;
        if slot_bits < own_bits || self.flush.runs() || self.marks() || self.knowledge.guesses() {
            return;
        }
        let next = self.sent.next().0;
        let lately = next.saturating_sub(UNCERTAIN_PACKETS);
        let Gateway { cache, knowledge, stations, .. } = self;
        for NamedChunk { slot, tag } in chunks {
            let slot = slot & ((1 << own_bits) - 1);
            let head = cache.head(slot);
            let is_other = head.tag() != tag && (head.chunk_bytes() > 0 || head.is_named());
            if is_other {
                let had = knowledge.has(cache, slot, column);
                knowledge.set(cache, slot, column, false);
                if had {
                    continue;
                }
                if knowledge.is_had_by_any(cache, slot)
                    || knowledge.was_carried_since(cache, slot, lately, next)
                {
                    continue;
                }
            }
            if is_other || (head.chunk_bytes() == 0 && !head.is_named()) {
                cache.name(slot, tag);
            }
            knowledge.set(cache, slot, column, true);
            if let Some(narrow) = stations.of_column_mut(column).and_then(|of| of.narrow.as_mut()) {
                narrow.fill(slot);
            }
        }
    }
}
