//! What an encoder counts.

/// Counts since the encoder was made; [`crate::Encoder::clear`] does not reset them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EncoderStatistics {
    /// Packets passed to the encoder.
    pub packets: u64,
    /// Their bytes.
    pub packet_bytes: u64,
    /// Packets with a payload of at least one window.
    pub eligible_packets: u64,
    /// Packets that were searched.
    pub searched_packets: u64,
    /// Packets with a repetition too short to pay.
    pub declined_packets: u64,
    /// Packets that were reduced.
    pub reduced_packets: u64,
    /// Regions removed.
    pub regions: u64,
    /// Bytes in those regions.
    pub removed_bytes: u64,
    /// Bytes of shims sent in their place.
    pub shim_bytes: u64,
    /// Bytes of payloads in which nothing was found, though their keys lead to packets that have left the
    /// store. A searched packet stands for those that were not searched.
    pub departed_bytes: u64,
    /// Packets that the receiver confirmed.
    pub confirmed_packets: u64,
    /// Packets that the receiver reported lost.
    pub lost_packets: u64,
}
