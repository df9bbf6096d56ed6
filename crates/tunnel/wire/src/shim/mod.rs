//! The shims of a reduced packet: which regions were removed and where the receiver finds them.
//!
//! A shim stands in front of the packet's *literals*, the bytes that were not removed, in their order.
//! Three forms exist for one receiver. The [`paper`] form is that of the byte-caching paper: 14 bytes a region, which name the
//! stored packet by a fingerprint of its content, and the [`hashed`] form names whole chunks by their SHA-1; experiments use
//! both. The [`compact`] form names the stored
//! packet by its distance in link sequence and takes 4 to 8 bytes a region; real traffic uses it. Where several
//! stations hear the same air, [`slots`] name chunks by where any of them keeps it.
//!
//! The parsers check everything that can be checked without the store: regions in order, no more literals
//! asked for than there are, no more bytes restored than an IP packet can have.

pub mod compact;
pub mod hashed;
pub mod paper;
pub mod slots;

use crate::Malformed;

/// The most bytes a restored packet may have: the largest IP packet.
pub const MAX_RESTORED_BYTES: usize = 65_535;

/// Adds a stretch of the restored packet to what is restored so far.
fn grow(restored_bytes: &mut usize, stretch_bytes: usize) -> Result<(), Malformed> {
    *restored_bytes += stretch_bytes.min(MAX_RESTORED_BYTES + 1);
    if *restored_bytes > MAX_RESTORED_BYTES {
        return Err(Malformed("shim: restored length"));
    }
    Ok(())
}
