//! The path to a peer: addresses, ports, sizes, marks, and what the IP headers say.

pub mod delay;
pub mod ecn;
pub mod encapsulation;
pub mod endpoint;
pub mod fragment;
pub mod hop_limit;
pub mod icmp;
pub mod lanes;
pub mod mtu;
pub mod reachability;
pub mod unanswered;
