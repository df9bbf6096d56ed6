//! Packets of other nodes, heard at this one (REfactor, sections 2.2.2 and 3.4). A gateway overhears its
//! neighbours; a relay receives from both sides.
//!
//! The nodes that have such a packet are its sender and the nodes that report it.

use super::encode::{Beside, cut, look_up};
use super::sent::SentChunk;
use super::{Gateway, NOBODY};
use crate::names::{PacketNumber, StationId};
use std::ops::Range;
use wire::Malformed;
use wire::shim::slots::Encoded;

impl Gateway {
    /// Stores the chunks of another node's packet, as if this node had sent them to nobody.
    /// [`record_overheard`](Gateway::record_overheard) and [`record_held`](Gateway::record_held) use the
    /// returned number. `follows` is the number of the same sender's previous packet to the same receiver, if
    /// it was heard: the chunks at the joint become neighbours.
    ///
    /// # Errors
    ///
    /// If it is not an encoded packet. Nothing is stored then.
    pub fn hear(&mut self, encoded: &[u8], follows: Option<PacketNumber>) -> Result<PacketNumber, Malformed> {
        let encoded = Encoded::parse(encoded)?;
        let heard = encoded.literals;
        self.literals.clear();
        for stretch in stretches(&encoded) {
            // Each stretch is cut on its own, as every listener does.
            cut(self.settings.boundaries, &self.addresses, &self.cache, heard, stretch, &mut self.literals);
        }
        let Gateway { cache, literals, .. } = self;
        look_up(cache, heard, literals);
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

    /// Notes that a station has the packet of this number, because it sent it or was seen to receive it.
    /// Unlike [`record_overheard`](Gateway::record_overheard), it does not count as overhearing.
    pub fn record_held(&mut self, station: StationId, number: PacketNumber) {
        let (Some(packet), Some(column)) = (self.sent.packet(number), self.stations.column(station)) else {
            return;
        };
        self.station_has(column, packet, false);
    }
}

/// The literals, stretch by stretch.
fn stretches(encoded: &Encoded<'_>) -> impl Iterator<Item = Range<usize>> {
    let all = encoded.literals.len();
    let mut from = 0;
    let of_runs = encoded.runs().map(|run| run.literal_bytes as usize);
    of_runs.chain([all]).map(move |bytes| {
        let to = (from + bytes).min(all);
        std::mem::replace(&mut from, to)..to
    })
}
