//! Forms of references that other crates bring: what stands in the shim, and how the receiver finds it in its
//! store.
//!
//! The form of this crate, [`wire::shim::compact`], names stored packets by link sequence. A form of another
//! crate has a [`Writer`] in the encoder and a [`Reader`] in the decoder. It finds its anchors by Rabin
//! fingerprints, which may travel.

pub use crate::encoder::{Match, Search};

use crate::anchors::Anchor;
use crate::miss::Miss;
use crate::parameters::Parameters;
use crate::store::{PacketStore, Stored};
use std::fmt;
use std::hash::{Hash, Hasher};
use wire::frame::FrameType;

/// A form from outside this crate, and what others must know of it. Two are the same when their names are.
#[derive(Clone, Copy)]
pub struct InjectedForm {
    /// Its name.
    pub name: &'static str,
    /// The type of the frames in which packets of this form travel.
    pub frame_type: FrameType,
    /// Makes the encoder's part.
    pub writer: fn(&Parameters) -> Box<dyn Writer>,
    /// Makes the decoder's part.
    pub reader: fn(&EncoderParameters) -> Box<dyn Reader>,
}

/// What a decoder knows of the encoder at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncoderParameters {
    /// Its sliding window, in bytes.
    pub window_bytes: usize,
    /// How many low bits of a kept fingerprint are zero.
    pub sample_bits: u32,
    /// How many bytes of packets it keeps.
    pub store_bytes: usize,
}

/// The encoder's part: finds what a packet repeats, and writes the shim.
pub trait Writer: fmt::Debug + Send {
    /// Whether it finds packets by an index of its own ([`Writer::enter`]) and not by the encoder's.
    fn has_index(&self) -> bool {
        false
    }

    /// Whether a policy that refers to confirmed packets only may have packets entered when they are
    /// confirmed. Otherwise they are entered when they are sent.
    fn may_enter_late(&self) -> bool {
        true
    }

    /// Appends what the packet repeats to `matches`, in the packet's order.
    fn search(&mut self, search: &Search<'_>, matches: &mut Vec<Match>);

    /// Appends the shim for the matches of the last search to `out`. The encoder appends the literals.
    fn emit(&mut self, matches: &[Match], out: &mut Vec<u8>);

    /// Enters a stored packet, which has these anchors, into its own index.
    fn enter(&mut self, stored: &Stored<'_>, anchors: &[Anchor], store: &PacketStore) {
        let _ = (stored, anchors, store);
    }

    /// Forgets every packet.
    fn clear(&mut self) {}
}

/// The decoder's part: reads the shim, and finds what it refers to.
pub trait Reader: fmt::Debug + Send {
    /// Appends the restored packet to `out`. On a miss, part of it may stand there.
    fn restore(&mut self, shim: &[u8], store: &PacketStore, out: &mut Vec<u8>) -> Result<(), Miss>;

    /// Takes notice of a packet that the store has now.
    fn enter(&mut self, sequence: u64, store: &PacketStore);
}

/// Takes literals off the front. A shim's parser has made sure that there are enough.
pub fn take_literals<'a>(literals: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = literals.split_at(count.min(literals.len()));
    *literals = rest;
    taken
}

/// Appends a region of a stored packet to `out`.
pub fn copy_region(stored: &Stored<'_>, offset: usize, length: usize, out: &mut Vec<u8>) -> Result<(), Miss> {
    let end = offset.checked_add(length).ok_or(Miss::OutOfRange)?;
    out.extend_from_slice(stored.packet.get(offset..end).ok_or(Miss::OutOfRange)?);
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
