//! Expected saving of a chunk's removal (REfactor, section 3.2.2).

use crate::names::AirTime;

/// A chunk that might be removed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Probability that the station has it (V).
    pub probability: f64,
    /// Its length (k).
    pub chunk_bytes: f64,
    /// Bytes of its replacement (h).
    pub shim_bytes: f64,
    /// Bytes of the packet that the gateway holds (K).
    pub redundant_bytes: f64,
}

impl Candidate {
    /// Exp\[B\]: the expected free air time in seconds, if other nodes use the share `others_load` (rho). A
    /// miss costs a request and a reply; all chunks of the packet share their fixed part.
    #[must_use]
    pub fn expected_benefit_seconds(&self, others_load: f64, air_time: &AirTime) -> f64 {
        let Candidate { probability, chunk_bytes, shim_bytes, redundant_bytes } = *self;
        let per_byte = air_time.per_byte_seconds;
        let saved = (1.0 - others_load) * (chunk_bytes - shim_bytes) * per_byte;
        let shared_header = 2.0 * chunk_bytes / redundant_bytes * air_time.header.as_secs_f64();
        let lost = shared_header + (2.0 * shim_bytes + chunk_bytes) * per_byte;
        probability * saved - (1.0 - probability) * lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn figure_3s_single_chunk_pays_from_nine_in_ten_on() {
        let air_time = AirTime { header: Duration::from_micros(290), per_byte_seconds: 0.885e-6 };
        let benefit = |probability, redundant_bytes| {
            let candidate = Candidate { probability, chunk_bytes: 64.0, shim_bytes: 3.0, redundant_bytes };
            candidate.expected_benefit_seconds(0.0, &air_time)
        };
        assert!(benefit(0.90, 64.0) < 0.0 && benefit(0.95, 64.0) > 0.0);
        // More redundancy in the packet lowers the break-even probability.
        assert!(benefit(0.70, 1280.0) > 0.0 && benefit(0.40, 1280.0) < 0.0);
        assert!(benefit(0.9, 640.0) > benefit(0.9, 128.0));
        assert!((benefit(1.0, 64.0) - 61.0 * 0.885e-6).abs() < 1e-12);
    }
}
