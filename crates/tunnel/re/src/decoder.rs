//! The decoder of one direction.

use crate::anchors::{Anchor, AnchorFinder};
use crate::chunks::{self, Chunks};
use crate::eligible_payload;
use crate::index::Index;
use crate::miss::{AbsentSequences, Miss};
use crate::parameters::Form;
use crate::store::{PacketStore, Stored, receiver_bytes};
use wire::inner::Inner;
use wire::shim::compact::Compact;
use wire::shim::hashed::Hashed;
use wire::shim::paper::Paper;

/// Restores the packets of one direction.
#[derive(Debug)]
pub struct Decoder {
    window_bytes: usize,
    sample_bits: u32,
    store_bytes: usize,
    store: PacketStore,
    /// Made when the first packet in the paper's form arrives.
    fingerprints: Option<Fingerprints>,
    /// Made when the first packet in the hashed form arrives.
    hashes: Option<Hashes>,
}

/// What the paper's form needs: which stored packet had a fingerprint last.
#[derive(Debug)]
struct Fingerprints {
    finder: AnchorFinder,
    index: Index,
    anchors: Vec<Anchor>,
}

impl Decoder {
    /// A decoder that holds nothing yet, for a peer whose encoder has this window and sampling, storing as
    /// many bytes as was agreed.
    #[must_use]
    pub fn new(peer_window_bytes: usize, peer_sample_bits: u32, store_bytes: usize) -> Self {
        Decoder {
            window_bytes: peer_window_bytes,
            sample_bits: peer_sample_bits,
            store_bytes,
            store: PacketStore::new(receiver_bytes(store_bytes)),
            fingerprints: None,
            hashes: None,
        }
    }

    /// Appends the restored packet to `out`; on a miss leaves `out` as it was.
    ///
    /// What is restored is not proved to be what was sent: compare its MAC.
    pub fn restore(&mut self, sequence: u64, form: Form, shim: &[u8], out: &mut Vec<u8>) -> Result<(), Miss> {
        let start = out.len();
        let restored = match form {
            Form::Compact => self.restore_compact(sequence, shim, out),
            Form::Paper => self.restore_paper(shim, out),
            Form::Hashed => self.restore_hashed(shim, out),
        };
        if restored.is_err() {
            out.truncate(start);
        }
        restored
    }

    fn restore_compact(&self, sequence: u64, shim: &[u8], out: &mut Vec<u8>) -> Result<(), Miss> {
        let shim = Compact::parse(shim)?;
        let mut absent = AbsentSequences::default();
        let mut literals = shim.literals;
        out.reserve(shim.restored_bytes);
        for region in shim.regions() {
            let literal_bytes = take_literals(&mut literals, region.literal_bytes as usize);
            out.extend_from_slice(literal_bytes);
            let Some(stored_sequence) = sequence.checked_sub(u64::from(region.distance)) else {
                return Err(Miss::OutOfRange);
            };
            match self.store.get(stored_sequence) {
                Some(stored) => copy_region(&stored, region.offset as usize, region.length as usize, out)?,
                None => absent.add(stored_sequence),
            }
        }
        if !absent.as_slice().is_empty() {
            return Err(Miss::Absent { sequences: absent });
        }
        out.extend_from_slice(literals);
        Ok(())
    }

    fn restore_paper(&mut self, shim: &[u8], out: &mut Vec<u8>) -> Result<(), Miss> {
        let shim = Paper::parse(shim)?;
        let mut literals = shim.literals;
        let start = out.len();
        let fingerprints = self.fingerprints.get_or_insert_with(|| {
            Fingerprints::of(&self.store, self.window_bytes, self.sample_bits, self.store_bytes)
        });
        out.reserve(shim.restored_bytes);
        for field in shim.fields() {
            let done = out.len() - start;
            let literal_bytes = usize::from(field.offset_in_new).saturating_sub(done);
            out.extend_from_slice(take_literals(&mut literals, literal_bytes));
            let unknown = Miss::UnknownFingerprint { fingerprint: field.fingerprint };
            let stored = fingerprints.find(field.fingerprint, &self.store).ok_or(unknown)?;
            copy_region(&stored, usize::from(field.offset_in_stored), usize::from(field.length), out)?;
        }
        out.extend_from_slice(literals);
        Ok(())
    }

    fn restore_hashed(&mut self, shim: &[u8], out: &mut Vec<u8>) -> Result<(), Miss> {
        let shim = Hashed::parse(shim)?;
        let mut literals = shim.literals;
        let hashes = self.hashes.get_or_insert_with(|| {
            Hashes::of(&self.store, self.window_bytes, self.sample_bits, self.store_bytes)
        });
        out.reserve(shim.restored_bytes);
        for field in shim.fields() {
            out.extend_from_slice(take_literals(&mut literals, field.literal_bytes as usize));
            let start = out.len();
            let place = hashes.chunks.place(&field.hash).ok_or(Miss::UnknownChunk)?;
            let stored = self.store.get(place.sequence).ok_or(Miss::UnknownChunk)?;
            copy_region(&stored, place.offset, field.length as usize, out)?;
            if chunks::hash(&out[start..]) != field.hash {
                return Err(Miss::UnknownChunk);
            }
        }
        out.extend_from_slice(literals);
        Ok(())
    }

    /// Keeps a packet that is proved to be what was sent, by its MAC or by the seal it came in.
    pub fn store(&mut self, sequence: u64, packet: &[u8], inner: &Inner) {
        let Some(payload) = eligible_payload(packet, inner, self.window_bytes) else { return };
        if !self.store.insert(sequence, packet, payload) {
            return;
        }
        if let Some(fingerprints) = &mut self.fingerprints {
            fingerprints.enter(sequence, &self.store);
        }
        if let Some(hashes) = &mut self.hashes {
            hashes.enter(sequence, &self.store);
        }
    }

    /// Whether the packet with this link sequence is in the store.
    #[must_use]
    pub fn holds(&self, sequence: u64) -> bool {
        self.store.holds(sequence)
    }

    /// Forgets every packet.
    pub fn clear(&mut self) {
        self.store.clear();
        self.fingerprints = None;
        self.hashes = None;
    }
}

/// What the hashed form needs: where a stored chunk stands.
#[derive(Debug)]
struct Hashes {
    finder: AnchorFinder,
    chunks: Chunks,
    anchors: Vec<Anchor>,
}

/// Takes literals off the front. The shim's parser has made sure that there are enough.
fn take_literals<'a>(literals: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = literals.split_at(count.min(literals.len()));
    *literals = rest;
    taken
}

fn copy_region(stored: &Stored<'_>, offset: usize, length: usize, out: &mut Vec<u8>) -> Result<(), Miss> {
    let end = offset.checked_add(length).ok_or(Miss::OutOfRange)?;
    out.extend_from_slice(stored.packet.get(offset..end).ok_or(Miss::OutOfRange)?);
    Ok(())
}

impl Fingerprints {
    /// Those of all packets in the store, entered in their order of arrival.
    fn of(store: &PacketStore, window_bytes: usize, sample_bits: u32, store_bytes: usize) -> Self {
        let mut fingerprints = Fingerprints {
            finder: AnchorFinder::rabin(window_bytes, sample_bits),
            index: Index::new(store_bytes, sample_bits),
            anchors: Vec::new(),
        };
        for sequence in store.sequences_by_arrival() {
            fingerprints.enter(sequence, store);
        }
        fingerprints
    }

    fn enter(&mut self, sequence: u64, store: &PacketStore) {
        let Some(stored) = store.get(sequence) else { return };
        self.finder.find(stored.packet, stored.payload, &mut self.anchors);
        for anchor in &self.anchors {
            self.index.insert(self.index.key(anchor.fingerprint, anchor.offset), sequence);
        }
    }

    fn find<'a>(&self, fingerprint: u64, store: &'a PacketStore) -> Option<Stored<'a>> {
        let place = self.index.entry(fingerprint).place(store.newest())?;
        let stored = store.get(place.sequence)?;
        let window = stored.packet.get(place.offset..place.offset + self.finder.window_bytes())?;
        (self.finder.fingerprint(window) == fingerprint).then_some(stored)
    }
}

impl Hashes {
    /// Those of all packets in the store.
    fn of(store: &PacketStore, window_bytes: usize, sample_bits: u32, store_bytes: usize) -> Self {
        let mut hashes = Hashes {
            finder: AnchorFinder::rabin(window_bytes, sample_bits),
            chunks: Chunks::new(receiver_bytes(store_bytes)),
            anchors: Vec::new(),
        };
        for sequence in store.sequences_by_arrival() {
            hashes.enter(sequence, store);
        }
        hashes
    }

    fn enter(&mut self, sequence: u64, store: &PacketStore) {
        let Some(stored) = store.get(sequence) else { return };
        self.finder.find(stored.packet, stored.payload.clone(), &mut self.anchors);
        self.chunks.enter(&stored, &self.anchors, store);
    }
}
