//! Redundancy elimination: fingerprints, caches, encoders, decoders and reference policies.
