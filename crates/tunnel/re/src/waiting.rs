//! The anchors of packets that wait for their confirmation, so that they are found once.
//!
//! A ring of a fixed size. If a packet's anchors were overwritten before its confirmation, they are found
//! again in the packet.

use crate::index::Key;

/// The most anchors: those of about 1,500 packets in flight at the usual sampling.
const MOST_ANCHORS: usize = 1 << 17;
/// One anchor for so many bytes of the store: 2% of its memory.
const BYTES_AN_ANCHOR: usize = 512;
/// Packets that the ring has room for: one for so many anchors.
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
    /// Number of anchors; a power of two.
    anchors: usize,
    keys: Vec<Key>,
    /// Packets by sequence modulo their number.
    packets: Vec<Packet>,
    written: u64,
}

impl WaitingAnchors {
    /// A ring for a store of `store_bytes`. It takes memory with the first anchors.
    pub(crate) fn new(store_bytes: usize) -> Self {
        let anchors = (store_bytes / BYTES_AN_ANCHOR).next_power_of_two().clamp(4096, MOST_ANCHORS);
        WaitingAnchors { anchors, keys: Vec::new(), packets: Vec::new(), written: 0 }
    }

    /// The store has `store_bytes` from now on. A ring of another size begins empty.
    pub(crate) fn set_store_bytes(&mut self, store_bytes: usize) {
        let other = WaitingAnchors::new(store_bytes);
        if other.anchors != self.anchors {
            *self = other;
        }
    }

    /// Bytes of its memory.
    pub(crate) fn size_bytes(&self) -> usize {
        self.keys.len() * size_of::<Key>() + self.packets.len() * size_of::<Packet>()
    }

    /// Keeps the anchors of a packet.
    pub(crate) fn keep(&mut self, sequence: u64, keys: impl Iterator<Item = Key>) {
        if self.keys.is_empty() {
            self.keys = vec![Key::default(); self.anchors];
            self.packets = vec![NONE; self.anchors / ANCHORS_A_PACKET];
        }
        let start = self.written;
        for key in keys {
            self.keys[self.written as usize & (self.anchors - 1)] = key;
            self.written += 1;
        }
        let count = (self.written - start) as usize;
        let packets = self.packets.len();
        self.packets[sequence as usize & (packets - 1)] = Packet { sequence, start, count };
    }

    /// The anchors of a packet, if they were not overwritten.
    pub(crate) fn of(&self, sequence: u64) -> Option<impl Iterator<Item = Key> + '_> {
        let packet = self.packets.get(sequence as usize & self.packets.len().wrapping_sub(1))?;
        let there = packet.sequence == sequence && self.written - packet.start <= self.anchors as u64;
        let at = packet.start as usize;
        there.then(|| (at..at + packet.count).map(|at| self.keys[at & (self.anchors - 1)]))
    }

    /// Forgets everything, and returns the memory.
    pub(crate) fn clear(&mut self) {
        (self.keys, self.packets) = (Vec::new(), Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index;

    #[test]
    fn anchors_are_there_until_newer_ones_overwrite_them_and_never_anothers() {
        let index = Index::new(1 << 20, 4);
        let keys = |sequence: u64, count: u64| (0..count).map(move |at| sequence * 1000 + at);
        let mut waiting = WaitingAnchors::new(64 << 20);
        assert!(waiting.of(0).is_none());
        for sequence in 0..6000 {
            let count = sequence % 90;
            waiting.keep(sequence, keys(sequence, count).map(|fingerprint| index.key(fingerprint, 3)));
            for back in [0, 1, 500, 1000, 5000] {
                let Some(earlier) = sequence.checked_sub(back) else { continue };
                let right = keys(earlier, earlier % 90).map(|fingerprint| index.key(fingerprint, 3));
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
