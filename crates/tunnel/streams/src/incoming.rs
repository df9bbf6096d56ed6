//! The receiving side of a stream: records that came, in any order, the room for others, and their bytes.

use crate::ranges::Ranges;
use std::collections::VecDeque;
use wire::Malformed;
use wire::record::{FRONT_BYTES, LEAST_CHARGE, MOST_EXTRA_BYTES, Record, charge};

/// The most ranges that wait for what is missing between them.
const MOST_RANGES: usize = 4096;

/// Bytes of a stream that came and were not handed on.
#[derive(Debug, Default)]
pub struct Incoming {
    /// Bytes of records from `first` on, zeros where none came. Offsets are among these.
    kept: VecDeque<u8>,
    /// Every record before this offset was read.
    first: u64,
    /// Bytes that came, from `first` on.
    came: Ranges,
    /// The offset behind the last byte of all.
    end: Option<u64>,
    /// The sender may send records up to here.
    limit: u64,
    /// The room that the records take which were read.
    charged: u64,
    /// Their bytes that wait for the host.
    read: VecDeque<u8>,
    /// Bytes that the host has.
    handed_on: u64,
}

impl Incoming {
    /// The offset of the next record.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Bytes that the host has.
    #[must_use]
    pub fn handed_on(&self) -> u64 {
        self.handed_on
    }

    /// The number of the next record's first byte among the host's.
    #[must_use]
    pub fn next_byte(&self) -> u64 {
        self.handed_on + self.read.len() as u64
    }

    /// The room that was taken and is free again.
    #[must_use]
    pub fn freed(&self) -> u64 {
        self.charged - self.read.len() as u64
    }

    /// The room that was taken, as far as it is known: records behind a gap count with their own bytes.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.charged + self.kept.len() as u64
    }

    /// Whether bytes wait for the host.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.read.is_empty()
    }

    /// The sender may send records up to this charge.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that the sender may send, and that were not handed on.
    #[must_use]
    pub fn granted_bytes(&self) -> u64 {
        self.limit.saturating_sub(self.freed())
    }

    /// Lets the sender send up to this charge. Whether that is further than before.
    pub fn raise_limit(&mut self, limit: u64) -> bool {
        let is_raised = limit > self.limit;
        self.limit = self.limit.max(limit);
        is_raised
    }

    /// The offset up to which records can reach for which there is room.
    fn most_offset(&self) -> u64 {
        let room = self.limit.saturating_sub(self.charged);
        self.first + room + room.div_ceil(LEAST_CHARGE) * MOST_EXTRA_BYTES as u64
    }

    /// Takes bytes of records. `false`: they are beyond the limit or the end, or leave too many gaps.
    pub fn push(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let Some(end) = offset.checked_add(bytes.len() as u64) else { return false };
        let beyond = end > self.most_offset() || self.end.is_some_and(|all| end > all);
        if beyond || self.came.len() >= MOST_RANGES {
            return false;
        }
        let skipped = self.first.saturating_sub(offset).min(bytes.len() as u64);
        let (offset, bytes) = (offset + skipped, &bytes[skipped as usize..]);
        if bytes.is_empty() {
            return true;
        }
        let start = (offset - self.first) as usize;
        if self.kept.len() < start {
            self.kept.resize(start, 0);
        }
        let inside = bytes.len().min(self.kept.len() - start);
        let (front, back) = self.kept.as_mut_slices();
        let split = front.len();
        let in_front = split.saturating_sub(start).min(inside);
        if let Some(place) = front.get_mut(start..start + in_front) {
            place.copy_from_slice(&bytes[..in_front]);
        }
        if let Some(place) = back.get_mut(start.saturating_sub(split)..).filter(|_| in_front < inside) {
            place[..inside - in_front].copy_from_slice(&bytes[in_front..inside]);
        }
        self.kept.extend(&bytes[inside..]);
        self.came.insert(offset..end);
        true
    }

    /// Notes the number of all bytes. `false`: it contradicts what is known.
    pub fn set_end(&mut self, end: u64) -> bool {
        let reached = self.first + self.kept.len() as u64;
        let makes_sense = end >= reached && self.end.is_none_or(|known| known == end);
        if makes_sense {
            self.end = Some(end);
        }
        makes_sense
    }

    /// Puts the next record into `record`, if it is whole. An error: what came is none.
    pub fn take_record(&mut self, record: &mut Vec<u8>) -> Result<bool, Malformed> {
        let there = self.came.first().filter(|front| front.start == self.first).unwrap_or_default();
        let there = (there.end - there.start) as usize;
        if there < FRONT_BYTES {
            return Ok(false);
        }
        let front = std::array::from_fn(|at| self.kept[at]);
        let bytes = FRONT_BYTES + Record::rest_bytes(front).ok_or(Malformed("record: length"))?;
        if there < bytes {
            return Ok(false);
        }
        record.clear();
        record.extend(self.kept.drain(..bytes));
        self.came.remove(self.first..self.first + bytes as u64);
        self.first += bytes as u64;
        Ok(true)
    }

    /// Takes the host's bytes of the record that was taken. `false`: there is no room for them.
    pub fn push_read(&mut self, plain: &[u8]) -> bool {
        self.charged += charge(plain.len());
        self.read.extend(plain);
        self.charged <= self.limit
    }

    /// The bytes that can be handed on.
    #[must_use]
    pub fn ready(&self) -> &[u8] {
        let (front, back) = self.read.as_slices();
        if front.is_empty() { back } else { front }
    }

    /// So many bytes of those were handed on.
    pub fn consume(&mut self, bytes: usize) {
        self.read.drain(..bytes);
        self.handed_on += bytes as u64;
    }

    /// Whether every byte was handed on.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == Some(self.first) && self.read.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::Outgoing;
    use crate::records::{RecordReader, RecordWriter, Reduction};
    use proptest::prelude::*;
    use wire::inner::{Flow, TCP};

    fn flow() -> Flow {
        Flow {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol: TCP,
            source_port: 80,
            destination_port: 4242,
        }
    }

    /// Reads what can be read, and frees so many bytes.
    fn read(incoming: &mut Incoming, reader: &mut RecordReader, most: usize) -> Vec<u8> {
        let mut record = Vec::new();
        while incoming.take_record(&mut record).unwrap() {
            let plain = reader.read(&flow(), incoming.next_byte(), &record).unwrap();
            assert!(incoming.push_read(plain));
        }
        let got = incoming.ready()[..incoming.ready().len().min(most)].to_vec();
        incoming.consume(got.len());
        got
    }

    proptest! {
        /// Whatever is lost and in whatever order the pieces come, every byte comes once and in its place.
        #[test]
        fn bytes_come_in_order(
            bytes in proptest::collection::vec(any::<u8>(), 0..2000),
            choices in proptest::collection::vec((0usize..8, 1usize..90, any::<bool>()), 1..300),
            window in 64u64..500,
        ) {
            let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::default());
            let mut writer = RecordWriter::new(&Reduction::default());
            let mut reader = RecordReader::new(&Reduction::default());
            outgoing.push(&bytes);
            outgoing.finish();
            let (mut under_way, mut got) = (Vec::new(), Vec::new());
            // choices that come round may lose one piece each time: the last ones lose nothing
            for (step, &(index, most, is_lost)) in choices.iter().cycle().take(20_000).enumerate() {
                incoming.raise_limit(incoming.freed() + window);
                outgoing.raise_limit(incoming.limit());
                outgoing.record(&flow(), most, &mut writer);
                under_way.extend(outgoing.take_piece(most));
                if under_way.is_empty() {
                    if outgoing.due_end().is_some() {
                        break;
                    }
                    got.extend(read(&mut incoming, &mut reader, most));
                    continue;
                }
                let piece = under_way.swap_remove(index % under_way.len());
                if is_lost && step < 15_000 {
                    outgoing.note_lost(piece);
                    continue;
                }
                let mut copied = Vec::new();
                outgoing.copy(&piece, &mut copied);
                prop_assert!(incoming.push(piece.start, &copied));
                outgoing.note_came(piece);
                got.extend(read(&mut incoming, &mut reader, most));
            }
            while !incoming.ready().is_empty() {
                got.extend(read(&mut incoming, &mut reader, usize::MAX));
            }
            prop_assert_eq!(&got, &bytes);
            let end = outgoing.due_end().unwrap();
            prop_assert!(incoming.set_end(end) && incoming.is_complete());
            outgoing.note_end(true);
            prop_assert!(outgoing.is_complete());
        }

        #[test]
        fn no_peer_can_exceed_its_credit(
            pieces in proptest::collection::vec((0u64..400, 0usize..100), 0..60), window in 0u64..300,
        ) {
            let mut incoming = Incoming::default();
            incoming.raise_limit(window);
            let most = window + window.div_ceil(LEAST_CHARGE) * MOST_EXTRA_BYTES as u64;
            for (offset, bytes) in pieces {
                let taken = incoming.push(offset, &vec![1; bytes]);
                prop_assert_eq!(taken, offset + bytes as u64 <= most);
                prop_assert!(incoming.kept.len() as u64 <= most);
            }
        }
    }
}
