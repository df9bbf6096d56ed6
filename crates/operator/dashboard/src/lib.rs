//! The operator's view: the history of a node or a cache ([`node`], [`cache`]).

#![forbid(unsafe_code)]
// The page's server waits for requests.
#![allow(clippy::disallowed_methods)]

pub mod cache;
mod exposition;
pub use ::page::{Page, figures};
pub mod node;
