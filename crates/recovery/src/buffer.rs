//! The coded buffer of one flow (XBC, sections III and IV-B): so many *slots*, each with the headers of one or several
//! packets and the XOR of their payloads.
//!
//! A packet joins the slot of its group if there is one, and takes an empty slot otherwise. A slot is empty again when all
//! packets in it have been delivered: what is left of it helps nobody.

use crate::choice::Counts;
use crate::settings::Replacement;
use crate::xor;
use highway::{HighwayHash as _, HighwayHasher};
use wire::coded::DIGEST_BYTES;

/// The most packets in one slot: as many as a repair can name.
const MAX_COMBINED: usize = wire::coded::MAX_OTHERS + 1;
/// Of so many slots the best two are looked for.
const MAX_COMPARED: usize = 20;

/// A flow's packets, or what they add up to.
#[derive(Debug)]
pub struct Buffer {
    capacity: usize,
    replacement: Replacement,
    slots: Vec<Slot>,
    /// Slots that are empty; their memory is kept.
    empty: Vec<usize>,
    bytes: usize,
    next_age: u64,
}

/// One coded packet, or one as it was.
#[derive(Debug, Default)]
pub struct Slot {
    age: u64,
    group: Option<u64>,
    components: Vec<Component>,
    /// Of all components, one behind the other.
    headers: Vec<u8>,
    /// XOR of the components' payloads.
    payload: Vec<u8>,
}

/// One packet in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Where its payload begins in the flow.
    pub start: u64,
    /// Its number among the flow's packets.
    pub number: u64,
    /// Whether it has been delivered.
    delivered: bool,
    header_at: usize,
    header_bytes: usize,
    digest: [u8; DIGEST_BYTES],
}

/// The digest that a coded repair carries, over the original packet.
#[must_use]
pub fn digest(header: &[u8], payload: &[u8]) -> [u8; DIGEST_BYTES] {
    // no secret: the seal says who speaks, and this whether it was the same bytes
    let mut hasher = HighwayHasher::default();
    hasher.append(header);
    hasher.append(payload);
    hasher.finalize64().to_be_bytes()
}

/// A lost packet, as it can be sent again.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// Its headers.
    pub header: &'a [u8],
    /// Its payload, or the XOR of its payload and the others'.
    pub payload: &'a [u8],
    /// Of the original packet, if there are others.
    pub digest: [u8; DIGEST_BYTES],
    slot: &'a Slot,
    start: u64,
}

impl<'a> Kept<'a> {
    /// Where the others begin that are coded with it.
    pub fn others(&self) -> impl Iterator<Item = u64> + use<'a> {
        let start = self.start;
        self.slot.components.iter().map(|component| component.start).filter(move |&other| other != start)
    }

    /// How many those are.
    #[must_use]
    pub fn other_count(&self) -> usize {
        self.slot.components.len() - 1
    }
}

impl Buffer {
    /// An empty buffer for so many packets.
    #[must_use]
    pub fn new(capacity: usize, replacement: Replacement) -> Self {
        Buffer { capacity, replacement, slots: Vec::new(), empty: Vec::new(), bytes: 0, next_age: 0 }
    }

    /// Bytes of packets, coded or not, and of their headers.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Slots in use.
    #[must_use]
    pub fn occupied(&self) -> usize {
        self.slots.len() - self.empty.len()
    }

    /// Keeps the packet with this number, which begins at `start` of the flow: in which slot. `None`: there was no room. With a
    /// group it is combined with the others of that group.
    pub fn keep(
        &mut self,
        group: Option<u64>,
        number: u64,
        start: u64,
        header: &[u8],
        payload: &[u8],
        is_coded: bool,
    ) -> Option<usize> {
        let joined = group.and_then(|group| self.slots.iter().position(|slot| slot.group == Some(group)));
        let index = match joined {
            Some(index) => index,
            None => self.take_slot()?,
        };
        let slot = &mut self.slots[index];
        let before = slot.bytes();
        slot.group = group;
        let header_at = slot.headers.len();
        slot.headers.extend_from_slice(header);
        xor::into(&mut slot.payload, payload);
        slot.components.push(Component {
            start,
            number,
            delivered: false,
            header_at,
            header_bytes: header.len(),
            digest: if is_coded { digest(header, payload) } else { [0; DIGEST_BYTES] },
        });
        self.bytes += slot.bytes() - before;
        Some(index)
    }

    fn take_slot(&mut self) -> Option<usize> {
        if self.occupied() == self.capacity {
            if self.replacement == Replacement::None {
                return None;
            }
            let used = self.slots.iter().enumerate().filter(|(_, slot)| !slot.components.is_empty());
            let (oldest, _) = used.min_by_key(|(_, slot)| slot.age)?;
            self.clear_slot(oldest);
        }
        let index = self.empty.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.slots[index].age = self.next_age;
        self.next_age += 1;
        Some(index)
    }

    fn clear_slot(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.components.is_empty() {
            return;
        }
        self.bytes -= slot.bytes();
        slot.group = None;
        slot.components.clear();
        slot.headers.clear();
        slot.payload.clear();
        self.empty.push(index);
    }

    fn at(&self, slot: usize, start: u64) -> Option<(&Slot, usize)> {
        let slot = self.slots.get(slot)?;
        let which = slot.components.iter().position(|component| component.start == start)?;
        Some((slot, which))
    }

    /// The packet that begins at `start`, if it is still in that slot.
    #[must_use]
    pub fn get(&self, slot: usize, start: u64) -> Option<Kept<'_>> {
        let (slot, which) = self.at(slot, start)?;
        let Component { header_at, header_bytes, digest, .. } = slot.components[which];
        let header = &slot.headers[header_at..header_at + header_bytes];
        Some(Kept { header, payload: &slot.payload, digest, slot, start })
    }

    /// The packet has been delivered; with the last of its slot the slot is empty.
    pub fn delivered(&mut self, slot: usize, start: u64) {
        let Some((_, which)) = self.at(slot, start) else { return };
        let components = &mut self.slots[slot].components;
        components[which].delivered = true;
        if components.iter().all(|component| component.delivered) {
            self.clear_slot(slot);
        }
    }

    /// The packet cannot be had of its slot any more, nor can any other in it.
    pub fn give_up(&mut self, slot: usize, start: u64) {
        if self.at(slot, start).is_some() {
            self.clear_slot(slot);
        }
    }

    /// Keeps a packet by itself, and combines two slots if that is one more than there is room for: those that cost least,
    /// and neither of which `is_wanted` (by starts) as it is. In which slot it is now, and what was combined: the first of the two slots is
    /// empty now and the second has everything. `None`: it is not kept, for combining costs more than it is worth.
    pub fn keep_combining(
        &mut self,
        (number, start): (u64, u64),
        header: &[u8],
        payload: &[u8],
        counts: &Counts,
        is_wanted: impl Fn(u64) -> bool,
    ) -> Option<(usize, Option<(usize, usize)>)> {
        self.capacity += 1;
        let kept = self.keep(None, number, start, header, payload, true);
        self.capacity -= 1;
        let newest = kept?;
        if self.occupied() <= self.capacity {
            return Some((newest, None));
        }
        let Some((from, into)) = self.cheapest(counts, is_wanted) else {
            self.clear_slot(newest);
            return None;
        };
        self.combine(from, into);
        Some((if newest == from { into } else { newest }, Some((from, into))))
    }

    /// The two slots that cost least to combine, if that is less than a packet is worth.
    fn cheapest(&self, counts: &Counts, is_wanted: impl Fn(u64) -> bool) -> Option<(usize, usize)> {
        let is_free = |slot: &Slot| {
            !slot.components.is_empty()
                && !slot.components.iter().any(|it| !it.delivered && is_wanted(it.start))
        };
        // the newest of many: what has been on its way for longer is told of sooner
        let mut free: Vec<usize> = (0..self.slots.len()).filter(|&slot| is_free(&self.slots[slot])).collect();
        if free.len() > MAX_COMPARED {
            free.sort_unstable_by_key(|&slot| self.slots[slot].age);
            free.drain(..free.len() - MAX_COMPARED);
        }
        let mut best = (1.0, None);
        for (at, &one) in free.iter().enumerate() {
            for &other in &free[at + 1..] {
                let (a, b) = (&self.slots[one], &self.slots[other]);
                if a.components.len() + b.components.len() > MAX_COMBINED {
                    continue;
                }
                let cost = counts.cost(a.under_way(), b.under_way());
                if cost < best.0 {
                    best = (cost, Some((one, other)));
                }
            }
        }
        best.1
    }

    fn combine(&mut self, from: usize, into: usize) {
        let taken = std::mem::take(&mut self.slots[from]);
        let (before, taken_bytes) = (self.slots[into].bytes(), taken.bytes());
        let slot = &mut self.slots[into];
        let header_base = slot.headers.len();
        slot.headers.extend_from_slice(&taken.headers);
        xor::into(&mut slot.payload, &taken.payload);
        let moved =
            taken.components.iter().map(|it| Component { header_at: it.header_at + header_base, ..*it });
        slot.components.extend(moved);
        slot.age = slot.age.min(taken.age);
        self.bytes = self.bytes + slot.bytes() - before;
        // its memory is used again
        self.slots[from] = taken;
        debug_assert_eq!(self.slots[from].bytes(), taken_bytes);
        self.clear_slot(from);
    }

    /// Packets, in how many slots.
    #[must_use]
    pub fn packets(&self) -> (usize, usize) {
        (self.slots.iter().map(|slot| slot.components.len()).sum(), self.occupied())
    }

    /// Forgets everything, and gives the memory back.
    pub fn clear(&mut self) {
        *self = Buffer::new(self.capacity, self.replacement);
    }
}

impl Slot {
    fn bytes(&self) -> usize {
        self.headers.len() + self.payload.len()
    }

    /// The numbers of the packets in it that are not known to have arrived.
    fn under_way(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.components.iter().filter(|it| !it.delivered).map(|it| it.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use proptest::prelude::*;

    const PAIRS: Pattern = Pattern { degree: 2, distance: 2 };

    fn keep(buffer: &mut Buffer, number: u64, payload: &[u8]) -> Option<usize> {
        buffer.keep(Some(PAIRS.group(number)), number, number * 100, &[number as u8], payload, true)
    }

    #[test]
    fn two_packets_of_a_group_share_a_slot_and_either_comes_out_of_it() {
        let mut buffer = Buffer::new(2, Replacement::None);
        let slots: Vec<_> = [&b"zero"[..], b"one", b"two...", b"three", b"four"]
            .iter()
            .zip(0..)
            .map(|(payload, number)| keep(&mut buffer, number, payload))
            .collect();
        assert_eq!(slots[0], slots[2]);
        assert_eq!(slots[1], slots[3]);
        assert_eq!(slots[4], None, "two slots");
        let kept = buffer.get(slots[2].unwrap(), 200).unwrap();
        assert_eq!(kept.header, [2]);
        assert_eq!(kept.others().collect::<Vec<_>>(), [0]);
        let mut payload = kept.payload.to_vec();
        xor::into(&mut payload, b"zero");
        assert_eq!(payload, b"two...");
        assert_eq!(kept.digest, digest(&[2], &payload));
        buffer.delivered(slots[0].unwrap(), 0);
        assert!(buffer.get(slots[2].unwrap(), 200).is_some(), "its other packet may still be lost");
        buffer.delivered(slots[2].unwrap(), 200);
        assert_eq!((buffer.occupied(), buffer.get(slots[2].unwrap(), 200).is_none()), (1, true));
    }

    #[test]
    fn the_oldest_goes_with_all_that_is_coded_with_it() {
        let mut buffer = Buffer::new(2, Replacement::Lru);
        let slots: Vec<_> = (0..5).map(|number| keep(&mut buffer, number, &[number as u8; 9])).collect();
        assert!(buffer.get(slots[0].unwrap(), 0).is_none() && buffer.get(slots[2].unwrap(), 200).is_none());
        assert!(buffer.get(slots[1].unwrap(), 100).is_some() && buffer.get(slots[4].unwrap(), 400).is_some());
    }

    proptest! {
        /// Whatever is kept, delivered and given up: never more slots than there are, bytes are those of what is in them, and
        /// what is in a slot is what adds up to it.
        #[test]
        fn a_slot_is_the_sum_of_its_packets(
            lru: bool,
            capacity in 1usize..6,
            degree in 1u8..4,
            distance in 1u8..4,
            steps in proptest::collection::vec((0u8..4, 0u64..40, 0usize..30), 1..120),
        ) {
            let replacement = if lru { Replacement::Lru } else { Replacement::None };
            let mut buffer = Buffer::new(capacity, replacement);
            let pattern = Pattern { degree, distance };
            let mut slots = std::collections::BTreeMap::new();
            let payload = |number: u64, bytes: usize| vec![number as u8 + 1; bytes];
            for (number, (what, old, bytes)) in steps.into_iter().enumerate() {
                let number = number as u64;
                match what {
                    0 | 1 => {
                        let group = Some(pattern.group(number));
                        let kept = buffer.keep(group, number, number * 100, &[number as u8], &payload(number, bytes), true);
                        slots.insert(number, (kept, bytes));
                    }
                    _ => {
                        let Some(&(Some(slot), _)) = slots.get(&old) else { continue };
                        if what == 2 { buffer.delivered(slot, old * 100) } else { buffer.give_up(slot, old * 100) }
                    }
                }
                prop_assert!(buffer.occupied() <= capacity);
                let sum: usize = buffer.slots.iter().map(Slot::bytes).sum();
                prop_assert_eq!(buffer.bytes(), sum);
                for (&number, &(slot, bytes)) in &slots {
                    let Some(kept) = slot.and_then(|slot| buffer.get(slot, number * 100)) else { continue };
                    prop_assert!(kept.other_count() < usize::from(degree));
                    let mut sum = kept.payload.to_vec();
                    for other in kept.others() {
                        xor::into(&mut sum, &payload(other / 100, slots[&(other / 100)].1));
                    }
                    prop_assert_eq!(&sum[..bytes], &payload(number, bytes)[..]);
                    prop_assert!(sum[bytes..].iter().all(|&byte| byte == 0));
                    prop_assert_eq!(kept.digest, digest(kept.header, &sum[..bytes]));
                }
            }
        }
    }
}
