//! The node, sans-IO: one state machine between IP packets and datagrams.
//!
//! The folders are floors, from the lower to the upper ones:
//!
//! - [session]: handshakes, keys, and the admission of strangers;
//! - [path]: addresses, ports, sizes and marks between two nodes;
//! - [arq]: receipts, retransmission, requests, and order;
//! - [fec]: units that are restored before they would be sent again;
//! - [elimination]: repeated bytes, headers and literals;
//! - [queue], [group], [roaming]: waiting packets, overhearing, several gateways;
//! - [lifetime]: for how long a packet waits in any of them;
//! - [snoop]: the repair of TCP segments;
//! - [peer]: sessions, the *link* (`peer::link`) of two boots, and the contents of datagrams, [out and
//!   in](peer::pack);
//! - [effects]: what a datagram brings about for others; [node]: the way through all floors.
//!
//! Two nodes meet by a [handshake](session::handshake). Its result is a [session](session::transport):
//! traffic keys, counters under them, a [replay](session::replay) window. Beside keys they share a link
//! (`peer::link`): link sequences, [receipts](arq::receipts), the stores of sent and received packets. A link
//! lasts from one boot of either node to the next. Sessions begin and end within it.
//!
//! On the way out a packet is *classified*: its destination belongs to a [peer][route]. It waits in the
//! [queue]. In its turn it is *reduced* ([reduce](elimination::reduce)), *compressed*
//! ([compress](elimination::compress)), *[packed](peer::pack)* with other messages, and *sealed*
//! ([seal](session::seal)). On the way in a unit is *opened*, *unpacked*, its packets *restored*, their
//! sources checked, and
//! *delivered*. A packet that cannot be restored is requested again ([nack](arq::nack)) if the peer offers
//! it, and otherwise left to the end hosts. Under the policy `adaptive` the hop repairs its own losses: it
//! retransmits packets that receipts show as missing ([sender](arq::sender)), early packets wait for them
//! ([reorder](arq::reorder)), and the end hosts see the losses of a full queue ([delay](arq::delay)).
//!
//! A gateway whose stations hear each other *shares* its packets ([group]). It does not send content again
//! that a station has overheard. Overheard datagrams arrive by [`Node::handle_overheard`].
//!
//! A station uses one of several gateways at a time. The gateways exchange their stations, and the stations
//! that these hear ([roaming]).
//!
//! A *relay* passes on packets for others, and removes content that they sent or overheard themselves. A node
//! adds the content of a peer's group to its own knowledge.
//!
//! A node never asks the time, draws randomness from the system or touches a socket: a driver hands it `now`
//! (since any origin), packets and datagrams, and takes what it gives:
//!
//! ```text
//! handle_packet  ─▶ ┌──────┐ ─▶ poll_transmit (then Transmit::seal, then the socket)
//! handle_datagram─▶ │ Node │ ─▶ poll_deliver  (then the TUN)
//! handle_overheard▶ │      │
//! handle_timeout ─▶ └──────┘ ─▶ poll_timeout, poll_event
//! ```
//!
//! But for a group, peers share nothing; [`Shards`] are several nodes with some of the peers each, for as
//! many threads.

#![forbid(unsafe_code)]
// A build without a mechanism does not call what belongs to it.
#![cfg_attr(not(all(feature = "overhear", feature = "snoop")), allow(dead_code))]

mod arq;
mod buffers;
mod config;
mod context;
mod deliveries;
mod destinations;
mod effects;
mod elimination;
mod event;
mod features;
mod fec;
mod group;
mod hop;
mod keys;
mod lifetime;
pub mod memory;

mod node;

mod path;
mod peer;
mod queue;
mod roaming;
mod roster;
mod route;
mod session;
mod shards;
mod snoop;
mod status;
#[cfg(test)]
mod vectors;

pub use config::{Config, ConfigError, Destination, Gateways, Group, Memory, Mesh, PeerConfig, StreamBounds};
pub use elimination::compress::Shortening;
pub use event::{Event, Outcome, SentPacket};
pub use keys::{NetworkKey, NotAKey, PresharedKey, PrivateKey, PublicKey};
pub use node::{Node, Transmit, station_name};
pub use path::lanes::MAX_LANES;
pub use peer::pack::{AROUND_PACKET, LANE_BYTES, SHARING_BYTES};
pub use roster::{Differences, Roster};
pub use shards::{Concerns, Shards, merged};
pub use status::{
    DestinationStatus, MemoryStatus, OverheardAtRate, PeerCounters, PeerStatus, RecoverStatus, Refused,
    SharingStatus, Status, StoresStatus, StreamCounters, StreamsStatus, outer_header_bytes,
};
