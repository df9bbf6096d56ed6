//! Elimination: what the receiver has is left out, and put back; the rest is compressed.

pub mod compress;
mod kept_headers;
pub mod ratio;
pub mod reduce;
pub mod restore;
