//! Sessions: who a peer is, and the keys under which it speaks.

pub mod admission;
pub mod allowance;
pub mod challenge;
pub mod handshake;
pub mod initiator;
pub mod keyring;
pub mod replay;
pub mod seal;
pub mod sessions;
pub mod shard;
pub mod transport;
