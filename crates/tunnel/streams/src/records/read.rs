//! Records become bytes of streams.

use super::{MOST_CONFIRMED, MOST_RANGES, Reduction, Tally, reader_store_bytes};
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
    /// Records are stored: the far end refers to some.
    stores: bool,
    tally: Tally,
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
        let Reduction { parameters, peer_window_bytes, peer_sample_bits, key, .. } = *reduction;
        let (window_bytes, sample_bits) = (peer_window_bytes, peer_sample_bits);
        let is_sane = Parameters { window_bytes, sample_bits, ..parameters }.validate().is_ok();
        let store_bytes = reader_store_bytes(parameters.store_bytes);
        RecordReader {
            decoder: is_sane.then(|| Decoder::new(window_bytes, sample_bits, store_bytes)),
            expander: Expander::new(),
            mac: PacketMac::new(&key),
            newest: 0,
            stored: Ranges::default(),
            stores: true,
            tally: Tally::default(),
            packet: Vec::new(),
            shim: Vec::new(),
        }
    }

    /// The host's bytes of a record. `flow` is that of the far end's host, and `offset` that of the first
    /// byte among its bytes.
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
        if self.decoder.is_some() {
            self.tally.stored_bytes += plain.len() as u64;
            if record.regions.is_some() {
                self.tally.saved_bytes += plain.len().saturating_sub(self.shim.len()) as u64;
            }
        }
        if record.is_stored || record.regions.is_some() {
            self.newest = self.newest.max(number);
        }
        if record.is_stored {
            let decoder = self.decoder.as_mut().ok_or(Unreadable::Malformed)?;
            let inner = wire::inner::Inner { total_bytes: self.packet.len(), ..inner };
            if self.stores {
                decoder.store(number, &self.packet, &inner);
            }
            if decoder.holds(number) && self.stored.len() < MOST_RANGES {
                self.stored.insert(number..number + 1);
            }
        }
        Ok(plain)
    }

    /// Sets another bound of the far end's store, which this end's follows. 0: nothing is stored.
    pub fn set_store_bytes(&mut self, bytes: usize) {
        let Some(decoder) = &mut self.decoder else { return };
        if bytes == 0 && self.stores {
            decoder.clear();
        }
        self.stores = bytes > 0;
        decoder.set_store_bytes(reader_store_bytes(bytes));
    }

    /// Whether there is a store.
    #[must_use]
    pub fn has_store(&self) -> bool {
        self.decoder.is_some()
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.decoder.as_ref().filter(|_| self.stores).map_or(0, Decoder::memory_bytes)
    }

    /// What entered the store, and what that saved.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::RecordWriter;
    use proptest::prelude::*;
    use re::Policy;
    use std::collections::VecDeque;
    use wire::inner::TCP;

    fn flow(port: u16) -> Flow {
        let (source, destination) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        Flow { source, destination, protocol: TCP, source_port: 80, destination_port: port }
    }

    fn reduction() -> Reduction {
        Reduction {
            parameters: Parameters { policy: Policy::Acked, store_bytes: 64 << 10, ..Parameters::default() },
            peer_window_bytes: 16,
            peer_sample_bits: 4,
            compresses: true,
            ..Reduction::default()
        }
    }

    /// Bytes that neither repeat nor compress.
    fn content(bytes: usize) -> Vec<u8> {
        let mut state = 7u64;
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..bytes).map(byte).collect()
    }

    fn record(writer: &mut RecordWriter, port: u16, plain: &[u8]) -> (Vec<u8>, Option<u64>) {
        let (mut waiting, mut out) = (VecDeque::from(plain.to_vec()), VecDeque::new());
        let number = writer.write(&flow(port), 0, &mut waiting, plain.len(), &mut out);
        (out.into(), number)
    }

    #[test]
    fn a_record_repeats_what_is_stored_there_and_nothing_else() {
        let (mut writer, mut reader) = (RecordWriter::new(&reduction()), RecordReader::new(&reduction()));
        let content = content(4000);
        let (first, _) = record(&mut writer, 1, &content);
        let (again, number) = record(&mut writer, 2, &content);
        assert!(
            first.len() > 4000 && again.len() > 4000 && number.is_none(),
            "nobody said that it is stored"
        );
        assert_eq!(reader.read(&flow(1), 0, &first), Ok(&content[..]));
        let stored = reader.take_stored().unwrap();
        assert_eq!((stored.clone(), reader.has_stored()), (0..1, false));
        writer.confirm(stored.start as u32, 1);
        let (reduced, number) = record(&mut writer, 3, &content);
        assert!(reduced.len() < 400 && number.is_some(), "{} bytes", reduced.len());
        assert_eq!(reader.read(&flow(3), 0, &reduced), Ok(&content[..]));
        // another place or another store is a miss, and no wrong bytes
        assert_eq!(reader.read(&flow(4), 0, &reduced), Err(Unreadable::Unrestored));
        let mut other = RecordReader::new(&reduction());
        assert_eq!(other.read(&flow(3), 0, &reduced), Err(Unreadable::Unrestored));
        writer.forget();
        assert!(record(&mut writer, 5, &content).0.len() > 4000);
    }

    #[test]
    fn nothing_enters_the_store_that_could_push_out_what_is_under_way() {
        let mut writer = RecordWriter::new(&reduction());
        let content = content(8000);
        let (_, none) = record(&mut writer, 1, &content);
        writer.confirm(0, 1);
        let (_, number) = record(&mut writer, 1, &content);
        assert_eq!((none, number), (None, Some(0)));
        let is_stored = |writer: &mut RecordWriter, port| record(writer, port, &content).0[0] & 1 == 1;
        let margin = super::super::margin_bytes(64 << 10) as usize / (content.len() + 104);
        let stored = (0..2 * margin).filter(|port| is_stored(&mut writer, 100 + *port as u16)).count();
        assert_eq!(stored, margin, "the record under way bounds what is stored");
        writer.end_unread(0);
        let under_way = 1 + 2 * margin as u64;
        (1..under_way).for_each(|number| writer.end_unread(number));
        assert!(is_stored(&mut writer, 99));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            parts in 0u8..9, rest in proptest::collection::vec(any::<u8>(), 0..300), number in 0u32..4,
        ) {
            let (mut writer, mut reader) = (RecordWriter::new(&reduction()), RecordReader::new(&reduction()));
            let (first, _) = record(&mut writer, 1, &content(500));
            prop_assert!(reader.read(&flow(1), 0, &first).is_ok());
            let mut bytes = vec![parts];
            let length = rest.len() + if parts & 3 == 0 { 0 } else { 4 };
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
            if parts & 3 != 0 {
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            bytes.extend_from_slice(&rest);
            if let Ok(plain) = reader.read(&flow(1), 500, &bytes) {
                prop_assert!((1..=MOST_PLAIN_BYTES).contains(&plain.len()));
            }
            prop_assert!(reader.stored.len() <= MOST_RANGES);
        }
    }
}
