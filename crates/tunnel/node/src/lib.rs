//! The node, sans-IO: one state machine between IP packets and datagrams.
//!
//! Two nodes meet by a [handshake]. Its result is a [session]: traffic keys, counters under them, a [replay]
//! window. Beside keys they share a [link]: link sequences, [receipts], the stores of sent and received
//! packets. A link lasts from one boot of either node to the next. Sessions begin and end within it.
//!
//! On the way out a packet is *classified* (its destination belongs to a [peer][route]), waits in the
//! [queue], is *[reduce]d* and *[shorten]ed* in its turn, *[pack]ed* with other messages, and *[seal]ed*. On
//! the way in a unit is *opened*, *unpacked*, its packets *restored*, their sources checked, and *delivered*.
//! A packet that cannot be restored is [repair]ed by request if the peer offers it, and otherwise left to the
//! end hosts. Under the policy `adaptive` the hop repairs its own losses: it retransmits packets that
//! receipts show as missing ([recover]), early packets wait for them ([release]), and the end hosts see the
//! losses of a full queue ([delay]).
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

mod admission;
mod allowance;
mod buffers;
mod challenge;
mod coding;
mod config;
mod delay;
mod deliveries;
mod ecn;
mod encapsulation;
mod endpoint;
mod event;
mod fragment;
mod group;
mod handshake;
mod hop_limit;
mod icmp;
mod initiator;
mod keyring;
mod keys;
mod lanes;
mod link;
mod losses;
mod node;
mod pack;
mod path_delay;
mod path_mtu;
mod peer;
mod queue;
mod ratio;
mod reachability;
mod receipts;
mod recover;
mod reduce;
mod release;
mod repair;
mod replay;
mod roaming;
mod route;
mod seal;
mod session;
mod sessions;
mod shards;
mod shorten;
mod status;
mod too_large;
#[cfg(test)]
mod vectors;

pub use config::{Config, ConfigError, Destination, Gateways, Group, Mesh, PeerConfig};
pub use event::{Event, Outcome, SentPacket};
pub use keys::{NetworkKey, NotAKey, PresharedKey, PrivateKey, PublicKey};
pub use lanes::MAX_LANES;
pub use node::{Node, Transmit, station_name};
pub use pack::{AROUND_PACKET, LANE_BYTES, SHARING_BYTES};
pub use shards::{Concerns, Shards, merged};
pub use shorten::Shortening;
pub use status::{
    DestinationStatus, OverheardAtRate, PeerCounters, PeerStatus, RecoverStatus, Refused, Status,
    outer_header_bytes,
};
