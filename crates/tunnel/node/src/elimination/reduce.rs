//! Reduce and restore: the stage that leaves out what the receiver already has, and puts it back.
//!
//! A reduced packet carries the generation of the store that it speaks of and a MAC over its original bytes.
//! A packet that does not restore to exactly these bytes is a miss, for any reason: another generation, a
//! packet that never arrived, a store with other contents.

use crate::elimination::compress::{Compress, Reduction, Shortening};
use re::mac::PacketMac;
use re::{Encoded, Encoder, Form, Parameters, Policy};
use streams::Tally;
use wire::frame::{FrameType, PACKET_MAC_BYTES, Reduced, emit_last};
use wire::inner::Inner;
use wire::shim::compact::Compact;

/// The sending side: the encoder and what is known of the receiver's store.
pub struct Reduce {
    /// `None` if the stage is off.
    parameters: Option<Parameters>,
    /// Made with the first packet.
    encoder: Option<Encoder>,
    /// Whether both ends' stores are lasting ones.
    lasts: bool,
    form: Form,
    generation: u8,
    /// Whether the peer reads packets that neither end stores.
    may_pass: bool,
    /// Packets pass by this stage.
    passes: bool,
    compress: Option<Compress>,
    /// The reduced frame, before it is made shorter.
    frame: Vec<u8>,
    tally: Tally,
}

/// The shape of a packet on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Reduced, in the compact form.
    Reduced,
    /// Reduced, in another crate's form, whose frames are of this type.
    Injected(FrameType),
    /// Shortened, reduced or not.
    Short,
}

impl Shape {
    /// The shape of the packet in a frame of this type; `None` for an unreduced packet, and for other frames.
    #[must_use]
    pub fn of(frame_type: FrameType) -> Option<Self> {
        match frame_type {
            FrameType::ReducedCompact | FrameType::AgainReduced | FrameType::StoreReduced => {
                Some(Shape::Reduced)
            }
            FrameType::ReducedPaper | FrameType::ReducedHashed => Some(Shape::Injected(frame_type)),
            FrameType::Short | FrameType::AgainShort | FrameType::StoreShort => Some(Shape::Short),
            _ => None,
        }
    }
}

/// Fate of one packet on the way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Type of its frame.
    pub frame_type: FrameType,
    /// Whether it left reduced.
    pub reduced: bool,
    /// Bytes that shortening saved beyond that.
    pub shortened_bytes: usize,
    /// Bytes of the packet as it was.
    pub packet_bytes: usize,
    /// Bytes of the frame it became.
    pub frame_bytes: usize,
    /// Bytes at the end of the frame that are the packet's payload, as far as it was not removed.
    pub payload_bytes: usize,
    /// Bytes of chunks that were removed from those.
    pub chunk_bytes: usize,
}

impl Reduce {
    /// For a peer that stores `store_bytes`; too few of them switch the stage off. `lasts`: both ends' stores
    /// are lasting ones.
    #[must_use]
    pub fn new(parameters: &Parameters, store_bytes: usize, lasts: bool, shortening: Shortening) -> Self {
        let parameters = Parameters { store_bytes, ..*parameters };
        let on = parameters.validate().is_ok() && parameters.policy != Policy::Off;
        let shortens = (shortening.headers || shortening.literals) && parameters.form == Form::Compact;
        Reduce {
            parameters: on.then_some(parameters),
            encoder: None,
            lasts,
            form: parameters.form,
            generation: 0,
            may_pass: false,
            passes: false,
            compress: shortens.then(|| Compress::new(shortening)),
            frame: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Lets packets pass by the stage, for a peer that reads such.
    #[must_use]
    pub fn with_passing(self) -> Self {
        let may_pass = self.form == Form::Compact && (self.parameters.is_some() || self.compress.is_some());
        Reduce { may_pass, ..self }
    }

    /// Sets another bound of the store, in bytes. If it is smaller, the oldest packets leave.
    pub fn set_store_bytes(&mut self, bytes: usize) {
        let Some(parameters) = &mut self.parameters else { return };
        parameters.store_bytes = bytes;
        match &mut self.encoder {
            // a later one begins with nothing, as after a loss of memory
            encoder if bytes == 0 => *encoder = None,
            Some(encoder) => encoder.set_store_bytes(bytes),
            None => {}
        }
    }

    /// Whether there is a store, or one with the first packet.
    #[must_use]
    pub fn has_store(&self) -> bool {
        self.parameters.is_some()
    }

    /// Bytes of memory of the store now.
    #[must_use]
    pub fn store_memory_bytes(&self) -> usize {
        self.encoder.as_ref().map_or(0, Encoder::memory_bytes)
    }

    /// Bytes of memory beside the store now.
    #[must_use]
    pub fn other_memory_bytes(&self) -> usize {
        self.compress.as_ref().map_or(0, Compress::memory_bytes) + self.frame.capacity()
    }

    /// What went by the store, and what that saved.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Bytes that repeated what had left the store, by an estimate, since the store was made.
    #[must_use]
    pub fn departed_bytes(&self) -> u64 {
        self.encoder.as_ref().map_or(0, |encoder| encoder.statistics().departed_bytes)
    }

    /// Appends `packet` as the last frame of a unit, as it is. Neither end stores it.
    fn pass(packet: &[u8], inner: &Inner, out: &mut Vec<u8>) -> Written {
        let frame_type = FrameType::Unstored;
        emit_last(frame_type, out);
        out.extend_from_slice(packet);
        Written {
            frame_type,
            reduced: false,
            shortened_bytes: 0,
            packet_bytes: packet.len(),
            frame_bytes: 1 + packet.len(),
            payload_bytes: inner.payload_bytes(),
            chunk_bytes: 0,
        }
    }

    /// Appends `packet` as the last frame of a unit, reduced where that pays.
    pub fn write(
        &mut self,
        sequence: u64,
        packet: &[u8],
        inner: &Inner,
        mac: &PacketMac,
        out: &mut Vec<u8>,
    ) -> Written {
        if self.passes {
            return Reduce::pass(packet, inner, out);
        }
        let start = out.len();
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let removed_bytes = self.write_reduced(sequence, packet, inner, mac, &mut frame);
        let (mut frame_type, body) = match removed_bytes {
            Some(_) => (self.form.frame_type(), &frame[1..]),
            None => (FrameType::Packet, packet),
        };
        let reduced = removed_bytes.is_some();
        emit_last(FrameType::Short, out);
        if self.compress(sequence, packet, inner, (reduced, body), out) {
            frame_type = FrameType::Short;
        } else {
            out.truncate(start);
            emit_last(frame_type, out);
            out.extend_from_slice(body);
        }
        let frame_bytes = out.len() - start;
        if self.parameters.is_some() {
            self.tally.stored_bytes += packet.len() as u64;
            self.tally.saved_bytes += removed_bytes.unwrap_or(0) as u64;
        }
        let written = Written {
            frame_type,
            reduced,
            shortened_bytes: 1 + body.len() - frame_bytes,
            packet_bytes: packet.len(),
            frame_bytes,
            payload_bytes: inner.payload_bytes().saturating_sub(removed_bytes.unwrap_or(0)),
            chunk_bytes: 0,
        };
        self.frame = frame;
        written
    }

    /// Appends the body of a frame in the compact form, or of a packet, in a shorter form, if there is one.
    fn compress(
        &mut self,
        sequence: u64,
        packet: &[u8],
        inner: &Inner,
        (reduced, body): (bool, &[u8]),
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(compress) = &mut self.compress else { return false };
        let reduction = if reduced {
            let Ok(Reduced { mac, shim, .. }) = Reduced::parse(body) else { return false };
            let mut literals = shim;
            let Ok(regions) = Compact::take_regions(&mut literals) else { return false };
            Reduction { mac: Some(mac), regions, literals }
        } else {
            Reduction { mac: None, regions: &[], literals: body }
        };
        compress.write(sequence, packet, &inner.flow, self.generation, &reduction, out)
    }

    /// The packet as a reduced frame: how many bytes were removed; `None`: it does not pay.
    fn write_reduced(
        &mut self,
        sequence: u64,
        packet: &[u8],
        inner: &Inner,
        mac: &PacketMac,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            None if self.parameters.as_ref().is_none_or(|it| it.store_bytes == 0) => return None,
            // its secret follows from the pair's key, which comes with the first packet
            None => {
                let secret = u64::from_le_bytes(mac.of(u64::MAX, b"what encoders look for"));
                let encoder = Encoder::new(self.parameters.as_ref()?).with_secret(secret);
                self.encoder.insert(if self.lasts { encoder.with_lasting_store() } else { encoder })
            }
        };
        emit_last(self.form.frame_type(), out);
        let front = out.len();
        Reduced { generation: self.generation, mac: [0; PACKET_MAC_BYTES], shim: &[] }.emit(out);
        match encoder.encode(sequence, packet, inner, out) {
            Encoded::Plain => None,
            Encoded::Reduced { removed_bytes, .. } => {
                out[front + 1..front + 1 + PACKET_MAC_BYTES].copy_from_slice(&mac.of(sequence, packet));
                Some(removed_bytes)
            }
        }
    }

    /// Says whether what is lost from now on is sent again.
    pub fn set_losses_repaired(&mut self, repaired: bool) {
        if let Some(encoder) = &mut self.encoder {
            encoder.set_losses_repaired(repaired);
        }
    }

    /// Says whether packets wait for the processor and not for the link. Fewer bytes on the link then speed
    /// up nothing: packets pass by where the peer reads such, and few are searched elsewhere.
    pub fn set_processor_short(&mut self, is_short: bool) {
        self.passes = is_short && self.may_pass;
        if let Some(encoder) = &mut self.encoder {
            encoder.set_processor_short(is_short);
        }
        if let Some(compress) = &mut self.compress {
            compress.set_processor_short(is_short);
        }
    }

    /// The receiver holds `sequence`.
    pub fn confirm(&mut self, sequence: u64) {
        if let Some(encoder) = &mut self.encoder {
            encoder.confirm(sequence);
        }
        if let Some(compress) = &mut self.compress {
            compress.confirm(sequence);
        }
    }

    /// The receiver does not have `sequence`.
    pub fn report_lost(&mut self, sequence: u64) {
        if let Some(encoder) = &mut self.encoder {
            encoder.report_lost(sequence);
        }
    }

    /// The receiver says which generation its store is. `false`: the receipt speaks of an older store.
    pub fn adopt_generation(&mut self, generation: u8) -> bool {
        // serial numbers (RFC 1982): newer if less than half the circle ahead
        let ahead = generation.wrapping_sub(self.generation);
        if ahead == 0 {
            return true;
        }
        if ahead >= 128 {
            return false;
        }
        self.generation = generation;
        self.forget();
        true
    }

    /// This node lost its own memory of what it sent.
    pub fn forget(&mut self) {
        if let Some(encoder) = &mut self.encoder {
            encoder.clear();
        }
        if let Some(compress) = &mut self.compress {
            compress.forget();
        }
    }

    /// Whether every packet is remembered until so many bytes were sent after it.
    #[must_use]
    pub fn remembers(&self, bytes: usize) -> bool {
        self.encoder.as_ref().is_some_and(|encoder| encoder.recent_bytes() >= bytes)
    }

    /// A packet as it was sent, while it is remembered.
    #[must_use]
    pub fn original(&self, sequence: u64) -> Option<&[u8]> {
        self.encoder.as_ref()?.original(sequence)
    }

    /// The sequences that the packet written last refers to.
    #[must_use]
    pub fn references(&self) -> &[u64] {
        self.encoder.as_ref().map_or(&[], Encoder::references)
    }
}
