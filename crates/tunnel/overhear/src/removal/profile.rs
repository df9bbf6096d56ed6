//! Redundancy of a station's packets, and its hit rate for removed chunks (REfactor, sections 5.3.1 to
//! 5.3.3).

/// Weight of the average: each packet reduces the old sum by one part in this many.
const REMEMBERED_PACKETS: f64 = 512.0;
/// Number of removed chunks in the average of hits.
const REMEMBERED_CHUNKS: f64 = 64.0;
/// Number of literal chunks after which the estimated hit rate has almost recovered.
const RECOVERY_CHUNKS: f64 = 2048.0;
/// The share from which one kind of redundancy predominates.
const PREDOMINATES: f64 = 2.0 / 3.0;
/// The hit rate below which a station misses too many overheard chunks.
const POOR_HITS: f64 = 0.7;
/// The rate up to which a station overhears half or less in the paper's settings.
const POOR_RATE_BITS_PER_SECOND: u64 = 24_000_000;

/// Origin of a repeated chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An earlier transmission to the same station.
    Own,
    /// An earlier transmission to another station.
    Other,
}

/// The accepted risk of a removal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Risk {
    /// The model is off: every chunk that the station may have is removed.
    Any,
    /// The expected saving must be at least this share of the chunk's own air time.
    Saving(f64),
}

/// Redundancy and hit rates of one station.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    own_bytes: f64,
    others_bytes: f64,
    own_hits: f64,
    others_hits: f64,
}

impl Default for Profile {
    fn default() -> Self {
        Profile { own_bytes: 0.0, others_bytes: 0.0, own_hits: 1.0, others_hits: 1.0 }
    }
}

impl Profile {
    /// The hit rate below which even a station's own repeated content costs more than it saves.
    pub const MOSTLY: f64 = 0.5;

    /// Notes the repeated bytes of a packet by origin.
    pub fn record_packet(&mut self, own_bytes: usize, others_bytes: usize) {
        let kept = 1.0 - 1.0 / REMEMBERED_PACKETS;
        self.own_bytes = self.own_bytes * kept + own_bytes as f64;
        self.others_bytes = self.others_bytes * kept + others_bytes as f64;
    }

    fn hits_mut(&mut self, origin: Origin) -> &mut f64 {
        match origin {
            Origin::Own => &mut self.own_hits,
            Origin::Other => &mut self.others_hits,
        }
    }

    /// Notes a hit or a miss of a removed chunk.
    pub fn record_chunk(&mut self, origin: Origin, there: bool) {
        let hits = self.hits_mut(origin);
        *hits += (f64::from(u8::from(there)) - *hits) / REMEMBERED_CHUNKS;
    }

    /// Notes a chunk that was sent although the station may have it. The estimated hit rate recovers slowly.
    pub fn record_literal(&mut self, origin: Origin) {
        let hits = self.hits_mut(origin);
        *hits += (1.0 - *hits) / RECOVERY_CHUNKS;
    }

    /// The recent hit rate.
    #[must_use]
    pub fn hits(&self, origin: Origin) -> f64 {
        match origin {
            Origin::Own => self.own_hits,
            Origin::Other => self.others_hits,
        }
    }

    /// The share of the repeated bytes that the station itself was sent; 0 without repetition.
    #[must_use]
    pub fn own_share(&self) -> f64 {
        self.own_bytes / (self.own_bytes + self.others_bytes).max(1.0)
    }

    /// The accepted risk for this station. "Be conservative when link quality is poor and inter-client
    /// redundancy is high"; with less of it, "use a lax threshold"; "when intra-client redundancy is
    /// predominant, turn off model-driven RE".
    #[must_use]
    pub fn risk(&self, rate_bits_per_second: u64) -> Risk {
        let own = self.own_share();
        let poor = self.others_hits < POOR_HITS || rate_bits_per_second <= POOR_RATE_BITS_PER_SECOND;
        if own >= PREDOMINATES {
            Risk::Any
        } else if own > 1.0 - PREDOMINATES {
            Risk::Saving(-0.1)
        } else if poor {
            Risk::Saving(0.3)
        } else {
            Risk::Saving(0.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_follows_the_mix_and_the_link() {
        let mixed = |own, others| {
            let mut profile = Profile::default();
            (0..100).for_each(|_| profile.record_packet(own, others));
            profile
        };
        assert_eq!(mixed(10, 490).risk(11_000_000), Risk::Saving(0.3));
        assert_eq!(mixed(10, 490).risk(54_000_000), Risk::Saving(0.0));
        assert_eq!(mixed(240, 230).risk(11_000_000), Risk::Saving(-0.1));
        assert_eq!(mixed(460, 40).risk(11_000_000), Risk::Any);
    }

    #[test]
    fn misses_cost_trust_and_time_gives_it_back() {
        let mut profile = Profile::default();
        (0..200).for_each(|at| profile.record_chunk(Origin::Other, at % 4 == 0));
        assert!((0.15..0.4).contains(&profile.hits(Origin::Other)), "{}", profile.hits(Origin::Other));
        profile.record_packet(0, 1000);
        assert_eq!(profile.risk(54_000_000), Risk::Saving(0.3));
        (0..4 * 2048).for_each(|_| profile.record_literal(Origin::Other));
        assert!(profile.hits(Origin::Other) > 0.95);
    }
}
