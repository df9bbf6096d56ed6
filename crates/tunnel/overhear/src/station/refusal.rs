//! Why a station refuses what it received.

use wire::Malformed;

/// Why a station refuses what it received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has not the form it claims.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The packet names slots of another width than was agreed.
    #[error("slots of {0} bits are not what was agreed")]
    SlotBits(u8),
    /// Something was removed from the packet, and nothing proves what is put in its place.
    #[error("the packet has no MAC")]
    NoMac,
    /// The packet would be longer than an IP packet can be.
    #[error("the packet would have more than 65,535 bytes")]
    TooLong,
    /// Chunks are missing, and no more packets are held.
    #[error("too many packets are held")]
    TooManyHeld,
    /// More chunks are missing than a request can name.
    #[error("too many chunks are missing")]
    TooManyMissing,
    /// A reply for a packet that is not held, or with other chunks than were asked for.
    #[error("nobody asked for this reply")]
    Unasked,
    /// With all chunks supplied, the MAC does not fit.
    #[error("the packet cannot be restored")]
    NotRestored,
}
