//! Bytes of streams become records.

use super::unread::Unread;
use super::{LEAST_STORED_BYTES, Reduction, Tally, cost, margin_bytes};
use re::literals::Compressor;
use re::mac::PacketMac;
use re::{Encoded, Encoder, Policy};
use std::collections::VecDeque;
use std::ops::Range;
use wire::inner::Flow;
use wire::record::{Record, emit_segment_front};
use wire::shim::compact::Compact;

/// The records of all streams to a peer.
#[derive(Debug)]
pub struct RecordWriter {
    /// `None`: nothing is stored.
    encoder: Option<Encoder>,
    compressor: Option<Compressor>,
    mac: PacketMac,
    margin: u64,
    /// The bound of the store.
    store_bytes: usize,
    /// A larger bound before, and the first record under way that knows of it no more.
    former: Option<(usize, u64)>,
    tally: Tally,
    /// The number of the next record that is stored. One that only refers to others has it, too.
    next: u64,
    unread: Unread,
    /// The record as a segment, in the memory of the one before.
    packet: Vec<u8>,
    shim: Vec<u8>,
    compressed: Vec<u8>,
}

impl RecordWriter {
    /// Nothing is stored yet.
    #[must_use]
    pub fn new(reduction: &Reduction) -> Self {
        let Reduction { parameters, compresses, key, secret, .. } = reduction;
        let stores = parameters.policy != Policy::Off && parameters.validate().is_ok();
        RecordWriter {
            encoder: stores.then(|| Encoder::new(parameters).with_secret(*secret)),
            compressor: compresses.then(Compressor::new),
            mac: PacketMac::new(key),
            margin: margin_bytes(parameters.store_bytes),
            store_bytes: parameters.store_bytes,
            former: None,
            tally: Tally::default(),
            next: 0,
            unread: Unread::default(),
            packet: Vec::new(),
            shim: Vec::new(),
            compressed: Vec::new(),
        }
    }

    /// Appends the record of the first `count` bytes of `plain`, which are taken. `offset` is theirs among
    /// the bytes of the host. The number for [`RecordWriter::end_unread`], if the record refers to others.
    pub fn write(
        &mut self,
        flow: &Flow,
        offset: u64,
        plain: &mut VecDeque<u8>,
        count: usize,
        out: &mut VecDeque<u8>,
    ) -> Option<u64> {
        self.packet.clear();
        let inner = emit_segment_front(flow, offset, count, &mut self.packet);
        let front_bytes = inner.payload_offset;
        let (front, back) = plain.as_slices();
        let split = count.min(front.len());
        self.packet.extend_from_slice(&front[..split]);
        self.packet.extend_from_slice(&back[..count - split]);
        plain.drain(..count);

        self.shim.clear();
        let (mut is_stored, mut encoded) = (false, Encoded::Plain);
        if let Some(encoder) = self.encoder.as_mut().filter(|_| count >= LEAST_STORED_BYTES) {
            let cost = cost(self.packet.len());
            is_stored = self.unread.admits(cost, self.margin);
            encoded = if is_stored {
                self.unread.enter(cost);
                encoder.encode(self.next, &self.packet, &inner, &mut self.shim)
            } else {
                encoder.encode_only(self.next, &self.packet, &inner, &mut self.shim)
            };
        }
        let (mut literals, mut regions) = (&self.packet[front_bytes..], None);
        let mut rest = &self.shim[..];
        if encoded != Encoded::Plain
            && let Ok(found) = Compact::take_regions(&mut rest)
        {
            regions = Some((self.mac.of(self.next, &self.packet), found));
            literals = &rest[front_bytes..];
        }
        self.compressed.clear();
        let compressor = self.compressor.as_mut();
        let is_compressed = compressor.is_some_and(|it| it.compress(literals, &mut self.compressed));
        if is_compressed {
            literals = &self.compressed;
        }
        Record { is_stored, is_compressed, number: self.next as u32, regions, literals }.emit(out);
        self.next += u64::from(is_stored);
        if self.encoder.is_some() {
            self.tally.stored_bytes += count as u64;
            if let Encoded::Reduced { removed_bytes, shim_bytes, .. } = encoded {
                self.tally.saved_bytes += removed_bytes.saturating_sub(shim_bytes) as u64;
            }
        }
        regions.map(|_| self.unread.begin())
    }

    /// Sets another bound of the store. The far end keeps at least as much.
    pub fn set_store_bytes(&mut self, bytes: usize) {
        let before = self.used_bytes();
        let Some(encoder) = self.encoder.as_mut().filter(|_| bytes != self.store_bytes) else { return };
        self.former = (bytes < before).then(|| (before, self.unread.next()));
        encoder.set_store_bytes(bytes);
        (self.store_bytes, self.margin) = (bytes, margin_bytes(bytes));
    }

    /// The largest bound under which a record was written that is not read yet, or the present one.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        let former = self.former.filter(|(_, number)| !self.unread.has_ended_before(*number));
        self.store_bytes.max(former.map_or(0, |(bytes, _)| bytes))
    }

    /// Whether there is a store.
    #[must_use]
    pub fn has_store(&self) -> bool {
        self.encoder.is_some()
    }

    /// Bytes of memory now.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.encoder.as_ref().map_or(0, Encoder::memory_bytes)
    }

    /// What entered the store, and what that saved.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Bytes that repeated what had left the store, by an estimate, since the store was made.
    #[must_use]
    pub fn departed_bytes(&self) -> u64 {
        self.encoder.as_ref().map_or(0, |encoder| encoder.statistics().departed_bytes)
    }

    /// Sets whether bytes wait for the processor and not for the link.
    pub fn set_processor_short(&mut self, is_short: bool) {
        if let Some(encoder) = &mut self.encoder {
            encoder.set_processor_short(is_short);
        }
        if let Some(compressor) = &mut self.compressor {
            compressor.set_processor_short(is_short);
        }
    }

    /// The far end read a record that refers to others, or never will.
    pub fn end_unread(&mut self, number: u64) {
        self.unread.end(number);
    }

    /// The far end stores these records, by the low bits of the first one's number.
    pub fn confirm(&mut self, first: u32, count: u32) {
        let Some(encoder) = &mut self.encoder else { return };
        let first = wire::stream::widen_offset(first, self.next);
        let Range { start, end } = first..first.saturating_add(count.into()).min(self.next);
        for number in start.max(end.saturating_sub(super::MOST_CONFIRMED))..end {
            encoder.confirm(number);
        }
    }

    /// The far end's store is not this one's: nothing of it is referred to any more.
    pub fn forget(&mut self) {
        if let Some(encoder) = &mut self.encoder {
            encoder.clear();
        }
    }
}
