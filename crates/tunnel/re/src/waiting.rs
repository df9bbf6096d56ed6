//! The anchors of packets that wait for their confirmation, so that they are found once.
//!
//! A ring of a fixed size. If a packet's anchors were overwritten before its confirmation, they are found
//! again in the packet.

use crate::index::Key;

/// Number of anchors: those of about 1,500 packets in flight at the usual sampling.
const ANCHORS: usize = 1 << 17;
/// The largest number of packets.
const PACKETS: usize = 1 << 12;

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
#[derive(Debug, Default)]
pub(crate) struct WaitingAnchors {
    keys: Vec<Key>,
    /// Packets by sequence modulo their number.
    packets: Vec<Packet>,
    written: u64,
}

impl WaitingAnchors {
    /// Keeps the anchors of a packet. The memory is allocated with the first ones.
    pub(crate) fn keep(&mut self, sequence: u64, keys: impl Iterator<Item = Key>) {
        if self.keys.is_empty() {
            self.keys = vec![Key::default(); ANCHORS];
            self.packets = vec![NONE; PACKETS];
        }
        let start = self.written;
        for key in keys {
            self.keys[self.written as usize % ANCHORS] = key;
            self.written += 1;
        }
        let count = (self.written - start) as usize;
        self.packets[sequence as usize % PACKETS] = Packet { sequence, start, count };
    }

    /// The anchors of a packet, if they were not overwritten.
    pub(crate) fn of(&self, sequence: u64) -> Option<impl Iterator<Item = Key> + '_> {
        let packet = self.packets.get(sequence as usize % PACKETS)?;
        let there = packet.sequence == sequence && self.written - packet.start <= ANCHORS as u64;
        let at = packet.start as usize;
        there.then(|| (at..at + packet.count).map(|at| self.keys[at % ANCHORS]))
    }

    /// Bytes of memory now.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.keys.capacity() * size_of::<Key>() + self.packets.capacity() * size_of::<Packet>()
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.packets.fill(NONE);
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
        let mut waiting = WaitingAnchors::default();
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
