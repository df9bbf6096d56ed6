//! The runs that were removed from a native in an XOR (REfactor, sections 2.2.2 and 5.5.2), and the XOR
//! itself.
//!
//! ```text
//! | shim (shim::slots) without literals | bytes removed, once a run of the shim (varints) |
//! ```
//!
//! Receivers that hold the native, but not the relay's form of it, can make the same form only if they know
//! the removed runs. So the shim travels in the clear, with the removed lengths, and only the remaining bytes
//! are combined.

use crate::shim::slots::Encoded;
use crate::{Malformed, varint};

/// The runs that were removed from a native: the shim, and the length in bytes of each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed<'a> {
    /// The shim.
    pub shim: &'a [u8],
    lengths: &'a [u8],
}

impl<'a> Removed<'a> {
    /// Takes it off the front of `input`; something must have been removed.
    pub fn take(input: &mut &'a [u8]) -> Result<Self, Malformed> {
        let whole = *input;
        let shim = Encoded::take_shim(input)?;
        let lengths = *input;
        for _ in shim.runs() {
            varint::parse(input)?;
        }
        if shim.slot_count == 0 {
            return Err(Malformed("removed: nothing"));
        }
        let shim = &whole[..whole.len() - lengths.len()];
        Ok(Removed { shim, lengths: &lengths[..lengths.len() - input.len()] })
    }

    /// Appends a shim and what its runs left out.
    pub fn emit(shim: &[u8], lengths: impl IntoIterator<Item = u32>, out: &mut Vec<u8>) {
        out.extend_from_slice(shim);
        lengths.into_iter().for_each(|bytes| varint::emit(bytes, out));
    }

    /// Gives the native's stretches that were not removed, in its order. None if the native is too short to
    /// be the one that is meant.
    pub fn literals<'n>(&self, native: &'n [u8], mut each: impl FnMut(&'n [u8])) -> Option<()> {
        let (mut shim, mut lengths, mut rest) = (self.shim, self.lengths, native);
        for run in Encoded::take_shim(&mut shim).ok()?.runs() {
            let (literals, behind) = rest.split_at_checked(run.literal_bytes as usize)?;
            each(literals);
            rest = behind.get(varint::parse(&mut lengths).ok()? as usize..)?;
        }
        each(rest);
        Some(())
    }
}

/// Appends the XOR of these, as long as the longest.
pub fn emit_sum<'a>(literals: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let start = out.len();
    for literals in literals {
        let sum = out.len() - start;
        // where the sum reaches already it is added to, and behind that these stand as they are
        let (over, behind) = literals.split_at(literals.len().min(sum));
        out[start..].iter_mut().zip(over).for_each(|(one, other)| *one ^= other);
        out.extend_from_slice(behind);
    }
}
