//! The sending side of a stream: its host's bytes, and their records until these came.

use crate::ranges::Ranges;
use crate::records::RecordWriter;
use std::collections::VecDeque;
use std::ops::Range;
use wire::inner::Flow;
use wire::record::{LEAST_CHARGE, charge};

/// How far the end of the bytes is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EndState {
    /// More bytes may follow.
    Open,
    /// The end is to be told.
    Due,
    /// It has been.
    UnderWay,
    /// The receiver knows it.
    Came,
}

/// Bytes of a stream that leave, or left and may be lost.
#[derive(Debug)]
pub struct Outgoing {
    /// Bytes of the host that are in no record yet.
    waiting: VecDeque<u8>,
    /// How many of the host's bytes are in records.
    recorded: u64,
    /// The room that all records take.
    charged: u64,
    /// The receiver has room for records up to here.
    limit: u64,
    /// Records that refer to others, until they came: their end, and their number at the writer.
    referring: VecDeque<(u64, u64)>,
    /// The bytes of records from `first` on. Offsets are among these.
    kept: VecDeque<u8>,
    /// Every byte before this offset came.
    first: u64,
    /// Bytes that came behind it.
    came: Ranges,
    /// Bytes that are lost.
    lost: Ranges,
    /// The offset of the next new byte.
    next: u64,
    end: EndState,
}

impl Default for Outgoing {
    fn default() -> Self {
        Outgoing {
            waiting: VecDeque::new(),
            recorded: 0,
            charged: 0,
            limit: 0,
            referring: VecDeque::new(),
            kept: VecDeque::new(),
            first: 0,
            came: Ranges::default(),
            lost: Ranges::default(),
            next: 0,
            end: EndState::Open,
        }
    }
}

impl Outgoing {
    /// Bytes that are kept.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.waiting.len() + self.kept.len()
    }

    /// The offset behind the last record.
    fn total(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Bytes of the host that the receiver has room for.
    fn room(&self) -> u64 {
        self.limit.saturating_sub(self.charged)
    }

    /// Bytes that the receiver has room for and that are not here yet.
    #[must_use]
    pub fn wanted_bytes(&self) -> usize {
        self.room().saturating_sub(self.waiting.len() as u64) as usize
    }

    /// Takes further bytes of the host.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes);
    }

    /// No bytes follow.
    pub fn finish(&mut self) {
        if self.end == EndState::Open {
            self.end = EndState::Due;
        }
    }

    /// Whether no bytes follow.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.end != EndState::Open
    }

    /// The receiver has room for records up to this charge.
    pub fn raise_limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// The charge up to which the receiver has room.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether bytes are to leave.
    #[must_use]
    pub fn has_bytes(&self) -> bool {
        !self.lost.is_empty() || self.next < self.total() || self.can_record()
    }

    /// Whether bytes of the host can become a record.
    fn can_record(&self) -> bool {
        !self.waiting.is_empty() && self.room() >= LEAST_CHARGE
    }

    /// Bytes that are to leave: of records, and of the host.
    #[must_use]
    pub fn waiting_bytes(&self) -> u64 {
        let records = self.total() - self.next;
        let host = if self.can_record() { self.room().min(self.waiting.len() as u64) } else { 0 };
        records + host
    }

    /// Makes the next bytes of the host a record, if all records left. `flow`: the host's. `most`: its bytes.
    /// How many bytes it has.
    pub fn record(&mut self, flow: &Flow, most: usize, writer: &mut RecordWriter) -> usize {
        if !self.lost.is_empty() || self.next < self.total() || !self.can_record() {
            return 0;
        }
        let count = self.waiting.len().min(most).min(self.room() as usize);
        let number = writer.write(flow, self.recorded, &mut self.waiting, count, &mut self.kept);
        self.recorded += count as u64;
        self.charged += charge(count);
        if let Some(number) = number {
            self.referring.push_back((self.total(), number));
        }
        count
    }

    /// Takes out the number of a record that refers to others and that the receiver has, or never will.
    pub fn take_read(&mut self) -> Option<u64> {
        let &(_, number) = self.referring.front().filter(|(end, _)| *end <= self.first)?;
        self.referring.pop_front();
        Some(number)
    }

    /// Drops all bytes. Nobody will read the records that refer to others: their numbers are to be taken out.
    pub fn give_up(&mut self) {
        let referring = self.referring.drain(..).map(|(_, number)| (0, number)).collect();
        *self = Outgoing { referring, ..Outgoing::default() };
    }

    /// Every byte before this offset left at least once.
    #[must_use]
    pub fn sent_before(&self) -> u64 {
        self.next
    }

    /// The offset of the end, if it is to be told.
    #[must_use]
    pub fn due_end(&self) -> Option<u64> {
        let is_all_sent = self.waiting.is_empty() && self.next == self.total();
        (self.end == EndState::Due && is_all_sent).then(|| self.total())
    }

    /// Takes the next bytes to leave, `most` at the most: lost ones first.
    pub fn take_piece(&mut self, most: usize) -> Option<Range<u64>> {
        if let Some(lost) = self.lost.first() {
            let piece = lost.start..lost.end.min(lost.start + most as u64);
            self.lost.remove(piece.clone());
            return Some(piece);
        }
        let piece = self.next..self.total().min(self.next + most as u64);
        self.next = self.next.max(piece.end);
        (!piece.is_empty()).then_some(piece)
    }

    /// Appends bytes that are kept.
    pub fn copy(&self, piece: &Range<u64>, out: &mut Vec<u8>) {
        let (start, end) = ((piece.start - self.first) as usize, (piece.end - self.first) as usize);
        let (front, back) = self.kept.as_slices();
        let split = front.len();
        out.extend_from_slice(&front[start.min(split)..end.min(split)]);
        out.extend_from_slice(&back[start.saturating_sub(split)..end.saturating_sub(split)]);
    }

    /// The end has been told.
    pub fn note_end_sent(&mut self) {
        self.end = EndState::UnderWay;
    }

    /// The receiver has these bytes.
    pub fn note_came(&mut self, piece: Range<u64>) {
        let piece = piece.start.max(self.first)..piece.end;
        self.lost.remove(piece.clone());
        self.came.insert(piece);
        if let Some(front) = self.came.first().filter(|front| front.start <= self.first) {
            self.kept.drain(..(front.end - self.first) as usize);
            self.first = front.end;
            self.came.remove(front);
        }
    }

    /// These bytes are lost.
    pub fn note_lost(&mut self, piece: Range<u64>) {
        let piece = piece.start.max(self.first)..piece.end;
        let missing: Vec<_> = self.came.missing_in(piece).collect();
        missing.into_iter().for_each(|piece| self.lost.insert(piece));
    }

    /// The receiver knows the end, or it is lost.
    pub fn note_end(&mut self, came: bool) {
        if self.end != EndState::Came {
            self.end = if came { EndState::Came } else { EndState::Due };
        }
    }

    /// Whether the receiver has all bytes and knows their end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == EndState::Came && self.kept_bytes() == 0
    }
}
