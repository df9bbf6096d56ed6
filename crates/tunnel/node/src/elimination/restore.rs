//! Restore: puts back what the sender of a packet left out, and proves it.

use crate::elimination::compress::{Decompress, DecompressError, Decompressed};
use crate::elimination::reduce::Shape;
use re::mac::PacketMac;
use re::{AbsentSequences, Decoder, Form, Miss, Parameters};
use streams::Tally;
use wire::frame::{PACKET_MAC_BYTES, Reduced};
use wire::inner::Inner;

/// The receiving side: the store and its generation.
pub struct Restore {
    decoder: Option<Decoder>,
    decompress: Decompress,
    generation: u8,
    /// The form that this node writes, and reads beside the compact one.
    form: Form,
    /// Whether the peer writes a form that does not name packets, and so may mean any.
    is_injected: bool,
    /// Packets are stored: the peer refers to some.
    stores: bool,
    tally: Tally,
}

/// Why a packet could not be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRestored {
    /// The shim is not of the form, or this node stores nothing.
    Malformed,
    /// It speaks of a store that is gone.
    OtherGeneration,
    /// It refers to packets that are not held; those that can be named.
    Absent(AbsentSequences),
    /// The restored bytes differ from the sent ones.
    WrongBytes,
}

impl NotRestored {
    /// The packets that are needed, as far as they can be named.
    #[must_use]
    pub fn absent(&self) -> AbsentSequences {
        match self {
            NotRestored::Absent(sequences) => *sequences,
            _ => AbsentSequences::default(),
        }
    }
}

impl From<Miss> for NotRestored {
    fn from(miss: Miss) -> Self {
        match miss {
            Miss::Malformed(_) => NotRestored::Malformed,
            Miss::Absent { sequences } => NotRestored::Absent(sequences),
            Miss::Unnamed => NotRestored::Absent(AbsentSequences::default()),
            Miss::OutOfRange => NotRestored::WrongBytes,
        }
    }
}

impl From<DecompressError> for NotRestored {
    fn from(why: DecompressError) -> Self {
        match why {
            DecompressError::Malformed => NotRestored::Malformed,
            DecompressError::OtherGeneration => NotRestored::OtherGeneration,
            DecompressError::UnknownHeader(sequence) => {
                let mut absent = AbsentSequences::default();
                absent.add(sequence);
                NotRestored::Absent(absent)
            }
        }
    }
}

impl Restore {
    /// For a peer whose encoder announces these parameters, which may have any values. `lasts`: both ends'
    /// stores are lasting ones. Reads packets in the compact form and in `form`.
    #[must_use]
    pub fn new(window_bytes: usize, sample_bits: u32, store_bytes: usize, lasts: bool, form: Form) -> Self {
        let announced = Parameters { window_bytes, sample_bits, store_bytes, ..Parameters::default() };
        let is_sane = announced.validate().is_ok();
        let decoder = is_sane.then(|| {
            let decoder = Decoder::new(window_bytes, sample_bits, store_bytes);
            if lasts { decoder.with_lasting_store() } else { decoder }
        });
        let (decompress, tally) = (Decompress::new(), Tally::default());
        Restore { decoder, decompress, generation: 0, form, is_injected: false, stores: true, tally }
    }

    /// Sets another bound of the peer's store, in bytes, which this one follows. 0: nothing is stored.
    pub fn set_store_bytes(&mut self, bytes: usize) {
        let Some(decoder) = &mut self.decoder else { return };
        if bytes == 0 && self.stores {
            decoder.clear();
        }
        self.stores = bytes > 0;
        decoder.set_store_bytes(bytes);
    }

    /// Whether there is a store.
    #[must_use]
    pub fn has_store(&self) -> bool {
        self.decoder.is_some()
    }

    /// Bytes of memory of the store now.
    #[must_use]
    pub fn store_memory_bytes(&self) -> usize {
        self.decoder.as_ref().filter(|_| self.stores).map_or(0, Decoder::memory_bytes)
    }

    /// Bytes of memory beside the store now.
    #[must_use]
    pub fn other_memory_bytes(&self) -> usize {
        self.decompress.memory_bytes()
    }

    /// What went by the store, and what that saved.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The generation of the store.
    #[must_use]
    pub fn generation(&self) -> u8 {
        self.generation
    }

    /// The first sequence that may refer to `sequence`: where shims name packets, only later ones do.
    #[must_use]
    pub fn dependents_from(&self, sequence: u64) -> u64 {
        if self.is_injected { 0 } else { sequence + 1 }
    }

    /// Loses the store; the next generation begins.
    pub fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if let Some(decoder) = &mut self.decoder {
            decoder.clear();
        }
        self.decompress.forget();
    }

    /// Appends the restored packet to `out`, whose MAC has then been verified. On an error `out` is as it
    /// was.
    pub fn restore(
        &mut self,
        sequence: u64,
        shape: Shape,
        body: &[u8],
        mac: &PacketMac,
        out: &mut Vec<u8>,
    ) -> Result<(), NotRestored> {
        let start = out.len();
        let restored = self.append(sequence, shape, body, out).and_then(|proof| {
            // without one, every byte stood inside the seal, or in a header that both ends know as equal
            let is_right = proof.is_none_or(|proof| mac.verifies(sequence, &out[start..], proof));
            is_right.then_some(proof.is_some()).ok_or(NotRestored::WrongBytes)
        });
        match restored {
            Ok(is_reduced) => {
                self.tally.saved_bytes += saved_bytes(is_reduced, out.len() - start, body.len());
                Ok(())
            }
            Err(why) => {
                out.truncate(start);
                Err(why)
            }
        }
    }

    /// Appends the packet, and returns the MAC that it must have if bytes came from the store. An error may
    /// leave a part in `out`.
    fn append(
        &mut self,
        sequence: u64,
        shape: Shape,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<[u8; PACKET_MAC_BYTES]>, NotRestored> {
        let form = match shape {
            Shape::Short => return self.append_short(sequence, body, out),
            Shape::Reduced => Form::Compact,
            Shape::Injected(frame_type) if frame_type == self.form.frame_type() => self.form,
            Shape::Injected(_) => return Err(NotRestored::Malformed),
        };
        self.is_injected |= form != Form::Compact;
        let reduced = Reduced::parse(body).map_err(|_| NotRestored::Malformed)?;
        let decoder = self.decoder.as_mut().ok_or(NotRestored::Malformed)?;
        if reduced.generation != self.generation {
            return Err(NotRestored::OtherGeneration);
        }
        decoder.restore(sequence, form, reduced.shim, out)?;
        Ok(Some(reduced.mac))
    }

    fn append_short(
        &mut self,
        sequence: u64,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<[u8; PACKET_MAC_BYTES]>, NotRestored> {
        let start = out.len();
        let Decompressed { reduced, unfinished } =
            self.decompress.read(sequence, self.generation, body, out)?;
        if let Some((_, shim)) = reduced {
            let decoder = self.decoder.as_mut().ok_or(NotRestored::Malformed)?;
            decoder.restore(sequence, Form::Compact, shim, out)?;
        }
        if let Some(header) = unfinished {
            header.finish(&mut out[start..]).map_err(|_| NotRestored::WrongBytes)?;
        }
        Ok(reduced.map(|(mac, _)| mac))
    }

    /// Stores a packet whose bytes are proven.
    pub fn store(&mut self, sequence: u64, packet: &[u8], inner: &Inner) {
        if let Some(decoder) = &mut self.decoder {
            if self.stores {
                decoder.store(sequence, packet, inner);
            }
            self.tally.stored_bytes += packet.len() as u64;
        }
        self.decompress.hold(sequence, packet);
    }
}

/// What a store saved of a packet that came as so many bytes of a frame.
fn saved_bytes(is_reduced: bool, packet_bytes: usize, body_bytes: usize) -> u64 {
    if is_reduced { packet_bytes.saturating_sub(body_bytes) as u64 } else { 0 }
}
