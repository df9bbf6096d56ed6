//! The shims of the papers' forms: what stands in front of a reduced packet's literals.

pub mod hashed;
pub mod paper;
