//! The anchors of packets that wait for their confirmation, so that they are found once.
//!
//! A ring of a fixed size. If a packet's anchors were overwritten before its confirmation, they are found
//! again in the packet.

use crate::index::Key;

/// The most anchors: those of about 1,500 packets in flight at the usual sampling.
const MOST_ANCHORS: usize = 1 << 17;
/// The fewest anchors.
const LEAST_ANCHORS: usize = 1 << 10;
/// Bytes of the store for one anchor.
const STORE_BYTES_AN_ANCHOR: usize = 256;
/// Anchors for one packet of the table.
const ANCHORS_A_PACKET: usize = 32;

/// Location of a packet's anchors.
#[derive(Debug, Clone, Copy)]
struct Packet {
    sequence: u64,
    /// Number of the first anchor, counted from the beginning.
    start: u64,
    count: usize,
}

/// Placeholder: no packet has this sequence.
const NONE: Packet = Packet { sequence: u64::MAX, start: 0, count: 0 };

/// The ring.
#[derive(Debug)]
pub(crate) struct WaitingAnchors {
    keys: Vec<Key>,
    /// Packets by sequence modulo their number.
    packets: Vec<Packet>,
    written: u64,
    /// Number of anchors, once there are some.
    count: usize,
}

impl WaitingAnchors {
    /// An empty ring, for a store of `store_bytes`.
    pub(crate) fn new(store_bytes: usize) -> Self {
        let wanted = (store_bytes / STORE_BYTES_AN_ANCHOR).clamp(LEAST_ANCHORS, MOST_ANCHORS);
        let count = 1 << wanted.ilog2();
        WaitingAnchors { keys: Vec::new(), packets: Vec::new(), written: 0, count }
    }

    /// The store's bound is this many bytes from now on. A ring of another size is an empty one.
    pub(crate) fn set_store_bytes(&mut self, store_bytes: usize) {
        let other = WaitingAnchors::new(store_bytes);
        if other.count != self.count {
            *self = other;
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Key>() + self.packets.capacity() * size_of::<Packet>()
    }

    /// Keeps the anchors of a packet. The memory is allocated with the first ones.
    pub(crate) fn keep(&mut self, sequence: u64, keys: impl Iterator<Item = Key>) {
        if self.keys.is_empty() {
            self.keys = vec![Key::default(); self.count];
            self.packets = vec![NONE; self.count / ANCHORS_A_PACKET];
        }
        let start = self.written;
        let (all, mask) = (&mut self.keys[..], self.count - 1);
        for key in keys {
            if let Some(place) = all.get_mut(self.written as usize & mask) {
                *place = key;
            }
            self.written += 1;
        }
        let count = (self.written - start) as usize;
        let at = sequence as usize & (self.packets.len() - 1);
        self.packets[at] = Packet { sequence, start, count };
    }

    /// The anchors of a packet, if they were not overwritten.
    pub(crate) fn of(&self, sequence: u64) -> Option<impl Iterator<Item = Key> + '_> {
        let packet = self.packets.get(sequence as usize & self.packets.len().wrapping_sub(1))?;
        let there = packet.sequence == sequence && self.written - packet.start <= self.count as u64;
        let at = packet.start as usize;
        there.then(|| (at..at + packet.count).map(|at| self.keys[at & (self.count - 1)]))
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.packets.fill(NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_there_until_newer_ones_overwrite_them_and_never_anothers() {
        let keys = |sequence: u64, count: u64| (0..count).map(move |at| sequence * 1000 + at);
        let mut waiting = WaitingAnchors::new(1 << 26);
        assert!(waiting.of(0).is_none());
        for sequence in 0..6000 {
            let count = sequence % 90;
            waiting.keep(sequence, keys(sequence, count).map(|fingerprint| Key::new(fingerprint, 3)));
            for back in [0, 1, 500, 1000, 5000] {
                let Some(earlier) = sequence.checked_sub(back) else { continue };
                let right = keys(earlier, earlier % 90).map(|fingerprint| Key::new(fingerprint, 3));
                match waiting.of(earlier) {
                    Some(kept) => assert!(kept.eq(right), "{earlier} of {sequence}"),
                    None => assert!(back == 5000, "{earlier} of {sequence} is gone"),
                }
            }
        }
        waiting.clear();
        assert!((0..6000).all(|sequence| waiting.of(sequence).is_none()));
    }
}
