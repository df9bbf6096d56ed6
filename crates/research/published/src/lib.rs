//! The papers' systems as they were published.
//!
//! The product goes beyond the papers and ships none of this. The laboratory injects it into the product's
//! crates, to measure what the papers measured and to compare.

#![forbid(unsafe_code)]

pub mod comparators;
pub mod cope;
pub mod exor;
pub mod form;
pub mod offline;
pub mod policy;
pub mod shim;
