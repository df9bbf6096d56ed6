//! The operator's view: the history of a node or a cache ([`node`], [`cache`]).

#![forbid(unsafe_code)]
// The page's server waits for requests.
#![allow(clippy::disallowed_methods)]

#[cfg(feature = "cache")]
pub mod cache;
#[cfg(feature = "views")]
mod exposition;
#[cfg(feature = "views")]
pub use ::page::Page;
pub use ::page::figures;
pub mod node;
