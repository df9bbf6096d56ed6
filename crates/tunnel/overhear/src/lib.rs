//! Content that stations have overheard is not sent to them again (Shen, Gember, Anand, Akella, "REfactor-ing
//! Content Overhearing to Improve Wireless Performance", MobiCom 2011), for one gateway and its stations.
//!
//! A packet is cut into chunks ([`boundaries`]). A chunk's hash determines its cache slot ([`address`],
//! [`cache`]). Every listener, addressee or not, stores it in that slot, so the slot's number can replace it.
//! The [`Gateway`] knows its stations' chunks ([`knowledge`]), decides by a model of air time which ones to
//! remove ([`removal`]), and answers requests for missing ones. The [`Station`] restores packets and learns
//! from all packets that it hears. The neighbours of a removed chunk are removed with it if they repeat, even
//! at other cuts, in steps of the smallest chunk (`references`).
//!
//! The caller chooses the bytes to encode, usually a transport payload. Headers differ from packet to packet
//! and would only shift the first boundaries, so the caller carries them separately.
//!
//! A gateway also hears other senders: neighbours' transmissions and packets that it relays
//! ([`Gateway::hear`]). The nodes that have such a packet follow from its path and from stations' reports.
//! Gateways that do not hear each other name chunks over the wire ([`NamedChunk`], [`neighbourhood`]). A name
//! without bytes suffices, because the packet from which a gateway removes a chunk has its bytes.
//!
//! Restored bytes are correct, or there are none: every packet with removed bytes has a MAC under the
//! pairwise key. If station and gateway have different chunks in a slot, that is a miss like any other.
//!
//! This crate asks for neither time nor randomness. Time is an argument, counted from any start.

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
