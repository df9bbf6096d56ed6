//! State of relays that send natives for several next hops as one XOR: parts of COPE (S. Katti and others,
//! "XORs in the Air", SIGCOMM 2006).
//!
//! Every node keeps its sent, received and overheard natives in its [`pool`] and reports them. A relay
//! combines natives if each next hop has the others, by its reports or by its probability of overhearing
//! ([`neighbours`], [`opportunity`]).

pub mod neighbours;
pub mod opportunity;
mod packet_id;
pub mod pool;
pub mod window;

pub use packet_id::PacketId;
