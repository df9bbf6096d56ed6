//! Chunk-match: a whole chunk is replaced by its SHA-1.

use super::chunks::{self, Chunk, Chunks};
use crate::shim::hashed::{self, Field, Hashed};
use re::anchors::{Anchor, AnchorFinder};
use re::form::{EncoderParameters, Match, Reader, Search, Writer, copy_region, take_literals};
use re::index::Place;
use re::store::{PacketStore, Stored, receiver_bytes};
use re::{Miss, Parameters};

/// The encoder's part.
#[derive(Debug)]
pub(super) struct ChunkWriter {
    chunks: Chunks,
    fields: Vec<Field>,
}

impl ChunkWriter {
    /// The writer of an encoder with these parameters.
    pub(super) fn new(parameters: &Parameters) -> Self {
        ChunkWriter { chunks: Chunks::new(parameters.store_bytes), fields: Vec::new() }
    }
}

impl Writer for ChunkWriter {
    fn has_index(&self) -> bool {
        true
    }

    /// Finds whole chunks only, without neighbouring bytes.
    fn search(&mut self, search: &Search<'_>, matches: &mut Vec<Match>) {
        self.fields.clear();
        for chunk in chunks::cut(search.packet, search.payload.clone(), search.anchors) {
            let place = self.chunks.place(&chunk.hash);
            let Some(found) = place.and_then(|place| chunk_at(search, &chunk, place)) else { continue };
            let end_of_last = matches.last().map_or(0, Match::end);
            let literal_bytes = (found.start - end_of_last) as u32;
            self.fields.push(Field { literal_bytes, length: found.length as u32, hash: chunk.hash });
            matches.push(found);
        }
    }

    fn emit(&mut self, _: &[Match], out: &mut Vec<u8>) {
        hashed::emit(&self.fields, out);
    }

    fn enter(&mut self, stored: &Stored<'_>, anchors: &[Anchor], store: &PacketStore) {
        self.chunks.enter(stored, anchors, store);
    }

    fn clear(&mut self) {
        self.chunks.clear();
    }
}

/// The chunk in a stored packet, if the policy allows a reference to it.
fn chunk_at(search: &Search<'_>, chunk: &Chunk, place: Place) -> Option<Match> {
    let stored = search.store.get(place.sequence).filter(|stored| stored.sequence < search.sequence)?;
    let theirs = stored.packet.get(place.offset..)?.get(..chunk.range.len())?;
    if theirs != &search.packet[chunk.range.clone()] || !search.policy.may_refer(&stored) {
        return None;
    }
    Some(Match {
        fingerprint: 0,
        start: chunk.range.start,
        length: chunk.range.len(),
        stored_sequence: place.sequence,
        stored_start: place.offset,
        ends_stored: place.offset + chunk.range.len() == stored.payload.end,
    })
}

/// The decoder's part: places of stored chunks.
#[derive(Debug)]
pub(super) struct ChunkReader {
    finder: AnchorFinder,
    chunks: Chunks,
    anchors: Vec<Anchor>,
}

impl ChunkReader {
    /// A reader without packets.
    pub(super) fn new(encoder: &EncoderParameters) -> Self {
        ChunkReader {
            finder: AnchorFinder::rabin(encoder.window_bytes, encoder.sample_bits),
            chunks: Chunks::new(receiver_bytes(encoder.store_bytes)),
            anchors: Vec::new(),
        }
    }
}

impl Reader for ChunkReader {
    fn restore(&mut self, shim: &[u8], store: &PacketStore, out: &mut Vec<u8>) -> Result<(), Miss> {
        let shim = Hashed::parse(shim)?;
        let mut literals = shim.literals;
        out.reserve(shim.restored_bytes);
        for field in shim.fields() {
            out.extend_from_slice(take_literals(&mut literals, field.literal_bytes as usize));
            let start = out.len();
            let place = self.chunks.place(&field.hash).ok_or(Miss::Unnamed)?;
            let packet = store.packet(place.sequence).ok_or(Miss::Unnamed)?;
            copy_region(packet, place.offset, field.length as usize, out)?;
            if chunks::hash(&out[start..]) != field.hash {
                return Err(Miss::Unnamed);
            }
        }
        out.extend_from_slice(literals);
        Ok(())
    }

    fn enter(&mut self, sequence: u64, store: &PacketStore) {
        let Some(stored) = store.get(sequence) else { return };
        self.finder.find(stored.packet, stored.payload.clone(), &mut self.anchors);
        self.chunks.enter(&stored, &self.anchors, store);
    }
}
