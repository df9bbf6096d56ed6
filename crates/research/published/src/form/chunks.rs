//! Chunk-match: what repeats is found in whole chunks, which their SHA-1 names (REboost, section II-A, after
//! EndRE, NSDI 2010).
//!
//! A payload is cut where anchors stand, which is MODP: a boundary is a window whose fingerprint is divisible
//! by a power of two. Both ends keep of each chunk in their stores where it stands. The sender's names only
//! chunks that it may refer to; the receiver's, which has all, looks for the hash and nothing else. For
//! experiments: it finds less than matches of any length do, and says it in more bytes.

use crate::shim::hashed::Hash;
use foldhash::fast::FixedState;
use re::anchors::Anchor;
use re::index::Place;
use re::store::{PacketStore, Stored};
use sha1::{Digest, Sha1};
use std::collections::HashMap;
use std::ops::Range;

/// The shortest chunk: what is nearer to the last boundary than this is none.
const LEAST_CHUNK_BYTES: usize = 32;

/// Chunks that stand in a store, by hash.
#[derive(Debug)]
pub(crate) struct Chunks {
    places: HashMap<Hash, Place, FixedState>,
    most: usize,
}

/// One chunk of a packet.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    /// Where it stands in the packet.
    pub range: Range<usize>,
    pub hash: Hash,
}

/// The chunks of a packet's payload, front to back; not what is shorter at its end.
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
    /// None yet, of a store of so many bytes: at most twice as many as can stand there.
    pub fn new(store_bytes: usize) -> Self {
        Chunks { places: HashMap::default(), most: 2 * (store_bytes / LEAST_CHUNK_BYTES) }
    }

    /// Enters the chunks of a packet in the store, which has these anchors. Of equal ones the newest is
    /// named.
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

    /// Where a chunk stands in the store.
    pub fn place(&self, hash: &Hash) -> Option<Place> {
        self.places.get(hash).copied()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.places.clear();
    }
}
