//! The slot of a chunk: it follows from the chunk's hash (REfactor, section 3.1.1).
//!
//! The network's key keys the hash, so outsiders cannot construct collisions. The hash must be equal on all
//! machines and in all versions that communicate. Hashes for tables in memory do not guarantee that;
//! rapidhash's third version does.

use highway::{HighwayHash, HighwayHasher, Key};
use rapidhash::v3::{RapidSecrets, rapidhash_v3_inline};

/// A chunk's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address(u64);

impl Address {
    /// All 64 bits.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The slot among 2^`slot_bits`. A smaller number of bits gives the low bits of the larger slot.
    #[inline]
    #[must_use]
    pub fn slot(self, slot_bits: u8) -> u32 {
        self.0 as u32 & ((1 << slot_bits) - 1)
    }

    /// Bits outside the slot. Chunks of one slot with equal tags are most likely equal.
    #[inline]
    #[must_use]
    pub fn tag(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Computes addresses under one key.
#[derive(Clone)]
pub struct Addresses(RapidSecrets);

impl std::fmt::Debug for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Addresses(secret)")
    }
}

impl Addresses {
    /// The addresses of the network with this key.
    #[must_use]
    pub fn new(network_key: &[u8; 32]) -> Self {
        let (words, _) = network_key.as_chunks::<8>();
        let key = Key([0, 1, 2, 3].map(|index| u64::from_le_bytes(words[index])));
        let derive = |label: u8| {
            let mut hasher = HighwayHasher::new(key);
            hasher.append(b"overheard 1 slots");
            hasher.append(&[label]);
            hasher.finalize64()
        };
        Addresses(RapidSecrets { seed: derive(0), secrets: [1, 2, 3, 4, 5, 6, 7].map(derive) })
    }

    /// The address of a chunk.
    #[inline]
    #[must_use]
    pub fn of(&self, chunk: &[u8]) -> Address {
        Address(rapidhash_v3_inline::<true, false, false>(chunk, &self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_follow_from_key_and_chunk_and_stay_the_same_for_good() {
        let addresses = Addresses::new(&[7; 32]);
        let chunk: Vec<u8> = (0..100).collect();
        assert_eq!(addresses.of(&chunk), Addresses::new(&[7; 32]).of(&chunk));
        assert_ne!(addresses.of(&chunk), Addresses::new(&[8; 32]).of(&chunk));
        // Values that other versions and machines compute, too.
        let known = [addresses.of(&chunk).0, addresses.of(b"").0, addresses.of(&[0; 256]).0];
        assert_eq!(known, KNOWN);
    }

    const KNOWN: [u64; 3] = [8_984_171_798_878_351_326, 9_402_722_630_266_134_260, 821_226_629_447_528_702];

    #[test]
    fn fewer_bits_are_the_low_ones() {
        let address = Addresses::new(&[1; 32]).of(b"chunk");
        assert_eq!(address.slot(14), address.slot(24) & 0x3fff);
    }

    #[test]
    fn chunks_spread_evenly_over_slots() {
        let addresses = Addresses::new(&[3; 32]);
        let mut counts = vec![0u32; 1 << 14];
        let chunks = 1u32 << 20;
        for number in 0..chunks {
            let mut chunk = [0; 64];
            chunk[..4].copy_from_slice(&number.to_le_bytes());
            counts[addresses.of(&chunk).slot(14) as usize] += 1;
        }
        let mean = f64::from(chunks) / counts.len() as f64;
        let chi_squared: f64 = counts.iter().map(|count| (f64::from(*count) - mean).powi(2) / mean).sum();
        let degrees = counts.len() as f64 - 1.0;
        // Five standard deviations.
        assert!((chi_squared - degrees).abs() < 5.0 * (2.0 * degrees).sqrt(), "{chi_squared}");
    }
}
