//! The MAC over a packet's original bytes: 64 bits, keyed for one pair of nodes and one direction.
//!
//! It proves that a packet was restored exactly and comes from the peer. HighwayHash-64 (Alakuijala, Cox,
//! Wassenberg 2016) is a keyed pseudo-random function. It hashes a full packet in about a tenth of a
//! microsecond.

use highway::{HighwayHash, HighwayHasher, Key};
use wire::frame::PACKET_MAC_BYTES;

/// Makes and checks MACs.
#[derive(Clone)]
pub struct PacketMac(Key);

impl std::fmt::Debug for PacketMac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PacketMac(secret)")
    }
}

impl PacketMac {
    /// A MAC with a key of 32 bytes.
    #[must_use]
    pub fn new(bytes: &[u8; 32]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        PacketMac(Key([word(0), word(1), word(2), word(3)]))
    }

    /// The MAC of `packet` under link sequence `sequence`.
    #[must_use]
    pub fn of(&self, sequence: u64, packet: &[u8]) -> [u8; PACKET_MAC_BYTES] {
        let mut hasher = HighwayHasher::new(self.0);
        hasher.append(&sequence.to_le_bytes());
        hasher.append(packet);
        hasher.finalize64().to_be_bytes()
    }

    /// Whether `mac` is the MAC of `packet`, in constant time.
    #[must_use]
    pub fn verifies(&self, sequence: u64, packet: &[u8], mac: [u8; PACKET_MAC_BYTES]) -> bool {
        u64::from_be_bytes(self.of(sequence, packet)) ^ u64::from_be_bytes(mac) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mac_depends_on_key_sequence_and_bytes() {
        let mac = PacketMac::new(&[1; 32]);
        let of = mac.of(5, b"packet");
        assert!(mac.verifies(5, b"packet", of));
        assert!(!mac.verifies(6, b"packet", of));
        assert!(!mac.verifies(5, b"Packet", of));
        assert!(!PacketMac::new(&[2; 32]).verifies(5, b"packet", of));
    }
}
