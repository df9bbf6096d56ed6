//! The receiving side of a stream: bytes that came, in any order, and the room for others.

use crate::ranges::Ranges;
use std::collections::VecDeque;
use std::ops::Range;

/// The most ranges that wait for what is missing between them.
const MOST_RANGES: usize = 4096;

/// Bytes of a stream that came and were not handed on.
#[derive(Debug, Default)]
pub struct Incoming {
    /// Bytes from `first` on, zeros where none came.
    kept: VecDeque<u8>,
    /// Every byte before this offset was handed on.
    first: u64,
    /// Bytes that came, from `first` on.
    came: Ranges,
    /// The sender may send up to here.
    limit: u64,
    /// The offset behind the last byte of all.
    end: Option<u64>,
}

impl Incoming {
    /// The offset of the next byte to hand on.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The sender may send up to here.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes that the sender may send, and that were not handed on.
    #[must_use]
    pub fn granted_bytes(&self) -> u64 {
        self.limit - self.first
    }

    /// Lets the sender send up to this offset. Whether that is further than before.
    pub fn raise_limit(&mut self, limit: u64) -> bool {
        let is_raised = limit > self.limit;
        self.limit = self.limit.max(limit);
        is_raised
    }

    /// Takes bytes. `false`: they are beyond the limit or the end, or leave too many gaps.
    pub fn push(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let Some(end) = offset.checked_add(bytes.len() as u64) else { return false };
        let beyond = end > self.limit || self.end.is_some_and(|all| end > all);
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

    /// The bytes that can be handed on, in at most two parts.
    #[must_use]
    pub fn ready(&self) -> [&[u8]; 2] {
        let Range { start, end } = self.came.first().unwrap_or_default();
        let ready = if start == self.first { (end - start) as usize } else { 0 };
        let (front, back) = self.kept.as_slices();
        let in_front = ready.min(front.len());
        [&front[..in_front], &back[..ready - in_front]]
    }

    /// So many bytes of those were handed on.
    pub fn consume(&mut self, bytes: usize) {
        self.kept.drain(..bytes);
        self.came.remove(self.first..self.first + bytes as u64);
        self.first += bytes as u64;
    }

    /// Whether every byte was handed on.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == Some(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::Outgoing;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is lost and in whatever order the pieces come, every byte comes once and in its place.
        #[test]
        fn bytes_come_in_order(
            bytes in proptest::collection::vec(any::<u8>(), 0..2000),
            choices in proptest::collection::vec((0usize..8, 1usize..90, any::<bool>()), 1..300),
            window in 1u64..500,
        ) {
            let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::default());
            outgoing.push(&bytes);
            outgoing.finish();
            let (mut under_way, mut got) = (Vec::new(), Vec::new());
            for &(index, most, is_lost) in choices.iter().cycle().take(20_000) {
                incoming.raise_limit(incoming.first() + window);
                outgoing.raise_limit(incoming.limit());
                under_way.extend(outgoing.take_piece(most));
                if under_way.is_empty() {
                    break;
                }
                let piece = under_way.swap_remove(index % under_way.len());
                if is_lost && choices.iter().any(|choice| !choice.2) {
                    outgoing.note_lost(piece);
                    continue;
                }
                let mut copied = Vec::new();
                outgoing.copy(&piece, &mut copied);
                prop_assert!(incoming.push(piece.start, &copied));
                outgoing.note_came(piece);
                let ready = incoming.ready().concat();
                let taken = ready.len().min(most);
                got.extend_from_slice(&ready[..taken]);
                incoming.consume(taken);
            }
            while !incoming.ready()[0].is_empty() {
                let ready = incoming.ready().concat();
                got.extend_from_slice(&ready);
                incoming.consume(ready.len());
            }
            if choices.iter().any(|choice| !choice.2) {
                prop_assert_eq!(&got, &bytes);
                prop_assert_eq!(outgoing.due_end(), Some(bytes.len() as u64));
                prop_assert!(incoming.set_end(bytes.len() as u64) && incoming.is_complete());
                outgoing.note_end(true);
                prop_assert!(outgoing.is_complete());
            }
        }

        #[test]
        fn no_peer_can_exceed_its_credit(
            pieces in proptest::collection::vec((0u64..400, 0usize..100), 0..60), window in 0u64..300,
        ) {
            let mut incoming = Incoming::default();
            incoming.raise_limit(window);
            for (offset, bytes) in pieces {
                let taken = incoming.push(offset, &vec![1; bytes]);
                prop_assert_eq!(taken, offset + bytes as u64 <= window);
                prop_assert!(incoming.kept.len() as u64 <= window);
            }
        }
    }
}
