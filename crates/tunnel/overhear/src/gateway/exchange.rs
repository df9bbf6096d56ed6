//! What gateways tell each other of stations that overhear both (REfactor, section 3.4, "unassociated client
//! caches").
//!
//! A station says what it overheard of a gateway that is not its own, too. That gateway notes it as of any
//! station, and names the chunks in question to the station's own gateway from time to time: the paper's bit
//! vector of slots, as the slots that were added since the last time, each with the tag of its chunk. The tag
//! is beyond the paper, in which both gateways hear each other and so hold the same chunks; with it neither
//! has to. Of a chunk that is only named the bytes come with the packet from which it is removed first, which
//! is where a request would be answered from.
//!
//! Relays tell each other the same of stations that are members of both, of what was sent to them, too.
//!
//! A neighbour that names what is not so is found out as a station is that lies: by misses, which cost the
//! station trust and nobody a wrong byte.

use super::Gateway;
use super::stations::Stations;
use crate::names::{PacketNumber, StationId};
use std::collections::VecDeque;
pub use wire::named_chunks::NamedChunk;

/// Packets of which may wait to be told; of older ones nothing is said.
const MOST_NEWS: usize = 4096;

/// So many packets may pass between what a station overhears elsewhere and the news of it.
const UNCERTAIN_PACKETS: u64 = 1024;

/// Packets that a station of another gateway or relay overheard here, or got.
#[derive(Debug, Default)]
pub struct News(VecDeque<PacketNumber>);

impl News {
    /// One more. Where there is no room, the oldest is forgotten.
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
    /// The station is another gateway's or relay's, and is to be told of there: what it overhears from now
    /// on, and what it gets, is noted for [`take_news`](Gateway::take_news).
    pub fn note_news(&mut self, of: StationId) {
        if let Some(associated) = self.stations.get_mut(of) {
            associated.news.get_or_insert_default();
        }
    }

    /// Appends up to so many chunks that such a station overheard here, or got, of those that were not taken
    /// yet; packets are not divided. What has been displaced meanwhile is left out.
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

    /// Another gateway has named chunks that this station overheard there; its slots have so many bits. Where
    /// another chunk stands in a slot here, it is not known which of both the station got later; the one that
    /// is named takes the slot if nobody is known to have the other, and that was not sent lately.
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
