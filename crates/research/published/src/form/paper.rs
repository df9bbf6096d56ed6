//! The byte-caching paper's form: a field replaces a region, and names the stored packet by a fingerprint.

use crate::shim::paper::{self, FIELD_BYTES, Field, Paper};
use re::Miss;
use re::anchors::{Anchor, AnchorFinder};
use re::form::{EncoderParameters, Match, Reader, Search, Writer, copy_region, take_literals};
use re::index::{Index, Key};
use re::store::{PacketStore, Stored};

/// The encoder's part.
#[derive(Debug, Default)]
pub(super) struct Fields {
    fields: Vec<Field>,
}

impl Writer for Fields {
    /// The decoder takes the newest packet of a fingerprint, so the encoder must know it as well, even if the
    /// policy forbids a reference.
    fn may_enter_late(&self) -> bool {
        false
    }

    /// The byte-caching paper's procedure B (Figure 2), which replaces a region that is longer than an
    /// encoding field.
    ///
    /// Figure 2 moves the pointer "by (len + w) bytes" behind a region, and by two more in lines 12 and 14;
    /// it does not define the pointer's position. From the end of the matching window, the move passes more
    /// than the region, and repetitions there. From the region's start, it ends behind the first window after
    /// the region. This code uses the latter. It also gives the dependencies of the paper's files, 4 and 7,
    /// on our substitute contents (4.2 and 7.1; the other reading gives 3.6 and 5.6).
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

/// The decoder's part: the latest stored packet of each fingerprint.
#[derive(Debug)]
pub(super) struct Fingerprints {
    finder: AnchorFinder,
    index: Index,
    anchors: Vec<Anchor>,
}

impl Fingerprints {
    /// A reader without packets.
    pub(super) fn new(encoder: &EncoderParameters) -> Self {
        let EncoderParameters { window_bytes, sample_bits, store_bytes } = *encoder;
        Fingerprints {
            finder: AnchorFinder::rabin(window_bytes, sample_bits),
            index: Index::of_anchors(store_bytes, sample_bits),
            anchors: Vec::new(),
        }
    }

    fn find<'a>(&self, fingerprint: u64, store: &'a PacketStore) -> Option<Stored<'a>> {
        let place = self.index.entry(fingerprint).place(store.newest(), 0)?;
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
            copy_region(stored.packet, usize::from(field.offset_in_stored), usize::from(field.length), out)?;
        }
        out.extend_from_slice(literals);
        Ok(())
    }

    fn enter(&mut self, sequence: u64, store: &PacketStore) {
        let Some(stored) = store.get(sequence) else { return };
        self.finder.find(stored.packet, stored.payload, &mut self.anchors);
        let keys = self.anchors.iter().map(|anchor| Key::new(anchor.fingerprint, anchor.offset));
        self.index.insert(keys, sequence, false);
    }
}
