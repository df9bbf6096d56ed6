//! The shims of a reduced packet: which regions were removed and where the receiver finds them.
//!
//! A shim stands in front of the packet's *literals*, the bytes that were not removed, in their order. The
//! [`compact`] form, for one receiver, names the stored packet by its distance in link sequence and takes 4
//! to 8 bytes a region. Where several stations hear the same air, [`slots`] name chunks by where any of them
//! keeps it. Two other forms have frame types ([`crate::frame::FrameType::ReducedPaper`],
//! [`crate::frame::FrameType::ReducedHashed`]) and are spoken in experiments only; they stand elsewhere.
//!
//! The parsers check everything that can be checked without the store: regions in order, no more literals
//! asked for than there are, no more bytes restored than an IP packet can have.

pub mod compact;
pub mod slots;

use crate::Malformed;

/// The most bytes a restored packet may have: the largest IP packet.
pub const MAX_RESTORED_BYTES: usize = 65_535;

/// Adds a stretch of the restored packet to what is restored so far.
pub fn grow(restored_bytes: &mut usize, stretch_bytes: usize) -> Result<(), Malformed> {
    *restored_bytes += stretch_bytes.min(MAX_RESTORED_BYTES + 1);
    if *restored_bytes > MAX_RESTORED_BYTES {
        return Err(Malformed("shim: restored length"));
    }
    Ok(())
}
