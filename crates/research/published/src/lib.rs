//! The papers' systems as published.
//!
//! The product goes beyond the papers and contains none of this. The laboratory injects it into the product's
//! crates, to reproduce the papers' measurements and to compare.

#![forbid(unsafe_code)]

pub mod comparators;
pub mod cope;
pub mod exor;
pub mod form;
pub mod offline;
pub mod policy;
pub mod shim;
