//! Forms of references from other crates: the shim's contents, and the look-up in the receiver's store.
//!
//! This crate's form, [`wire::shim::compact`], names stored packets by link sequence. Another crate's form
//! has a [`Writer`] in the encoder and a [`Reader`] in the decoder. It finds anchors by Rabin fingerprints,
//! which may travel.

pub use crate::encoder::{Match, Search};

use crate::anchors::Anchor;
use crate::miss::Miss;
use crate::parameters::Parameters;
use crate::store::{PacketStore, Stored};
use std::fmt;
use std::hash::{Hash, Hasher};
use wire::frame::FrameType;

/// A form from another crate. Two forms are equal if their names are.
#[derive(Clone, Copy)]
pub struct InjectedForm {
    /// Its name.
    pub name: &'static str,
    /// Type of the frames that carry packets of this form.
    pub frame_type: FrameType,
    /// Makes the encoder's part.
    pub writer: fn(&Parameters) -> Box<dyn Writer>,
    /// Makes the decoder's part.
    pub reader: fn(&EncoderParameters) -> Box<dyn Reader>,
}

/// Parameters of the peer's encoder that a decoder needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncoderParameters {
    /// Its sliding window, in bytes.
    pub window_bytes: usize,
    /// Number of low bits that are zero in a kept fingerprint.
    pub sample_bits: u32,
    /// Bytes of packets in its store.
    pub store_bytes: usize,
}

/// The encoder's part: it finds repetitions and writes the shim.
pub trait Writer: fmt::Debug + Send {
    /// Whether the writer has an index of its own ([`Writer::enter`]) in place of the encoder's.
    fn has_index(&self) -> bool {
        false
    }

    /// Whether a policy of confirmed packets may enter packets at their confirmation. Otherwise they are
    /// entered at their transmission.
    fn may_enter_late(&self) -> bool {
        true
    }

    /// Appends the packet's repeated regions to `matches`, in the packet's order.
    fn search(&mut self, search: &Search<'_>, matches: &mut Vec<Match>);

    /// Appends the shim for the matches of the last search to `out`. The encoder appends the literals.
    fn emit(&mut self, matches: &[Match], out: &mut Vec<u8>);

    /// Enters a stored packet with these anchors into the writer's own index.
    fn enter(&mut self, stored: &Stored<'_>, anchors: &[Anchor], store: &PacketStore) {
        let _ = (stored, anchors, store);
    }

    /// Forgets every packet.
    fn clear(&mut self) {}
}

/// The decoder's part: it reads the shim and finds the stored packets.
pub trait Reader: fmt::Debug + Send {
    /// Appends the restored packet to `out`. After a miss, `out` may end with a part of it.
    fn restore(&mut self, shim: &[u8], store: &PacketStore, out: &mut Vec<u8>) -> Result<(), Miss>;

    /// Notes a packet that is now in the store.
    fn enter(&mut self, sequence: u64, store: &PacketStore);
}

/// Takes `count` literals from the front. The shim's parser has checked that there are enough.
pub fn take_literals<'a>(literals: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = literals.split_at(count.min(literals.len()));
    *literals = rest;
    taken
}

/// Appends a region of a stored packet to `out`.
pub fn copy_region(packet: &[u8], offset: usize, length: usize, out: &mut Vec<u8>) -> Result<(), Miss> {
    let end = offset.checked_add(length).ok_or(Miss::OutOfRange)?;
    out.extend_from_slice(packet.get(offset..end).ok_or(Miss::OutOfRange)?);
    Ok(())
}

impl PartialEq for InjectedForm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for InjectedForm {}

impl Hash for InjectedForm {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Display for InjectedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for InjectedForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
