//! Records become bytes of streams.

use super::{MOST_CONFIRMED, MOST_RANGES, Reduction, with_margin};
use crate::ranges::Ranges;
use re::literals::Expander;
use re::mac::PacketMac;
use re::{Decoder, Form, Parameters};
use std::ops::Range;
use wire::Malformed;
use wire::inner::Flow;
use wire::record::{MOST_PLAIN_BYTES, Record, emit_segment_front};
use wire::stream::widen_offset;

/// The records of all streams from a peer.
#[derive(Debug)]
pub struct RecordReader {
    /// `None`: nothing is stored.
    decoder: Option<Decoder>,
    expander: Expander,
    mac: PacketMac,
    /// The highest number that came.
    newest: u64,
    /// Numbers of stored records that the far end is to be told.
    stored: Ranges,
    packet: Vec<u8>,
    shim: Vec<u8>,
}

/// Why a record has no bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// It makes no sense.
    Malformed,
    /// It refers to bytes that are not stored here, or are others.
    Unrestored,
}

impl From<Malformed> for Unreadable {
    fn from(_: Malformed) -> Self {
        Unreadable::Malformed
    }
}

impl RecordReader {
    /// Nothing is stored yet.
    #[must_use]
    pub fn new(reduction: &Reduction) -> Self {
        let Reduction { parameters, peer_window_bytes, peer_sample_bits, key, .. } = reduction;
        let is_sane = Parameters::WINDOW_BYTES.contains(peer_window_bytes)
            && *peer_sample_bits <= Parameters::MAX_SAMPLE_BITS
            && Parameters::STORE_BYTES.contains(&parameters.store_bytes);
        let store_bytes = with_margin(parameters.store_bytes);
        RecordReader {
            decoder: is_sane.then(|| Decoder::new(*peer_window_bytes, *peer_sample_bits, store_bytes)),
            expander: Expander::new(),
            mac: PacketMac::new(key),
            newest: 0,
            stored: Ranges::default(),
            packet: Vec::new(),
            shim: Vec::new(),
        }
    }

    /// The host's bytes of a record. `flow` is that of the far end's host, and `offset` that of the first byte
    /// among its bytes.
    pub fn read(&mut self, flow: &Flow, offset: u64, record: &[u8]) -> Result<&[u8], Unreadable> {
        let record = Record::parse(record)?;
        self.packet.clear();
        let inner = emit_segment_front(flow, offset, 0, &mut self.packet);
        let front_bytes = inner.payload_offset;
        let number = widen_offset(record.number, self.newest);
        if let Some((mac, regions)) = record.regions {
            let decoder = self.decoder.as_mut().ok_or(Unreadable::Malformed)?;
            self.shim.clear();
            self.shim.extend_from_slice(regions);
            self.shim.append(&mut self.packet);
            if record.is_compressed {
                self.expander.expand(record.literals, MOST_PLAIN_BYTES, &mut self.shim)?;
            } else {
                self.shim.extend_from_slice(record.literals);
            }
            let restored = decoder.restore(number, Form::Compact, &self.shim, &mut self.packet);
            let is_right = restored.is_ok() && self.mac.verifies(number, &self.packet, mac);
            if !is_right {
                return Err(Unreadable::Unrestored);
            }
        } else if record.is_compressed {
            self.expander.expand(record.literals, MOST_PLAIN_BYTES, &mut self.packet)?;
        } else {
            self.packet.extend_from_slice(record.literals);
        }
        let plain = self.packet.get(front_bytes..).unwrap_or_default();
        if plain.is_empty() || plain.len() > MOST_PLAIN_BYTES {
            return Err(Unreadable::Malformed);
        }
        if record.is_stored || record.regions.is_some() {
            self.newest = self.newest.max(number);
        }
        if record.is_stored {
            let decoder = self.decoder.as_mut().ok_or(Unreadable::Malformed)?;
            let inner = wire::inner::Inner { total_bytes: self.packet.len(), ..inner };
            decoder.store(number, &self.packet, &inner);
            if decoder.holds(number) && self.stored.len() < MOST_RANGES {
                self.stored.insert(number..number + 1);
            }
        }
        Ok(plain)
    }

    /// Whether the far end is to be told of stored records.
    #[must_use]
    pub fn has_stored(&self) -> bool {
        !self.stored.is_empty()
    }

    /// Takes records in a row that the far end is to be told of.
    pub fn take_stored(&mut self) -> Option<Range<u64>> {
        let Range { start, end } = self.stored.first()?;
        let told = start..end.min(start + MOST_CONFIRMED);
        self.stored.remove(told.clone());
        Some(told)
    }

    /// The far end does not know of these, though it was told.
    pub fn tell_again(&mut self, records: Range<u64>) {
        if self.stored.len() < MOST_RANGES {
            self.stored.insert(records);
        }
    }
}
