//! Methods that REfactor is compared with (sections 3.1 and 5.1). Each removes as much as possible for one
//! receiver that has everything.
//!
//! | | finds | refers by |
//! |---|---|---|
//! | [`MaxMatch`] | stretches of any length around equal windows | place in a stored packet |
//! | [`HashedChunks`] | chunks, or whole packets (Santos and Wetherall 1998) | SHA-1 |
//! | the same, shipping hashes | the same | SHA-1, sent with every chunk, so that receivers reckon none |
//! | [`LongestMatch`] | the longest stretch at each place, in all that was heard | a fixed cost |
//! | [`Ideal`] | chunks, and parts of them or not, however long ago (the paper's "perfect RE") | slot |

mod hashed_chunks;
mod ideal;
mod longest_match;
mod max_match;

pub use hashed_chunks::{Cut, HashedChunks, HashedChunksReceiver, Hashes};
pub use ideal::Ideal;
pub use longest_match::LongestMatch;
pub use max_match::MaxMatch;

/// Counts of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Their bytes.
    pub packet_bytes: u64,
    /// Bytes that repeat kept content.
    pub found_bytes: u64,
    /// Bytes of the encoding.
    pub sent_bytes: u64,
}

impl Counted {
    /// "Redundancy detected": the repeated share.
    #[must_use]
    pub fn detected(&self) -> f64 {
        self.found_bytes as f64 / self.packet_bytes.max(1) as f64
    }

    /// "Effective RE": the share of bytes that the encoding saves.
    #[must_use]
    pub fn effective(&self) -> f64 {
        1.0 - self.sent_bytes as f64 / self.packet_bytes.max(1) as f64
    }
}

impl std::ops::AddAssign for Counted {
    fn add_assign(&mut self, other: Self) {
        self.packet_bytes += other.packet_bytes;
        self.found_bytes += other.found_bytes;
        self.sent_bytes += other.sent_bytes;
    }
}
