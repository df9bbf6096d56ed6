//! The shims of the papers' forms, before a reduced packet's literals.

pub mod hashed;
pub mod paper;
