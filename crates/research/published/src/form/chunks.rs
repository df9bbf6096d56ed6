//! Chunk-match: repetitions are found as whole chunks, named by their SHA-1 (REboost, section II-A, after
//! EndRE, NSDI 2010).
//!
//! A payload is cut at its anchors, which is MODP: a boundary is a window whose fingerprint a power of two
//! divides. Both ends keep each chunk's place in their stores. The sender names only chunks that it may refer
//! to. The receiver, which has all of them, looks up only the hash. For experiments: it finds less than
//! matches of any length, with longer references.

use crate::shim::hashed::Hash;
use foldhash::fast::FixedState;
use re::anchors::Anchor;
use re::index::Place;
use re::store::{PacketStore, Stored};
use sha1::{Digest, Sha1};
use std::collections::HashMap;
use std::ops::Range;

/// The shortest chunk; a boundary nearer to the last one is ignored.
const LEAST_CHUNK_BYTES: usize = 32;

/// Places of chunks in a store, by hash.
#[derive(Debug)]
pub(crate) struct Chunks {
    places: HashMap<Hash, Place, FixedState>,
    most: usize,
}

/// One chunk of a packet.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    /// Its range in the packet.
    pub range: Range<usize>,
    pub hash: Hash,
}

/// The chunks of a packet's payload, front to back, without a short rest at the end.
pub(crate) fn cut<'a>(
    packet: &'a [u8],
    payload: Range<usize>,
    anchors: &'a [Anchor],
) -> impl Iterator<Item = Chunk> + 'a {
    let boundaries = anchors.iter().map(|anchor| usize::from(anchor.offset)).chain([payload.end]);
    let mut start = payload.start;
    boundaries.filter_map(move |boundary| {
        let bytes = packet.get(start..boundary).filter(|bytes| bytes.len() >= LEAST_CHUNK_BYTES)?;
        let range = std::mem::replace(&mut start, boundary)..boundary;
        Some(Chunk { range, hash: hash(bytes) })
    })
}

/// A chunk's name.
pub(crate) fn hash(chunk: &[u8]) -> Hash {
    Sha1::digest(chunk).into()
}

impl Chunks {
    /// No chunks, for a store of `store_bytes`: at most twice as many as fit.
    pub fn new(store_bytes: usize) -> Self {
        Chunks { places: HashMap::default(), most: 2 * (store_bytes / LEAST_CHUNK_BYTES) }
    }

    /// Enters the chunks of a stored packet with these anchors. Of equal ones the newest is named.
    pub fn enter(&mut self, stored: &Stored<'_>, anchors: &[Anchor], store: &PacketStore) {
        for Chunk { range, hash } in cut(stored.packet, stored.payload.clone(), anchors) {
            if self.places.len() >= self.most && !self.places.contains_key(&hash) {
                self.places.retain(|_, place| store.holds(place.sequence));
            }
            let place = Place { sequence: stored.sequence, offset: range.start };
            let known = self.places.entry(hash).or_insert(place);
            if known.sequence <= place.sequence {
                *known = place;
            }
        }
    }

    /// The place of a chunk in the store.
    pub fn place(&self, hash: &Hash) -> Option<Place> {
        self.places.get(hash).copied()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.places.clear();
    }
}
