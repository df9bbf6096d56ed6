//! Connections against each other, over channels that lose, repeat and reorder, in virtual time.

mod hosts;
mod packets;
mod undelivered;
mod wire;
