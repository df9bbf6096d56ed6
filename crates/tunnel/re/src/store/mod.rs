//! The packets of one direction, by link sequence, within a bound in bytes.
//!
//! Both ends of a direction keep one. One rule keeps them equal without messages: *beyond the bound, the
//! lowest sequence leaves first, in any order of arrival.* Let S be the sender's packets, and R, a subset
//! of S, the receiver's. The sender keeps the longest tail of S, by sequence, that fits. The receiver drops a
//! packet only if the packets of R from its sequence on do not fit; then those of S do not fit either. So the
//! receiver has every packet that the sender still has, if it received it.
//!
//! A *lasting* store has a second generation with a part of the bound ([`lasting_bytes`]). 18.5% of the
//! packets ([`lasts`]) move there when they leave the first, and leave it by the same rule. Content that
//! repeats after more bytes than the store has is then found in part, and not at all only after 2.6 times as
//! many. The rule holds for both generations. A packet of the sender's second generation is in the receiver's
//! first, or in its second, with no more packets from its sequence on. Neither part shrinks as the bound
//! grows.
//!
//! A delayed packet that newer ones overtook may refer to packets that have left the sender's store. The
//! receiver therefore keeps a little more than the sender ([`receiver_bytes`]).
//!
//! Memory is taken as packets come, and given back as they leave. A full store takes less memory than its
//! bound.

mod directory;
mod log;

use directory::{Directory, Slot};
use log::Log;
use std::ops::Range;

/// Cost of a packet against the bound beyond its bytes: its share of the tables.
pub const OVERHEAD_BYTES: usize = 64;

/// Sequences that move to the second generation together: neighbours, so that long repetitions are found as
/// such.
const BLOCK: u64 = 512;
/// 18.5% of 2^32.
const LASTING_SHARE: u32 = 794_568_950;
/// 2^32 divided by the golden ratio: multiples of it are evenly spread.
const SPREAD: u32 = 2_654_435_769;

/// Whether a packet moves to the second generation when it leaves the first. Both ends know it by its
/// sequence.
#[must_use]
pub fn lasts(sequence: u64) -> bool {
    ((sequence / BLOCK) as u32).wrapping_mul(SPREAD) < LASTING_SHARE
}

/// Smaller stores have one generation.
const LEAST_LASTING_STORE_BYTES: usize = 512 << 10;
/// What a second generation has beside its share, in bytes: some blocks, so that it reaches as far in small
/// stores.
const SOME_BLOCKS_BYTES: usize = 3 << 19;

/// The second generation's part of a lasting store's bound: 37.5% and 1.5 MiB, and at most half of what the
/// bound has above 512 KiB.
#[must_use]
pub fn lasting_bytes(bound_bytes: usize) -> usize {
    let most = bound_bytes.saturating_sub(LEAST_LASTING_STORE_BYTES) / 2;
    (bound_bytes / 8 * 3 + SOME_BLOCKS_BYTES).min(most)
}

/// Bytes of the surplus for one byte of a small store.
const MOST_SURPLUS: usize = 8;

/// Bytes that a receiver keeps for a sender that keeps `store_bytes`. The surplus is an eighth, and at least
/// the size of a burst of overtaking packets: 256 KiB, or eight times a small store.
#[must_use]
pub fn receiver_bytes(store_bytes: usize) -> usize {
    let burst = store_bytes.saturating_mul(MOST_SURPLUS).min(256 << 10);
    store_bytes.saturating_add((store_bytes / 8).max(burst))
}

/// A stored packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored<'a> {
    /// Its link sequence.
    pub sequence: u64,
    /// The packet at the entry of the tunnel.
    pub packet: &'a [u8],
    /// Range of its transport payload.
    pub payload: Range<usize>,
    /// Tag of its flow; 0 where flows are not distinguished.
    pub flow: u32,
    /// The receiver holds the packet, by its latest report.
    pub confirmed: bool,
    /// The receiver has once reported the packet lost.
    pub lost: bool,
}

/// Packets of which the lowest leave first.
#[derive(Debug, Clone, Default)]
struct Generation {
    bound_bytes: usize,
    used_bytes: usize,
    /// No lower sequence may enter.
    floor: u64,
    directory: Directory,
}

impl Generation {
    /// Takes the lowest packet out.
    fn pop_lowest(&mut self) -> Option<(u64, Slot)> {
        let (sequence, slot) = self.directory.pop_lowest()?;
        self.used_bytes -= cost(slot.length.into());
        self.floor = self.floor.max(sequence + 1);
        Some((sequence, slot))
    }

    /// Whether `bytes` more do not fit.
    fn is_full(&self, bytes: usize) -> bool {
        self.used_bytes + bytes > self.bound_bytes
    }

    /// Whether this sequence is lower than all.
    fn is_lowest(&self, sequence: u64) -> bool {
        self.directory.lowest().is_none_or(|lowest| sequence < lowest)
    }

    fn enter(&mut self, sequence: u64, slot: Slot) {
        self.used_bytes += cost(slot.length.into());
        self.directory.insert(sequence, slot);
    }

    fn clear(&mut self) {
        (self.used_bytes, self.floor) = (0, 0);
        self.directory.clear();
    }
}

/// Bytes of the bound that a packet takes.
fn cost(packet_bytes: usize) -> usize {
    packet_bytes + OVERHEAD_BYTES
}

/// The store.
#[derive(Debug, Clone)]
pub struct PacketStore {
    recent: Generation,
    /// The second generation. `None` in a store that is not lasting.
    lasting: Option<Generation>,
    log: Log,
    /// One above the highest sequence inserted.
    end: u64,
    /// The largest distance of a sequence below `end`.
    span: u64,
}

/// Bytes of the bound for one sequence of the span.
const BYTES_A_SEQUENCE: usize = 256;
/// The same in a lasting store.
const LASTING_BYTES_A_SEQUENCE: usize = 32;

impl PacketStore {
    /// The largest bound, in bytes.
    const MOST_BYTES: usize = 1 << 31;

    /// A store of one generation for at most `bound_bytes`, [`OVERHEAD_BYTES`] a packet included.
    #[must_use]
    pub fn new(bound_bytes: usize) -> Self {
        PacketStore::of(None, bound_bytes)
    }

    /// A lasting store for at most `bound_bytes`.
    #[must_use]
    pub fn lasting(bound_bytes: usize) -> Self {
        PacketStore::of(Some(Generation::default()), bound_bytes)
    }

    fn of(lasting: Option<Generation>, bound_bytes: usize) -> Self {
        let mut store =
            PacketStore { recent: Generation::default(), lasting, log: Log::default(), end: 0, span: 0 };
        store.set_bound(bound_bytes);
        store
    }

    /// Changes the bound. Where it is smaller, packets leave.
    pub fn set_bound(&mut self, bound_bytes: usize) {
        let bound_bytes = bound_bytes.min(Self::MOST_BYTES);
        let bytes_a_sequence = match &mut self.lasting {
            Some(lasting) => {
                lasting.bound_bytes = lasting_bytes(bound_bytes);
                LASTING_BYTES_A_SEQUENCE
            }
            None => BYTES_A_SEQUENCE,
        };
        self.recent.bound_bytes = bound_bytes - self.lasting.as_ref().map_or(0, |it| it.bound_bytes);
        self.span = (bound_bytes / bytes_a_sequence).max(64) as u64;
        self.log.fit(bound_bytes);
        while self.recent.is_full(0) && self.drop_lowest_recent() {}
        while self.lasting.as_ref().is_some_and(|lasting| lasting.is_full(0)) && self.drop_lowest_lasting() {}
        self.drop_below(self.end.saturating_sub(self.span));
        self.recent.directory.shrink();
        if let Some(lasting) = &mut self.lasting {
            lasting.directory.shrink();
        }
        self.tidy();
    }

    /// Bytes of memory.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let directories = self.lasting.iter().chain([&self.recent]).map(|it| it.directory.size_bytes());
        directories.sum::<usize>() + self.log.size_bytes()
    }

    /// The part of the bound within which every packet is held, in bytes.
    #[must_use]
    pub fn recent_bytes(&self) -> usize {
        self.recent.bound_bytes
    }

    /// Sequences from this one on have not left the first generation.
    #[must_use]
    pub fn recent_from(&self) -> u64 {
        self.recent.floor
    }

    /// Whether a packet moves to the second generation of this store.
    #[must_use]
    pub fn lasts(&self, sequence: u64) -> bool {
        self.lasting.is_some() && lasts(sequence)
    }

    fn slot(&self, sequence: u64) -> Option<&Slot> {
        let in_recent = self.recent.directory.get(sequence);
        in_recent.or_else(|| self.lasting.as_ref()?.directory.get(sequence))
    }

    fn slot_mut(&mut self, sequence: u64) -> Option<&mut Slot> {
        let in_recent = self.recent.directory.get_mut(sequence);
        in_recent.or_else(|| self.lasting.as_mut()?.directory.get_mut(sequence))
    }

    /// The packet with this link sequence, if it is held.
    #[must_use]
    pub fn get(&self, sequence: u64) -> Option<Stored<'_>> {
        let slot = self.slot(sequence)?;
        Some(Stored {
            sequence,
            packet: self.log.packet(slot.at, slot.length.into()),
            payload: slot.payload_start.into()..slot.payload_end.into(),
            flow: slot.flow,
            confirmed: slot.confirmed,
            lost: slot.lost,
        })
    }

    /// The bytes of the packet with this link sequence, if it is held.
    #[inline]
    #[must_use]
    pub fn packet(&self, sequence: u64) -> Option<&[u8]> {
        self.slot(sequence).map(|slot| self.log.packet(slot.at, slot.length.into()))
    }

    /// Whether the packet with this link sequence is held.
    #[must_use]
    pub fn holds(&self, sequence: u64) -> bool {
        self.slot(sequence).is_some()
    }

    /// Whether a packet is confirmed and in the newer half of the first generation's sequences. Both ends
    /// then keep it for as many more packets.
    #[must_use]
    pub fn stays(&self, sequence: u64) -> bool {
        let from = self.recent.floor.max(self.end.saturating_sub(self.span));
        let is_young = sequence >= from + self.end.saturating_sub(from) / 2;
        is_young && self.recent.directory.get(sequence).is_some_and(|slot| slot.confirmed)
    }

    /// The highest link sequence inserted; 0 before the first.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.end.saturating_sub(1)
    }

    /// The bytes held, [`OVERHEAD_BYTES`] a packet included; never more than the bound.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.recent.used_bytes + self.lasting.as_ref().map_or(0, |lasting| lasting.used_bytes)
    }

    /// The link sequences held, in order.
    pub fn sequences(&self) -> impl Iterator<Item = u64> + '_ {
        let lasting = self.lasting.iter().flat_map(|lasting| lasting.directory.sequences());
        lasting.chain(self.recent.directory.sequences())
    }

    /// Marks the packet confirmed. Returns whether it was not before.
    pub fn confirm(&mut self, sequence: u64) -> bool {
        self.slot_mut(sequence).is_some_and(|slot| !std::mem::replace(&mut slot.confirmed, true))
    }

    /// Marks the packet lost and no longer confirmed. Returns whether it was not lost before. A later
    /// confirmation is possible, because a packet reported missing may only be late.
    pub fn report_lost(&mut self, sequence: u64) -> bool {
        self.slot_mut(sequence).is_some_and(|slot| {
            slot.confirmed = false;
            !std::mem::replace(&mut slot.lost, true)
        })
    }

    /// Inserts a packet and drops the lowest sequences, possibly this one, until the bound holds. A packet
    /// that is present stays unchanged. Returns whether the packet was inserted.
    pub fn insert(&mut self, sequence: u64, packet: &[u8], payload: Range<usize>) -> bool {
        self.insert_of_flow(sequence, 0, packet, payload)
    }

    /// As [`insert`](PacketStore::insert), with the tag of its flow.
    pub fn insert_of_flow(&mut self, sequence: u64, flow: u32, packet: &[u8], payload: Range<usize>) -> bool {
        let Ok(length) = u16::try_from(packet.len()) else { return false };
        let cost = cost(packet.len());
        let is_newest = sequence >= self.end;
        let too_old = sequence < self.end.saturating_sub(self.span);
        if length == 0 || cost > self.recent.bound_bytes || too_old || !is_newest && self.holds(sequence) {
            return false;
        }
        let Some(end) = sequence.checked_add(1) else { return false };
        if is_newest {
            self.end = end;
            self.drop_below(end.saturating_sub(self.span));
        }
        let is_recent = self.is_recent(sequence, cost);
        if !is_recent && !self.may_last(sequence, cost) {
            return false;
        }
        let payload_end = payload.end.min(packet.len()) as u16;
        let lasts = self.lasts(sequence);
        let slot = Slot {
            at: self.log.append(lasts, sequence, packet),
            flow,
            length,
            payload_start: payload_end.min(payload.start.min(packet.len()) as u16),
            payload_end,
            confirmed: false,
            lost: false,
        };
        match &mut self.lasting {
            Some(lasting) if !is_recent => lasting.enter(sequence, slot),
            _ => self.recent.enter(sequence, slot),
        }
        self.tidy();
        true
    }

    /// Makes room in the first generation. `false`: this packet is one of those that leave it.
    fn is_recent(&mut self, sequence: u64, cost: usize) -> bool {
        if sequence < self.recent.floor {
            return false;
        }
        while self.recent.is_full(cost) {
            if self.recent.is_lowest(sequence) {
                self.recent.floor = sequence + 1;
                return false;
            }
            self.drop_lowest_recent();
        }
        true
    }

    /// Makes room in the second generation. `false`: there is none, or this packet is one of those that leave
    /// it.
    fn may_last(&mut self, sequence: u64, cost: usize) -> bool {
        if !self.lasts(sequence) {
            return false;
        }
        while let Some(lasting) = &mut self.lasting {
            if sequence < lasting.floor || cost > lasting.bound_bytes {
                return false;
            }
            if !lasting.is_full(cost) {
                return true;
            }
            if lasting.is_lowest(sequence) {
                lasting.floor = sequence + 1;
                return false;
            }
            self.drop_lowest_lasting();
        }
        false
    }

    /// The lowest packet leaves the first generation. Returns whether there was one.
    fn drop_lowest_recent(&mut self) -> bool {
        let Some((sequence, slot)) = self.recent.pop_lowest() else { return false };
        if self.may_last(sequence, cost(slot.length.into()))
            && let Some(lasting) = &mut self.lasting
        {
            lasting.enter(sequence, slot);
        } else {
            self.log.remove(slot.at, slot.length.into());
        }
        true
    }

    /// The lowest packet leaves the second generation. Returns whether there was one.
    fn drop_lowest_lasting(&mut self) -> bool {
        let Some((_, slot)) = self.lasting.as_mut().and_then(Generation::pop_lowest) else { return false };
        self.log.remove(slot.at, slot.length.into());
        true
    }

    /// Lower sequences leave.
    fn drop_below(&mut self, oldest_allowed: u64) {
        if oldest_allowed <= self.lasting.as_ref().unwrap_or(&self.recent).floor {
            return;
        }
        while self.recent.directory.lowest().is_some_and(|lowest| lowest < oldest_allowed) {
            self.drop_lowest_recent();
        }
        self.recent.directory.forget_groups_below(oldest_allowed);
        while let Some(lasting) = &mut self.lasting {
            if lasting.directory.lowest().is_none_or(|lowest| lowest >= oldest_allowed) {
                lasting.directory.forget_groups_below(oldest_allowed);
                break;
            }
            self.drop_lowest_lasting();
        }
    }

    /// Moves the packets of slabs in which few stay.
    fn tidy(&mut self) {
        while let Some(slab) = self.log.retire_sparse_slab() {
            for (sequence, at, length) in self.log.written_in(slab) {
                if self.slot(sequence).is_some_and(|slot| slot.at == at) {
                    let to = self.log.again(self.lasts(sequence), sequence, at, length);
                    if let Some(slot) = self.slot_mut(sequence) {
                        slot.at = to;
                    }
                }
            }
        }
    }

    /// Forgets every packet.
    pub fn clear(&mut self) {
        self.recent.clear();
        if let Some(lasting) = &mut self.lasting {
            lasting.clear();
        }
        self.log.clear();
        self.end = 0;
    }
}
