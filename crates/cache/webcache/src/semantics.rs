//! HTTP's rules for requests and responses, without sockets and clocks: RFC 9110 (semantics), RFC 9111
//! (caching, as a shared cache), RFC 5861 (stale content), RFC 9213 (targeted cache control).
//!
//! Times are Unix seconds from the caller.

pub mod directives;
pub mod fields;
pub mod freshness;
pub mod heads;
pub mod key;
pub mod packages;
pub mod range;
pub mod validators;
pub mod vary;

/// Seconds since 1970.
pub type UnixSeconds = u64;
