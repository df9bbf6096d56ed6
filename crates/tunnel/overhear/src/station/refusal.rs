//! Reasons why a station refuses a packet or reply.

use wire::Malformed;

/// Reason why a station refuses a packet or reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It does not have the form that it claims.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The packet's slots have another width than agreed.
    #[error("slots of {0} bits are not what was agreed")]
    SlotBits(u8),
    /// The packet has removed chunks and no MAC.
    #[error("the packet has no MAC")]
    NoMac,
    /// The packet would exceed an IP packet's maximum.
    #[error("the packet would have more than 65,535 bytes")]
    TooLong,
    /// Chunks are missing, and the station holds its maximum of packets.
    #[error("too many packets are held")]
    TooManyHeld,
    /// More chunks are missing than a request can name.
    #[error("too many chunks are missing")]
    TooManyMissing,
    /// A reply for a packet that is not held, or with other chunks than requested.
    #[error("this reply was not requested")]
    Unasked,
    /// All chunks are present, and the MAC does not match.
    #[error("the packet cannot be restored")]
    NotRestored,
}
