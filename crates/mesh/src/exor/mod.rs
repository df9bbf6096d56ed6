//! ExOR.
