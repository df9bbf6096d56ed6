//! The status of a node. Every figure comes from the counters of the running node.

mod memory;
mod refused;
mod streams;

pub use memory::{MemoryStatus, StoresStatus};
pub use refused::Refused;
pub use streams::{StreamCounters, StreamsStatus};

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Bytes that IP and UDP add to a datagram of ours.
#[must_use]
pub fn outer_header_bytes(to: SocketAddr) -> u64 {
    if to.is_ipv4() { 28 } else { 48 }
}

/// A node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The public key of the node.
    pub public_key: String,
    /// A random number of this start of the node.
    pub boot: u64,
    /// The time since the start, in seconds.
    pub uptime_seconds: f64,
    /// The policy of redundancy elimination.
    pub policy: String,
    /// The peers of the configuration.
    pub peers: Vec<PeerStatus>,
    /// The budget of memory and its use. None on a node without a budget.
    #[serde(default)]
    pub memory: Option<MemoryStatus>,
    /// The tables `[[destination]]` of the configuration.
    #[serde(default)]
    pub destinations: Vec<DestinationStatus>,
    /// Whether sharing with the group pays, on a gateway. None where nobody counts it: without `[overhear]`,
    /// on a relay, and with other gateways.
    #[serde(default)]
    pub sharing: Option<SharingStatus>,
    /// Chunks that replaced another chunk in this node's cache of sent chunks. 0 on a station.
    #[serde(default)]
    pub collisions: u64,
    /// Refused datagrams and packets.
    pub refused: Refused,
}

/// Whether sharing with the group pays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SharingStatus {
    /// Sharing cost more air time than it saved, and pauses.
    pub paused: bool,
    /// The air time that sharing took in the present trial, or in the last one before a pause, in seconds.
    pub spent_seconds: f64,
    /// The air time that it saved, in seconds.
    pub saved_seconds: f64,
    /// The time until the next trial, in seconds. None without a pause.
    pub resumes_in_seconds: Option<f64>,
}

/// A node of the mesh to which the way changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestinationStatus {
    /// The name of the destination.
    pub name: String,
    /// The peer that is the next hop. None without a route.
    pub next_hop: Option<String>,
    /// Changes of the next hop, the first one included.
    pub changes: u64,
    /// Packets that had no route in time.
    pub refused_packets: u64,
}

/// One peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// The name of the peer in the configuration.
    pub name: String,
    /// The public key of the peer.
    pub public_key: String,
    /// The present address and port of the peer.
    pub endpoint: Option<SocketAddr>,
    /// The inner addresses behind the peer.
    #[serde(default)]
    pub allowed_ips: Vec<String>,
    /// The node accepts packets for the peer.
    pub reachable: bool,
    /// The time since the handshake of the session, in seconds. None without a session.
    pub session_age_seconds: Option<f64>,
    /// The session depends on the previous key of the network.
    #[serde(default)]
    pub previous_network_key: bool,
    /// The key of the peer is revoked.
    #[serde(default)]
    pub revoked: bool,
    /// The version of the formats in the session. 0: the two ends have no version in common, and the session
    /// is a plain tunnel.
    pub version: Option<u8>,
    /// What units of the session are sealed with: `AES-256-GCM` where both processors have instructions for
    /// AES, and otherwise `ChaCha20-Poly1305`. None without a session.
    #[serde(default)]
    pub cipher: Option<String>,
    /// The size of the store in bytes with which both ends began in each direction: the smaller of their two
    /// values. 0 in a plain tunnel. None without a session.
    #[serde(default)]
    pub store_bytes: Option<usize>,
    /// The stores of packets and of records of streams, with their bounds now. None without a session.
    #[serde(default)]
    pub stores: Option<StoresStatus>,
    /// The smoothed round-trip time of the hop.
    pub srtt_seconds: Option<f64>,
    /// The number of source ports towards the peer.
    pub source_ports: usize,
    /// The number of the peer's ports that datagrams arrive from.
    pub heard_ports: usize,
    /// The size of the largest outer IP packet to the peer, in bytes. None without an endpoint. A node that
    /// has no `endpoint` in its configuration and listens on `[::]` leaves room for IPv6's longer header. Its
    /// packets to an IPv4 peer then have 20 bytes less than the path MTU.
    pub path_mtu_bytes: Option<u64>,
    /// The path has carried a packet of that size.
    pub path_mtu_confirmed: bool,
    /// The share of recently sent packets that the air lost, from 0 to 1.
    pub loss: Option<f64>,
    /// How much longer than the shortest lately the last round trip of the hop was: the queue of the path.
    #[serde(default)]
    pub queueing_seconds: Option<f64>,
    /// The bytes that the node lets be under way, because the path has a deep queue. None where the end hosts
    /// alone decide.
    #[serde(default)]
    pub window_bytes: Option<u64>,
    /// The rate at which the node sends at most, in bits a second: the told one, or a policer's. None where
    /// neither bounds it.
    #[serde(default)]
    pub paced_bits_per_second: Option<u64>,
    /// The bitrate of this machine's radio towards the peer, in bits a second. None without a radio.
    #[serde(default)]
    pub radio_bits_per_second: Option<u64>,
    /// The share of recent packets for other members that the peer overheard, from 0 to 1. None if the peer
    /// is no member of the group, and before its first report on packets for others. A member that hears
    /// nothing sends no report.
    #[serde(default)]
    pub overheard_share: Option<f64>,
    /// The same share for each bitrate, since the peer became a member.
    #[serde(default)]
    pub overheard_by_rate: Vec<OverheardAtRate>,
    /// This node is a station, and is associated with the peer. None where there is only one gateway.
    #[serde(default)]
    pub associated: Option<bool>,
    /// The other gateway that the peer, a station, is associated with. None where it is this one.
    #[serde(default)]
    pub associated_with: Option<String>,
    /// The number of the peer's stations that overhear this gateway. The peer is another gateway.
    #[serde(default)]
    pub overheard_by: Option<usize>,
    /// Bytes in the queue to the peer.
    pub queue_bytes: usize,
    /// The memory of the repair of TCP segments, if that is on.
    #[serde(default)]
    pub recover: Option<RecoverStatus>,
    /// TCP connections that cross the hop as streams. None where streams are off on this node.
    #[serde(default)]
    pub streams: Option<StreamsStatus>,
    /// TCP flows with larger congestion windows (boost).
    #[serde(default)]
    pub boosted_flows: usize,
    /// The average number of their segments in a wire packet. None without such flows.
    #[serde(default)]
    pub boost_ratio: Option<f64>,
    /// Counters since the start of the node.
    pub counters: PeerCounters,
}

impl PeerCounters {
    /// Air time in seconds that removed chunks saved, less the time of chunks that the peer lacked after all.
    #[must_use]
    pub fn air_saved_seconds(&self) -> f64 {
        (self.air_saved_nanoseconds as f64 - self.air_spent_nanoseconds as f64) / 1e9
    }
}

/// A member's overheard share of the traffic to others, at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverheardAtRate {
    /// The bitrate, in bits a second.
    pub rate_bits_per_second: u64,
    /// Packets sent at that bitrate, with a report of the member.
    pub packets: u64,
    /// Those packets that the member overheard.
    pub overheard_packets: u64,
}

impl From<overhear::OverheardAtRate> for OverheardAtRate {
    fn from(counted: overhear::OverheardAtRate) -> Self {
        let overhear::OverheardAtRate { rate_bits_per_second, packets, overheard_packets } = counted;
        OverheardAtRate { rate_bits_per_second, packets, overheard_packets }
    }
}

/// State of the repair of TCP segments for a peer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RecoverStatus {
    /// Observed flows.
    pub flows: usize,
    /// Bytes of their stored segments.
    pub bytes: usize,
    /// The number of stored segments.
    pub packets: usize,
    /// The number of slots with these segments. Combined segments share a slot.
    pub slots: usize,
    /// The share of segments that the hop lost, from 0 to 1, for the most recent flow.
    pub loss: Option<f32>,
}

/// Counted per peer since the start; survives sessions and boots of the peer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerCounters {
    /// Sessions.
    pub sessions: u64,
    /// Inner packets sent to the peer.
    pub inner_sent_packets: u64,
    /// Bytes of inner packets sent to the peer.
    pub inner_sent_bytes: u64,
    /// Inner packets delivered from the peer.
    pub inner_received_packets: u64,
    /// Bytes of inner packets delivered from the peer.
    pub inner_received_bytes: u64,
    /// Datagrams sent to the peer, handshakes among them.
    pub outer_sent_datagrams: u64,
    /// Bytes of these datagrams, with outer IP and UDP headers.
    pub outer_sent_bytes: u64,
    /// Authentic datagrams from the peer, handshakes among them.
    pub outer_received_datagrams: u64,
    /// Bytes of these datagrams, with outer IP and UDP headers.
    pub outer_received_bytes: u64,
    /// Sent packets without their repeated bytes.
    pub reduced_packets: u64,
    /// Bytes that redundancy elimination removed, net of shims and MACs.
    pub removed_bytes: u64,
    /// Further bytes that header compression and literal compression removed.
    pub shortened_bytes: u64,
    /// Packets that shared a datagram with an earlier packet.
    #[serde(default)]
    pub packed_packets: u64,
    /// Sent packets that went past redundancy elimination: the processor was the bottleneck.
    #[serde(default)]
    pub unstored_packets: u64,
    /// Received packets without their repeated bytes.
    pub reduced_received_packets: u64,
    /// Received packets that the node could not restore at once.
    pub missed: u64,
    /// Missed packets with a reference to an absent packet.
    pub missed_absent: u64,
    /// Missed packets that were restored to other bytes than the sender's.
    pub missed_wrong_bytes: u64,
    /// Missed packets with a reference to a store that no longer exists.
    pub missed_other_generation: u64,
    /// Missed packets that the node repaired and delivered.
    pub repaired: u64,
    /// Packets dropped because the queue was full.
    pub queue_dropped: u64,
    /// Packets dropped because their flow kept a queue for too long.
    pub queue_dropped_by_codel: u64,
    /// Packets dropped to tell their senders what a full queue of the path lost, and repairs restored.
    #[serde(default)]
    pub queue_dropped_for_path: u64,
    /// Packets dropped because they were too old to be of use: they waited, or were lost, for too long.
    #[serde(default)]
    pub dropped_old: u64,
    /// Packets that left with a congestion mark because their flow kept a queue for too long, or to tell what
    /// a full queue of the path lost.
    pub queue_marked: u64,
    /// Packets with a congestion mark because their datagram had one.
    pub ecn_marked: u64,
    /// Packets dropped because their datagram had a congestion mark, and their sender does not use ECN.
    pub ecn_dropped: u64,
    /// Packets with a mark that does not fit the mark of their datagram (RFC 6040, figure 4).
    pub ecn_odd: u64,
    /// Packets larger than the path carries in one datagram.
    pub too_large: u64,
    /// Fragmented packets among those.
    pub fragmented: u64,
    /// Packets refused because the peer was not reachable.
    pub unreachable: u64,
    /// Datagrams that probed the path MTU.
    pub path_probes: u64,
    /// Times that the path stopped carrying packets of the size in use.
    pub black_holes: u64,
    /// ICMP messages to inner hosts about packets that the node could not forward.
    pub icmp_sent: u64,
    /// Receipts sent.
    pub receipts_sent: u64,
    /// Receipts received.
    pub receipts_received: u64,
    /// Retransmissions of packets that receipts showed as missing.
    pub recovered: u64,
    /// Repairs of forward error correction sent.
    #[serde(default)]
    pub repairs_sent: u64,
    /// Such repairs received.
    #[serde(default)]
    pub repairs_received: u64,
    /// Received repairs of units that were missing.
    #[serde(default)]
    pub repairs_used: u64,
    /// Units that were lost on the way from the peer, and that repairs restored.
    #[serde(default)]
    pub restored: u64,
    /// Units that arrived after they were restored.
    #[serde(default)]
    pub restored_twice: u64,
    /// Requests for missing packets.
    pub requested: u64,
    /// Retransmissions of whole packets after such a request.
    pub replied: u64,
    /// Our frames that the peer refused, and frames of the peer that make no sense here.
    pub bad_frames: u64,
    /// Packets with a source address that does not belong to the peer.
    pub wrong_source: u64,
    /// Packets sent in a form that other stations can overhear.
    #[serde(default)]
    pub shared_packets: u64,
    /// Bytes of chunks that the node did not send because the peer had them, by its own packets or by
    /// overhearing.
    #[serde(default)]
    pub overheard_removed_bytes: u64,
    /// The air time of those bytes at the bitrate towards the peer.
    #[serde(default)]
    pub air_saved_nanoseconds: u64,
    /// The air time of chunks sent later because the peer lacked them.
    #[serde(default)]
    pub air_spent_nanoseconds: u64,
    /// Overheard datagrams for other nodes.
    #[serde(default)]
    pub overheard_datagrams: u64,
    /// Chunks restored from overheard datagrams.
    #[serde(default)]
    pub chunks_hit: u64,
    /// Chunks that this node lacked.
    #[serde(default)]
    pub chunks_missed: u64,
    /// Requests for missing chunks.
    #[serde(default)]
    pub chunk_requests: u64,
    /// Answers to such requests.
    #[serde(default)]
    pub chunk_replies: u64,
    /// Retransmissions of lost TCP segments, not combined.
    #[serde(default)]
    pub segments_repaired: u64,
    /// Retransmissions of lost TCP segments, combined with others.
    #[serde(default)]
    pub segments_repaired_coded: u64,
    /// Retransmissions of TCP segments after a timeout, combined or not.
    #[serde(default)]
    pub segment_timeouts: u64,
    /// Duplicate acknowledgments that the node dropped during a repair.
    #[serde(default)]
    pub acks_suppressed: u64,
    /// Acknowledgments forwarded without their report of missing segments.
    #[serde(default)]
    pub acks_stripped: u64,
    /// Missing segments left to the sender.
    #[serde(default)]
    pub segment_failures: u64,
    /// Repairs not sent: too many waited, or the path became too narrow.
    #[serde(default)]
    pub segment_repairs_dropped: u64,
    /// Combined repairs from the peer that the node decoded and delivered.
    #[serde(default)]
    pub coded_restored: u64,
    /// Combined repairs from the peer that the node could not decode.
    #[serde(default)]
    pub coded_not_restored: u64,
    /// Notices about TCP segments lost on their way to this node.
    #[serde(default)]
    pub notices_sent: u64,
    /// Notices about TCP segments lost on their way to the peer.
    #[serde(default)]
    pub notices_received: u64,
    /// Messages to this other gateway.
    #[serde(default)]
    pub neighbour_messages_sent: u64,
    /// Messages from this other gateway.
    #[serde(default)]
    pub neighbour_messages_received: u64,
    /// Chunks that this other gateway named, and that stations of this gateway overheard there.
    #[serde(default)]
    pub chunks_named: u64,
    /// Packets from other nodes that this relay forwarded to the peer.
    #[serde(default)]
    pub relayed_packets: u64,
    /// Packets for the peer sent in a coded frame with packets for others.
    #[serde(default)]
    pub natives_sent: u64,
    /// Coded frames with the peer as their address.
    #[serde(default)]
    pub natives_datagrams: u64,
    /// Bytes of datagrams saved by coded frames.
    #[serde(default)]
    pub natives_saved_bytes: u64,
    /// Packets that could share a coded frame and left alone: no packet for another peer waited.
    #[serde(default)]
    pub natives_without_partner: u64,
    /// Packets that could share a coded frame and left alone: the next packets for other peers could not
    /// share it, because they are too short or their receivers lack this one.
    #[serde(default)]
    pub natives_with_unfit_partner: u64,
    /// Packets from the peer decoded from coded frames.
    #[serde(default)]
    pub natives_decoded: u64,
    /// Packets in coded frames that the node could not decode, because it lacked another packet.
    #[serde(default)]
    pub natives_undecodable: u64,
    /// Packets that the peer forwarded for stations of this node.
    #[serde(default)]
    pub forwarded_packets: u64,
    /// TCP connections that crossed the hop as streams.
    #[serde(default)]
    pub streams: StreamCounters,
}

impl PeerCounters {
    /// A packet is delivered now. One that waits for an earlier one is not yet.
    pub(crate) fn count_delivery(&mut self, packet: &[u8]) {
        self.inner_received_packets += 1;
        self.inner_received_bytes += packet.len() as u64;
    }
}
