//! What stations have overheard is not sent to them again (Shen, Gember, Anand, Akella, "REfactor-ing Content
//! Overhearing to Improve Wireless Performance", MobiCom 2011), for one gateway and its stations.
//!
//! A packet is cut into chunks ([`boundaries`]). A chunk's own hash says in which slot of a cache it is kept
//! ([`address`], [`cache`]), so that whoever hears it, addressee or not, keeps it at the same place, and the
//! slot's number can stand for it. The [`Gateway`] knows what its stations have ([`knowledge`]), decides by a
//! model of air time what to remove ([`removal`]), and answers requests for what a station lacked after all.
//! The [`Station`] puts packets together again and learns from all it hears. What stood beside a chunk that
//! is removed, and stands there again, is removed with it though it is cut otherwise this time, in steps of
//! the smallest chunk (`references`).
//!
//! What is encoded is whatever bytes the caller wants cut, as a rule a transport payload: headers, which
//! differ from packet to packet, would only shift the first boundaries. The caller carries them beside.
//!
//! A gateway hears other senders, too: neighbours' transmissions and what it is to pass on
//! ([`Gateway::hear`]). Who has that follows from the path it took and from what stations say. Gateways that
//! do not hear each other name chunks to one another over the wire ([`NamedChunk`], [`neighbourhood`]): a
//! name without bytes is enough, for whoever refers to a chunk has its bytes in the very packet from which it
//! removes it.
//!
//! Restored bytes are the right ones or none: a MAC under the pairwise key stands in every packet from which
//! anything was removed. A slot in which station and gateway hold different chunks is thus a miss like any
//! other.
//!
//! Nothing here asks for the time (it is an argument, counted from any start) or for randomness.

#![forbid(unsafe_code)]

pub mod address;
pub mod boundaries;
pub mod cache;
pub mod flush;
mod gateway;
pub mod knowledge;
mod names;
pub mod neighbourhood;
pub mod references;
pub mod removal;
mod settings;
mod station;

pub use gateway::{Answer, Gateway, GatewayStatistics, JoinError, NamedChunk, OverheardAtRate, Sent};
pub use names::{AirTime, PacketNumber, StationId};
pub use settings::{Association, Collisions, MAX_HELD_PACKETS, MissBounds, Settings, SettingsError};
pub use station::{Delivered, Received, Refusal, Station, StationStatistics};
