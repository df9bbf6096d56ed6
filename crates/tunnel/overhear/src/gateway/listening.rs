//! What other nodes send, heard at this one (REfactor, sections 2.2.2 and 3.4): a gateway overhears its
//! neighbours, a relay hears what comes to it from both sides.
//!
//! Who has what was heard follows from the path it took: whoever sent it has it, and whoever says that it
//! heard it too.

use super::encode::{Beside, cut, look_up};
use super::sent::SentChunk;
use super::{Gateway, NOBODY};
use crate::names::{PacketNumber, StationId};
use std::ops::Range;
use wire::Malformed;
use wire::shim::slots::Encoded;

impl Gateway {
    /// Keeps the chunks of what another node sent, as if they had been sent from here to nobody. The number
    /// stands for it from now on: under it [`record_overheard`](Gateway::record_overheard) and
    /// [`record_held`](Gateway::record_held) say which stations have it. `follows` is the number of what the
    /// same node sent to the same one before, if that was heard: its end stood before this beginning.
    ///
    /// # Errors
    ///
    /// When it is no encoded packet; nothing is kept then.
    pub fn hear(&mut self, encoded: &[u8], follows: Option<PacketNumber>) -> Result<PacketNumber, Malformed> {
        let encoded = Encoded::parse(encoded)?;
        let heard = encoded.literals;
        self.literals.clear();
        for stretch in stretches(&encoded) {
            // whatever was removed beside it, it is cut by itself, as whoever hears it does
            cut(self.settings.boundaries, &self.addresses, heard, stretch, &mut self.literals);
        }
        let Gateway { cache, literals, fetched, .. } = self;
        look_up(cache, heard, literals, fetched);
        let before = follows.and_then(|number| self.sent.packet(number));
        let last_before = before.and_then(|packet| self.sent.chunks(packet).last()).map(SentChunk::slot);
        let mut literal = 0;
        for (place, stretch) in stretches(&encoded).enumerate() {
            let mut beside = Beside::new(last_before.filter(|_| place == 0));
            while self.literals.get(literal).is_some_and(|chunk| chunk.range.end <= stretch.end) {
                self.keep(heard, literal, NOBODY, &mut beside);
                literal += 1;
            }
        }
        Ok(self.sent.push_packet(NOBODY, self.literals.len()))
    }

    /// A station has what was sent or heard under a number, for it sent it itself or was seen to receive it.
    /// Unlike [`record_overheard`](Gateway::record_overheard) this says nothing of how much the station
    /// overhears.
    pub fn record_held(&mut self, station: StationId, number: PacketNumber) {
        let (Some(packet), Some(column)) = (self.sent.packet(number), self.stations.column(station)) else {
            return;
        };
        self.station_has(column, packet, false);
    }
}

/// What was not removed, each stretch of it among the literals.
fn stretches(encoded: &Encoded<'_>) -> impl Iterator<Item = Range<usize>> {
    let all = encoded.literals.len();
    let mut from = 0;
    let of_runs = encoded.runs().map(|run| run.literal_bytes as usize);
    of_runs.chain([all]).map(move |bytes| {
        let to = (from + bytes).min(all);
        std::mem::replace(&mut from, to)..to
    })
}
