//! The byte-caching paper's form: a region is replaced by a field that names the stored packet by a
//! fingerprint.

use crate::shim::paper::{self, FIELD_BYTES, Field, Paper};
use re::Miss;
use re::anchors::{Anchor, AnchorFinder};
use re::form::{EncoderParameters, Match, Reader, Search, Writer, copy_region, take_literals};
use re::index::Index;
use re::store::{PacketStore, Stored};

/// The encoder's part.
#[derive(Debug, Default)]
pub(super) struct Fields {
    fields: Vec<Field>,
}

impl Writer for Fields {
    /// The decoder takes the newest packet with a fingerprint, so the encoder must know the newest, even
    /// where it may not be referred to.
    fn may_enter_late(&self) -> bool {
        false
    }

    /// The byte-caching paper's procedure B (Figure 2), in which a region is replaced when it is longer than
    /// an encoding field.
    ///
    /// Figure 2 moves the pointer "by (len + w) bytes" behind a region, and by two more in lines 12 and 14;
    /// where it stands at that moment is not said. Moved from the end of the window that matched, it passes
    /// over more than the region, and over what repeats there. Moved from the region's start, it comes to the
    /// end of the first window behind the region. That is what is done here; it is also the reading that
    /// gives both of the paper's files their numbers of dependencies, 4 and 7, on our contents that stand for
    /// them (4.2 and 7.1; the other reading gives 3.6 and 5.6).
    fn search(&mut self, search: &Search<'_>, matches: &mut Vec<Match>) {
        search.run(matches, |matches, found| {
            let is_worth_it = found.length > FIELD_BYTES;
            matches.extend(is_worth_it.then_some(found));
            is_worth_it
        });
    }

    fn emit(&mut self, matches: &[Match], out: &mut Vec<u8>) {
        self.fields.clear();
        self.fields.extend(matches.iter().map(|found| Field {
            fingerprint: found.fingerprint,
            offset_in_new: found.start as u16,
            offset_in_stored: found.stored_start as u16,
            length: found.length as u16,
        }));
        paper::emit(&self.fields, out);
    }
}

/// The decoder's part: which stored packet had a fingerprint last.
#[derive(Debug)]
pub(super) struct Fingerprints {
    finder: AnchorFinder,
    index: Index,
    anchors: Vec<Anchor>,
}

impl Fingerprints {
    /// Those of no packet yet.
    pub(super) fn new(encoder: &EncoderParameters) -> Self {
        let EncoderParameters { window_bytes, sample_bits, store_bytes } = *encoder;
        Fingerprints {
            finder: AnchorFinder::rabin(window_bytes, sample_bits),
            index: Index::new(store_bytes, sample_bits),
            anchors: Vec::new(),
        }
    }

    fn find<'a>(&self, fingerprint: u64, store: &'a PacketStore) -> Option<Stored<'a>> {
        let place = self.index.entry(fingerprint).place(store.newest())?;
        let stored = store.get(place.sequence)?;
        let window = stored.packet.get(place.offset..place.offset + self.finder.window_bytes())?;
        (self.finder.fingerprint(window) == fingerprint).then_some(stored)
    }
}

impl Reader for Fingerprints {
    fn restore(&mut self, shim: &[u8], store: &PacketStore, out: &mut Vec<u8>) -> Result<(), Miss> {
        let shim = Paper::parse(shim)?;
        let mut literals = shim.literals;
        let start = out.len();
        out.reserve(shim.restored_bytes);
        for field in shim.fields() {
            let done = out.len() - start;
            let literal_bytes = usize::from(field.offset_in_new).saturating_sub(done);
            out.extend_from_slice(take_literals(&mut literals, literal_bytes));
            let stored = self.find(field.fingerprint, store).ok_or(Miss::Unnamed)?;
            copy_region(&stored, usize::from(field.offset_in_stored), usize::from(field.length), out)?;
        }
        out.extend_from_slice(literals);
        Ok(())
    }

    fn enter(&mut self, sequence: u64, store: &PacketStore) {
        let Some(stored) = store.get(sequence) else { return };
        self.finder.find(stored.packet, stored.payload, &mut self.anchors);
        for anchor in &self.anchors {
            self.index.insert(self.index.key(anchor.fingerprint, anchor.offset), sequence);
        }
    }
}
