//! What relays know that send natives for several next hops as one XOR: COPE's pieces (S. Katti and others,
//! "XORs in the Air", SIGCOMM 2006).
//!
//! Every node keeps what it sent, received or overheard in its [`pool`] and says what that is. A relay sends
//! natives together whose next hops have the others, by what they said or by how likely they heard it
//! ([`neighbours`], [`opportunity`]).

pub mod neighbours;
pub mod opportunity;
mod packet_id;
pub mod pool;
pub mod window;

pub use packet_id::PacketId;
