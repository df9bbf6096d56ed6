//! Probability that a station overhears a transmission to another, by the rates of both (REfactor, section
//! 3.2.1).

use crate::settings::SettingsError;

/// The share of nodes that overhear a transmission, by its 802.11g rate (paper: Table 1, after Afanasyev and
/// Snoeren).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverheardFractions {
    /// Up to 24 Mbit/s.
    pub to_24_mbit: f64,
    /// At 36 Mbit/s.
    pub at_36_mbit: f64,
    /// At 48 Mbit/s.
    pub at_48_mbit: f64,
    /// At 54 Mbit/s and more.
    pub at_54_mbit: f64,
}

impl Default for OverheardFractions {
    fn default() -> Self {
        OverheardFractions { to_24_mbit: 0.15, at_36_mbit: 0.12, at_48_mbit: 0.08, at_54_mbit: 0.06 }
    }
}

impl OverheardFractions {
    /// The paper's probability for a station at least as near as the addressee: nearly certain, yet distinct
    /// from certain.
    pub const NEARER: f64 = 0.99;

    fn at(&self, rate_bits_per_second: u64) -> f64 {
        match rate_bits_per_second {
            0..30_000_000 => self.to_24_mbit,
            30_000_000..42_000_000 => self.at_36_mbit,
            42_000_000..51_000_000 => self.at_48_mbit,
            _ => self.at_54_mbit,
        }
    }

    /// Probability that a station with rate `own` overhears a transmission at rate `sent`, both in bits a
    /// second.
    #[must_use]
    pub fn probability(&self, own: u64, sent: u64) -> f64 {
        if own >= sent {
            return Self::NEARER;
        }
        // A greater distance never raises the probability, whatever the table has.
        (self.at(sent) / self.at(own).max(f64::MIN_POSITIVE)).min(Self::NEARER)
    }

    pub(crate) fn validate(&self) -> Result<(), SettingsError> {
        SettingsError::unless_share("overheard_to_24_mbit", self.to_24_mbit)?;
        SettingsError::unless_share("overheard_at_36_mbit", self.at_36_mbit)?;
        SettingsError::unless_share("overheard_at_48_mbit", self.at_48_mbit)?;
        SettingsError::unless_share("overheard_at_54_mbit", self.at_54_mbit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_papers_formula() {
        let table = OverheardFractions::default();
        for (own, sent, expected) in [
            (54, 54, 0.99),
            (54, 1, 0.99),
            (36, 54, 0.5),
            (24, 54, 0.4),
            (11, 54, 0.4),
            (1, 36, 0.8),
            (1, 2, 0.99),
        ] {
            let probability = table.probability(own * 1_000_000, sent * 1_000_000);
            assert!((probability - expected).abs() < 1e-9, "{own} of {sent}: {probability}");
        }
    }
}
