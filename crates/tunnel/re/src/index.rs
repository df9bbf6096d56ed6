//! The latest stored packet of each fingerprint: a table in lines of eight entries.
//!
//! A fingerprint has one entry in its line, and the newest packet overwrites it. Packets that last
//! ([`crate::store::lasts`]) have entries of their own in the same line, so that the many others do not
//! overwrite them. A lost or stale entry costs only savings, because the search compares bytes before it uses
//! an entry.
//!
//! ```text
//! +----------+-------------+----------------------------+
//! | tag (16) | offset (16) | link sequence, low 32 bits |
//! +----------+-------------+----------------------------+
//! ```
//!
//! The table doubles as the store's content grows. Each line's entries then go to both lines that may be
//! theirs: an entry does not tell which of them is. A large table moves to its new size a few lines with each
//! stored packet, so that no packet waits for all of them. Until a line has moved, its entries are in the
//! table before.

use crate::pages::Pages;
use std::ops::Range;
use wire::number::widen;

const ENTRY_BYTES: usize = size_of::<u64>();
/// Entries of a line, which a processor fetches together.
const WAYS: usize = 8;
/// Entries of a line for packets that do not last, where others do. Both numbers are powers of two.
const RECENT_WAYS: usize = 4;
const LINE_BYTES: usize = WAYS * ENTRY_BYTES;
/// Bytes of a store for one byte of its table.
const STORE_BYTES_A_BYTE: usize = 12;
/// While the store's content is small, its table could serve as many times the content.
const SPARE: usize = 12;
/// Bytes that the table of a small store has beside, for a third of its content.
const BESIDE_BYTES: usize = 48 << 10;
/// The fewest lines from which a table doubles.
const LEAST_LINES: usize = 256;
/// Lines that move with each stored packet: a page of memory.
const LINES_A_PACKET: usize = 64;
/// A table of at most so many lines moves at once: it is a mebibyte.
const LINES_AT_ONCE: usize = 16 << 10;
/// A table that is smaller than it may be by less than this part keeps its size.
const WORTHWHILE_PART: usize = 16;

/// The place of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The packet's link sequence.
    pub sequence: u64,
    /// Where the window starts in the packet.
    pub offset: usize,
}

/// The entry of a window without its packet's sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Key {
    hash: u32,
    tag: u16,
    offset: u16,
}

impl Key {
    /// The key of a window with this fingerprint that starts at `offset` of its packet.
    #[must_use]
    pub fn new(fingerprint: u64, offset: u16) -> Self {
        let spread = spread(fingerprint);
        Key { hash: (spread >> 32) as u32, tag: spread as u16 | 1, offset }
    }
}

/// The entries of a fingerprint.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry {
    recent: u64,
    lasting: u64,
    tag: u16,
}

impl Entry {
    /// The latest place of a window with this fingerprint, or of another with an equal tag. `newest` is the
    /// newest sequence in the store; it completes the truncated sequence. Packets that do not last are gone
    /// below the sequence `recent_from`.
    #[must_use]
    pub fn place(self, newest: u64, recent_from: u64) -> Option<Place> {
        let recent = self.place_of(self.recent, newest).filter(|place| place.sequence >= recent_from);
        recent.or_else(|| self.place_of(self.lasting, newest))
    }

    /// Whether a packet that did not last had a window of this fingerprint, or of another with an equal tag.
    #[must_use]
    pub fn is_of_a_recent(self) -> bool {
        self.recent >> 48 == u64::from(self.tag)
    }

    fn place_of(self, bits: u64, newest: u64) -> Option<Place> {
        (bits >> 48 == u64::from(self.tag)).then(|| Place {
            sequence: widen(bits & 0xffff_ffff, 32, newest),
            offset: usize::from((bits >> 32) as u16),
        })
    }
}

/// The table.
#[derive(Debug, Clone)]
pub struct Index {
    table: Table,
    /// The table before, while lines move from it.
    before: Option<Table>,
    /// Lines of `table` that have moved to it; all of them without a table before.
    moved: usize,
    /// Entries of a line for packets that do not last.
    recent_ways: usize,
    /// Lines of a table for the whole store.
    most_lines: usize,
}

#[derive(Debug, Clone)]
struct Table {
    /// Entries of eight bytes. Zero is an empty entry; tags are never zero.
    entries: Pages,
    lines: usize,
}

impl Table {
    fn empty(lines: usize) -> Self {
        Table { entries: Pages::zeroed(lines * LINE_BYTES), lines }
    }

    /// The line of a key.
    #[inline]
    fn line(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.lines as u64) >> 32) as usize
    }

    /// Enters a window. `ways`: the first of the entries in its line that may be its own, and how many.
    #[inline]
    fn enter(&mut self, line: usize, key: Key, sequence: u64, ways: (usize, usize)) {
        let bits = u64::from(key.tag) << 48 | u64::from(key.offset) << 32 | sequence & 0xffff_ffff;
        if let Some(entry) = self.entries.as_chunks_mut().0.get_mut(number(line, key.hash, ways)) {
            *entry = bits.to_ne_bytes();
        }
    }

    /// The entries of a key, among those for packets that do not last and for those that do.
    #[inline]
    fn look_up(
        &self,
        line: usize,
        key: Key,
        recent: (usize, usize),
        lasting: Option<(usize, usize)>,
    ) -> Entry {
        let entries = self.entries.as_chunks().0;
        let bits = |ways| entries.get(number(line, key.hash, ways)).map_or(0, |it| u64::from_ne_bytes(*it));
        Entry { recent: bits(recent), lasting: lasting.map_or(0, bits), tag: key.tag }
    }

    /// Fills lines with the entries that the table before this one has for them.
    fn take(&mut self, lines: Range<usize>, before: &Table) {
        let entries = self.entries.as_chunks_mut::<LINE_BYTES>().0;
        let earlier = before.entries.as_chunks::<LINE_BYTES>().0;
        if self.lines.is_multiple_of(before.lines) {
            // Each line is empty, and has one line before it.
            let copies = self.lines / before.lines;
            let pairs = lines.clone().zip(&mut entries[lines]);
            return pairs.for_each(|(line, to)| *to = earlier[line / copies]);
        }
        for line in lines {
            let first = line * before.lines / self.lines;
            let last = ((line + 1) * before.lines - 1) / self.lines;
            for from in &earlier[first..=last.min(before.lines - 1)] {
                keep_newer(&mut entries[line], from);
            }
        }
    }
}

/// Spreads a fingerprint over 64 bits, because sampling made its low bits zero.
fn spread(fingerprint: u64) -> u64 {
    let product = fingerprint.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (product ^ product >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Lines for a store of this size: a number that halves evenly down to a small table.
fn lines_for(store_bytes: usize) -> usize {
    let bytes = store_bytes / STORE_BYTES_A_BYTE + (store_bytes / 3).min(BESIDE_BYTES);
    let lines = (bytes / LINE_BYTES).max(1);
    let halvings = (lines / LEAST_LINES).max(1).ilog2();
    lines >> halvings << halvings
}

/// Lines of the smallest table that doubles to so many.
fn least_lines(most_lines: usize) -> usize {
    most_lines >> (most_lines / LEAST_LINES).max(1).ilog2()
}

impl Index {
    /// A table for a store of `store_bytes`, that grows as far. `lasts`: the store is a lasting one.
    #[must_use]
    pub fn new(store_bytes: usize, lasts: bool) -> Self {
        let recent_ways = if lasts { RECENT_WAYS } else { WAYS };
        let most_lines = lines_for(store_bytes);
        Index::of_lines(least_lines(most_lines), most_lines, recent_ways)
    }

    /// A table with an entry for each anchor of a store of `store_bytes`, with one window in 2^`sample_bits`
    /// an anchor. Its size is at most that of the store, and stays.
    #[must_use]
    pub fn of_anchors(store_bytes: usize, sample_bits: u32) -> Self {
        let count = (store_bytes >> sample_bits.min(12)).min(store_bytes / ENTRY_BYTES);
        let lines = (count / WAYS).max(1);
        Index::of_lines(lines, lines, WAYS)
    }

    fn of_lines(lines: usize, most_lines: usize, recent_ways: usize) -> Self {
        Index { table: Table::empty(lines), before: None, moved: lines, recent_ways, most_lines }
    }

    /// The store's bound is this many bytes from now on.
    pub fn set_store_bytes(&mut self, store_bytes: usize) {
        self.most_lines = lines_for(store_bytes);
        if self.before.is_some() && self.table.lines <= self.most_lines {
            return; // it goes on when all lines have moved
        }
        self.move_lines(usize::MAX);
        self.reshape();
    }

    /// Takes the size in the row of doublings up to the largest table that holds what the present one does.
    fn reshape(&mut self) {
        let mut lines = least_lines(self.most_lines);
        while lines < self.table.lines.min(self.most_lines) {
            lines *= 2;
        }
        let present = self.table.lines;
        if !(present..=present + present / WORTHWHILE_PART).contains(&lines) {
            self.resize(lines);
        }
    }

    /// Makes the table large enough for a store with this content, and larger while there is room: then more
    /// windows are found. Lines move with each call.
    pub fn fit(&mut self, used_bytes: usize) {
        if self.before.is_some() {
            self.move_lines(LINES_A_PACKET);
            if self.before.is_none() {
                self.reshape();
            }
            return;
        }
        let mut lines = self.table.lines;
        while 2 * lines <= self.most_lines && lines * LINE_BYTES * STORE_BYTES_A_BYTE < SPARE * used_bytes {
            lines *= 2;
        }
        if lines > self.table.lines {
            self.resize(lines);
        }
    }

    /// Begins to move to a table of so many lines. A small table moves at once, and one that becomes much
    /// smaller: its memory is wanted elsewhere.
    fn resize(&mut self, lines: usize) {
        let becomes_small = lines <= LINES_AT_ONCE || lines <= self.table.lines / 4;
        self.before = Some(std::mem::replace(&mut self.table, Table::empty(lines)));
        self.moved = 0;
        if becomes_small {
            self.move_lines(usize::MAX);
        }
    }

    /// Moves so many further lines from the table before.
    fn move_lines(&mut self, count: usize) {
        let Some(before) = &self.before else { return };
        let end = self.moved.saturating_add(count).min(self.table.lines);
        self.table.take(self.moved..end, before);
        self.moved = end;
        if end == self.table.lines {
            self.before = None;
        }
    }

    /// Enters windows of a packet, which lasts or not; each overwrites its entry.
    pub fn insert(&mut self, keys: impl Iterator<Item = Key>, sequence: u64, lasts: bool) {
        let ways = self.ways(lasts);
        let Some(before) = &mut self.before else {
            keys.for_each(|key| self.table.enter(self.table.line(key.hash), key, sequence, ways));
            return;
        };
        for key in keys {
            let line = self.table.line(key.hash);
            if line < self.moved {
                self.table.enter(line, key, sequence, ways);
            } else {
                before.enter(before.line(key.hash), key, sequence, ways);
            }
        }
    }

    /// Looks a fingerprint up. Several look-ups take little longer than one, because their memory accesses
    /// overlap.
    #[must_use]
    #[inline]
    pub fn entry(&self, fingerprint: u64) -> Entry {
        let key = Key::new(fingerprint, 0);
        let (recent, lasting) = (self.ways(false), self.ways(true));
        let lasting = (self.recent_ways < WAYS).then_some(lasting);
        let line = self.table.line(key.hash);
        match &self.before {
            Some(before) if line >= self.moved => before.look_up(before.line(key.hash), key, recent, lasting),
            _ => self.table.look_up(line, key, recent, lasting),
        }
    }

    /// The entries of a line for packets that last, or for the others: the first, and how many.
    fn ways(&self, lasts: bool) -> (usize, usize) {
        if lasts && self.recent_ways < WAYS {
            (RECENT_WAYS, WAYS - RECENT_WAYS)
        } else {
            (0, self.recent_ways)
        }
    }

    /// Empties the table.
    pub fn clear(&mut self) {
        (self.before, self.moved) = (None, self.table.lines);
        self.table.entries.fill(0);
    }

    /// Bytes of the table, and of the one before it.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.table.entries.len() + self.before.as_ref().map_or(0, |before| before.entries.len())
    }
}

/// The number of a key's entry. In its line it is one of so many entries from `first` on.
#[inline]
fn number(line: usize, hash: u32, (first, ways): (usize, usize)) -> usize {
    line * WAYS + first + (hash as usize & (ways - 1))
}

/// Takes the newer one of each two entries of a line.
fn keep_newer(to: &mut [u8; LINE_BYTES], from: &[u8; LINE_BYTES]) {
    let pairs = to.as_chunks_mut::<ENTRY_BYTES>().0.iter_mut().zip(from.as_chunks::<ENTRY_BYTES>().0);
    for (to, from) in pairs {
        let (old, new) = (u64::from_ne_bytes(*to), u64::from_ne_bytes(*from));
        let is_newer = (new as u32).wrapping_sub(old as u32) as i32 > 0;
        if new != 0 && (old == 0 || is_newer) {
            *to = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn what_was_entered_last_is_found(
            fingerprint: u64,
            sequence in 0u64..1 << 40,
            offset: u16,
            lead in 0u64..1000,
            (lasts, is_of_a_lasting_store) in (any::<bool>(), any::<bool>()),
        ) {
            let mut index = Index::new(1 << 16, is_of_a_lasting_store);
            let lasts = lasts && is_of_a_lasting_store;
            index.insert([Key::new(fingerprint, 3)].into_iter(), sequence + 1, lasts);
            index.insert([Key::new(fingerprint, offset)].into_iter(), sequence, lasts);
            let place = Place { sequence, offset: usize::from(offset) };
            prop_assert_eq!(index.entry(fingerprint).place(sequence + lead, 0), Some(place));
            index.clear();
            prop_assert_eq!(index.entry(fingerprint).place(sequence, 0), None);
        }

        #[test]
        fn entries_are_found_after_the_table_grew_and_shrank(
            fingerprints in prop::collection::btree_set(any::<u64>(), 90..100),
            sizes in prop::collection::vec(1usize << 17..1 << 21, 1..6),
        ) {
            let mut index = Index::new(1 << 21, true);
            index.fit(1 << 20);
            for (sequence, fingerprint) in fingerprints.iter().enumerate() {
                index.insert([Key::new(*fingerprint, 7)].into_iter(), sequence as u64, sequence % 5 == 0);
            }
            let found = |index: &Index, recent_from: u64| {
                let known = fingerprints.iter().enumerate().filter(|(sequence, fingerprint)| {
                    let place = index.entry(**fingerprint).place(99, recent_from);
                    place == Some(Place { sequence: *sequence as u64, offset: 7 })
                });
                known.count()
            };
            prop_assert!(found(&index, 0) * 100 >= fingerprints.len() * 95);
            for size in sizes {
                index.set_store_bytes(size);
                index.set_store_bytes(1 << 21);
                index.fit(1 << 20);
            }
            prop_assert!(found(&index, 0) * 100 >= fingerprints.len() * 80);
        }

        #[test]
        fn entries_are_found_while_the_table_moves(
            fingerprints in prop::collection::btree_set(any::<u64>(), 200..300),
            steps in 1usize..400,
        ) {
            let mut index = Index::new(16 << 20, false);
            index.fit(512 << 10);
            index.move_lines(usize::MAX);
            let lines = index.table.lines;
            let mut packets = (0u64..).zip(&fingerprints);
            let mut entered = BTreeMap::new();
            let mut enter = |index: &mut Index, count| {
                for (sequence, fingerprint) in packets.by_ref().take(count) {
                    index.insert([Key::new(*fingerprint, 7)].into_iter(), sequence, false);
                    entered.insert(*fingerprint, sequence);
                }
                let is_found = |(fingerprint, sequence): &(&u64, &u64)| {
                    let place = index.entry(**fingerprint).place(300, 0);
                    place == Some(Place { sequence: **sequence, offset: 7 })
                };
                entered.iter().filter(is_found).count() * 100 >= entered.len() * 97
            };
            prop_assert!(enter(&mut index, 100));
            index.fit(16 << 20);
            prop_assert!(index.before.is_some() && index.table.lines > lines);
            for _ in 0..steps {
                index.fit(16 << 20);
            }
            prop_assert!(enter(&mut index, 100));
            for _ in 0..400 {
                index.fit(16 << 20);
                prop_assert!(enter(&mut index, 1));
            }
            prop_assert!(index.before.is_none());
        }

        #[test]
        fn the_table_takes_a_twelfth_of_the_store(store_bytes in 4096usize..1 << 24, lasts: bool) {
            let mut index = Index::new(store_bytes, lasts);
            for used in [1000, 70_000, store_bytes / 3, store_bytes] {
                index.fit(used);
                let most = store_bytes / STORE_BYTES_A_BYTE + BESIDE_BYTES;
                prop_assert!(index.memory_bytes() <= most + most / 2, "beside the table before");
                index.move_lines(usize::MAX);
                prop_assert!(index.memory_bytes() <= most);
            }
            index.set_store_bytes(4096);
            prop_assert!(index.memory_bytes() <= 4096 / 2);
        }
    }

    #[test]
    fn a_packet_that_left_gives_way_to_one_that_lasts() {
        let mut index = Index::new(1 << 20, true);
        index.insert([Key::new(9, 3)].into_iter(), 40, true);
        index.insert([Key::new(9, 5)].into_iter(), 50, false);
        let sequence = |from| index.entry(9).place(60, from).map(|place| place.sequence);
        assert_eq!((sequence(0), sequence(51)), (Some(50), Some(40)));
    }
}
