//! What an operator looks at: what has happened to a node ([`node`]).

#![forbid(unsafe_code)]
// What serves pages waits for those who ask.
#![allow(clippy::disallowed_methods)]

pub use ::page::figures;
pub mod node;
