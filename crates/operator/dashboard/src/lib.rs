//! What an operator looks at: what has happened to a node or a cache ([`node`], [`cache`]).

#![forbid(unsafe_code)]
// What serves pages waits for those who ask.
#![allow(clippy::disallowed_methods)]

pub mod cache;
mod exposition;
pub use ::page::{Page, figures};
pub mod node;
