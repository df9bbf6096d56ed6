//! The decoder of one direction.

use crate::eligible_payload;
use crate::form::{EncoderParameters, InjectedForm, Reader, copy_region, take_literals};
use crate::miss::{AbsentSequences, Miss};
use crate::parameters::Form;
use crate::store::{PacketStore, receiver_bytes};
use wire::inner::Inner;
use wire::shim::compact::Compact;

/// What small stores take beyond their share, in bytes.
const SMALL_BYTES: usize = 96 << 10;

/// Restores the packets of one direction.
#[derive(Debug)]
pub struct Decoder {
    encoder: EncoderParameters,
    store: PacketStore,
    /// One reader for each form of another crate, made when the first packet in that form arrives.
    readers: Vec<(InjectedForm, Box<dyn Reader>)>,
}

impl Decoder {
    /// An empty decoder for a peer whose encoder has this window and sampling. `store_bytes` is the agreed
    /// size of the store.
    #[must_use]
    pub fn new(peer_window_bytes: usize, peer_sample_bits: u32, store_bytes: usize) -> Self {
        Decoder {
            encoder: EncoderParameters {
                window_bytes: peer_window_bytes,
                sample_bits: peer_sample_bits,
                store_bytes,
            },
            store: PacketStore::new(receiver_bytes(store_bytes)),
            readers: Vec::new(),
        }
    }

    /// Makes the store a lasting one ([`crate::store`]). The encoder's must be one, too.
    #[must_use]
    pub fn with_lasting_store(mut self) -> Self {
        self.store = PacketStore::lasting(receiver_bytes(self.encoder.store_bytes));
        self
    }

    /// Changes the agreed size of the store. Where it is smaller, packets leave.
    pub fn set_store_bytes(&mut self, store_bytes: usize) {
        if store_bytes == self.encoder.store_bytes {
            return;
        }
        self.encoder.store_bytes = store_bytes;
        self.store.set_bound(receiver_bytes(store_bytes));
    }

    /// The most memory of a decoder whose encoder keeps `store_bytes`, in bytes.
    #[must_use]
    pub fn most_memory_bytes(store_bytes: usize) -> usize {
        let kept_bytes = receiver_bytes(store_bytes);
        kept_bytes.saturating_add(kept_bytes / 100 * 4).saturating_add(kept_bytes.min(SMALL_BYTES))
    }

    /// Bytes of memory of the store.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.store.memory_bytes()
    }

    /// Appends the restored packet to `out`. After a miss, `out` is unchanged.
    ///
    /// The caller must compare the MAC: this function does not prove that the restored packet is the
    /// original.
    pub fn restore(&mut self, sequence: u64, form: Form, shim: &[u8], out: &mut Vec<u8>) -> Result<(), Miss> {
        let start = out.len();
        let restored = match form {
            Form::Compact => self.restore_compact(sequence, shim, out),
            Form::Injected(form) => self.restore_injected(form, shim, out),
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
            match self.store.packet(stored_sequence) {
                Some(packet) => copy_region(packet, region.offset as usize, region.length as usize, out)?,
                None => absent.add(stored_sequence),
            }
        }
        if !absent.as_slice().is_empty() {
            return Err(Miss::Absent { sequences: absent });
        }
        out.extend_from_slice(literals);
        Ok(())
    }

    fn restore_injected(&mut self, form: InjectedForm, shim: &[u8], out: &mut Vec<u8>) -> Result<(), Miss> {
        let Decoder { encoder, store, readers } = self;
        let known = readers.iter().position(|(known, _)| *known == form).unwrap_or_else(|| {
            let mut reader = (form.reader)(encoder);
            store.sequences().for_each(|sequence| reader.enter(sequence, store));
            readers.push((form, reader));
            readers.len() - 1
        });
        readers[known].1.restore(shim, store, out)
    }

    /// Stores a packet that is proved to be the original, by its MAC or by the seal of its unit.
    pub fn store(&mut self, sequence: u64, packet: &[u8], inner: &Inner) {
        let Some(payload) = eligible_payload(packet, inner, self.encoder.window_bytes) else { return };
        if !self.store.insert(sequence, packet, payload) {
            return;
        }
        for (_, reader) in &mut self.readers {
            reader.enter(sequence, &self.store);
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
        self.readers.clear();
    }
}
