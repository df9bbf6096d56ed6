//! What a node can say of itself. Every figure comes from the counters of the running node.

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
    /// The node's public key.
    pub public_key: String,
    /// This start of the node, random.
    pub boot: u64,
    /// Seconds since it started.
    pub uptime_seconds: f64,
    /// The reference policy.
    pub policy: String,
    /// Its peers, as configured.
    pub peers: Vec<PeerStatus>,
    /// The mesh's nodes to which the way changes, as configured.
    #[serde(default)]
    pub destinations: Vec<DestinationStatus>,
    /// Chunks that took another's place in the gateway's cache.
    #[serde(default)]
    pub collisions: u64,
    /// What was refused.
    pub refused: Refused,
}

/// A node of the mesh to which the way changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestinationStatus {
    /// What people call it.
    pub name: String,
    /// The peer that is the way to it; none: there is none.
    pub next_hop: Option<String>,
    /// How often the way has changed, the first time included.
    pub changes: u64,
    /// Packets that found no way to it in time.
    pub refused_packets: u64,
}

/// One peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerStatus {
    /// What people call it.
    pub name: String,
    /// Its public key.
    pub public_key: String,
    /// Where it is now.
    pub endpoint: Option<SocketAddr>,
    /// Whether packets for it are taken.
    pub reachable: bool,
    /// Seconds since the session's handshake; none without a session.
    pub session_age_seconds: Option<f64>,
    /// Whether the session was agreed on under the key that the network had before.
    #[serde(default)]
    pub previous_network_key: bool,
    /// Whether its key was revoked.
    #[serde(default)]
    pub revoked: bool,
    /// The version of the formats that the session speaks; 0: they have none in common, and it is a plain
    /// tunnel.
    pub version: Option<u8>,
    /// Smoothed round trip.
    pub srtt_seconds: Option<f64>,
    /// How many source ports are used towards it.
    pub source_ports: usize,
    /// From how many ports of its it is heard.
    pub heard_ports: usize,
    /// The largest outer IP packet that is sent to it, in bytes; none without an endpoint.
    pub path_mtu_bytes: Option<u64>,
    /// Whether the path was seen to carry that.
    pub path_mtu_confirmed: bool,
    /// The share of what we sent lately that the air lost.
    pub loss: Option<f64>,
    /// At which rate the peer is sent to, in bits a second, as this machine's radio says; none where no radio
    /// does.
    #[serde(default)]
    pub radio_bits_per_second: Option<u64>,
    /// The share of what was sent to other members of the group that it overheard lately; none if it is no
    /// member.
    #[serde(default)]
    pub overheard_share: Option<f64>,
    /// The same by the rate at which it was sent, since it became a member.
    #[serde(default)]
    pub overheard_by_rate: Vec<OverheardAtRate>,
    /// Whether this node, a station, is associated with it; none where there is no other one.
    #[serde(default)]
    pub associated: Option<bool>,
    /// The other gateway with which it, a station, is associated; none where it is this one.
    #[serde(default)]
    pub associated_with: Option<String>,
    /// How many of its stations overhear this gateway, if it is another gateway.
    #[serde(default)]
    pub overheard_by: Option<usize>,
    /// Bytes that wait to be sent.
    pub queue_bytes: usize,
    /// What the repair of TCP segments keeps, if that is on.
    #[serde(default)]
    pub recover: Option<RecoverStatus>,
    /// TCP flows whose congestion windows are larger for what is removed.
    #[serde(default)]
    pub boosted_flows: usize,
    /// How many segments a wire packet of theirs carries, on average; none without such flows.
    #[serde(default)]
    pub boost_ratio: Option<f64>,
    /// What has been counted since the start.
    pub counters: PeerCounters,
}

impl PeerCounters {
    /// What was saved of the air by not sending chunks that the peer had, less what those took that it lacked
    /// after all.
    #[must_use]
    pub fn air_saved_seconds(&self) -> f64 {
        (self.air_saved_nanoseconds as f64 - self.air_spent_nanoseconds as f64) / 1e9
    }
}

/// What a member overheard of what others were sent at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverheardAtRate {
    /// The rate, in bits a second.
    pub rate_bits_per_second: u64,
    /// Packets that were sent so, of which the member has said whether it heard them.
    pub packets: u64,
    /// Those that it heard.
    pub overheard_packets: u64,
}

impl From<overhear::OverheardAtRate> for OverheardAtRate {
    fn from(counted: overhear::OverheardAtRate) -> Self {
        let overhear::OverheardAtRate { rate_bits_per_second, packets, overheard_packets } = counted;
        OverheardAtRate { rate_bits_per_second, packets, overheard_packets }
    }
}

/// What the repair of TCP segments keeps for a peer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RecoverStatus {
    /// Flows that are watched.
    pub flows: usize,
    /// Bytes of segments that are kept for them.
    pub bytes: usize,
    /// How many segments those are.
    pub packets: usize,
    /// In how many slots they are: fewer than segments where they are combined.
    pub slots: usize,
    /// The share of the segments of the flow used last that the hop lost.
    pub loss: Option<f32>,
}

/// Counted per peer since the start; survives sessions and boots of the peer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerCounters {
    /// Sessions begun.
    pub sessions: u64,
    /// Inner packets taken for the peer and sent.
    pub inner_sent_packets: u64,
    /// Their bytes.
    pub inner_sent_bytes: u64,
    /// Inner packets delivered.
    pub inner_received_packets: u64,
    /// Their bytes.
    pub inner_received_bytes: u64,
    /// Datagrams sent.
    pub outer_sent_datagrams: u64,
    /// Their bytes with outer IP and UDP headers.
    pub outer_sent_bytes: u64,
    /// Datagrams received and authenticated.
    pub outer_received_datagrams: u64,
    /// Their bytes with outer IP and UDP headers.
    pub outer_received_bytes: u64,
    /// Packets that left reduced.
    pub reduced_packets: u64,
    /// Bytes that reduction left out, net of shims and MACs.
    pub removed_bytes: u64,
    /// Bytes that shorter headers and compressed literals left out beyond that.
    pub shortened_bytes: u64,
    /// Packets that shared a datagram with one before them.
    #[serde(default)]
    pub packed_packets: u64,
    /// Reduced packets that arrived.
    pub reduced_received_packets: u64,
    /// Packets that could not be restored when they arrived.
    pub missed: u64,
    /// Of these: that refer to packets not held.
    pub missed_absent: u64,
    /// Of these: that restored to other bytes than were sent.
    pub missed_wrong_bytes: u64,
    /// Of these: that speak of a store that is gone.
    pub missed_other_generation: u64,
    /// Missed packets that were repaired and delivered after all.
    pub repaired: u64,
    /// Packets dropped because the queue was full.
    pub queue_dropped: u64,
    /// Packets dropped because their flow kept a queue for too long.
    pub queue_dropped_by_codel: u64,
    /// Packets marked as having met congestion, for the same reason.
    pub queue_marked: u64,
    /// Packets that came in a datagram with a mark of congestion, and were marked.
    pub ecn_marked: u64,
    /// Packets that came in such a datagram, and were dropped because their sender would not understand a
    /// mark.
    pub ecn_dropped: u64,
    /// Packets whose mark and whose datagram's do not go together (RFC 6040, figure 4).
    pub ecn_odd: u64,
    /// Packets larger than a datagram on the path can carry.
    pub too_large: u64,
    /// Of these: that were fragmented.
    pub fragmented: u64,
    /// Packets refused because it was not reachable.
    pub unreachable: u64,
    /// Datagrams sent to find out what the path carries.
    pub path_probes: u64,
    /// How often the path did not carry any more what it was used for.
    pub black_holes: u64,
    /// ICMP messages to inner hosts whose packets could not go on.
    pub icmp_sent: u64,
    /// Receipts sent.
    pub receipts_sent: u64,
    /// Receipts received.
    pub receipts_received: u64,
    /// Packets sent again because receipts showed them to be missing.
    pub recovered: u64,
    /// Packets asked for again.
    pub requested: u64,
    /// Packets sent again as they were.
    pub replied: u64,
    /// Frames of ours that the peer says it never got, or of its that make no sense here.
    pub bad_frames: u64,
    /// Packets whose source address does not belong to the peer.
    pub wrong_source: u64,
    /// Packets sent for others to overhear.
    #[serde(default)]
    pub shared_packets: u64,
    /// Bytes of chunks that the peer had, from its own packets or overheard, and that were not sent.
    #[serde(default)]
    pub overheard_removed_bytes: u64,
    /// What those bytes would have taken of the air, at the rate at which the peer is sent to.
    #[serde(default)]
    pub air_saved_nanoseconds: u64,
    /// What the chunks took that were sent after all, since the peer lacked them.
    #[serde(default)]
    pub air_spent_nanoseconds: u64,
    /// Datagrams for others that were overheard.
    #[serde(default)]
    pub overheard_datagrams: u64,
    /// Chunks that were put back from what this node had heard.
    #[serde(default)]
    pub chunks_hit: u64,
    /// Chunks that it lacked.
    #[serde(default)]
    pub chunks_missed: u64,
    /// Requests for chunks that were missing.
    #[serde(default)]
    pub chunk_requests: u64,
    /// Chunk requests answered.
    #[serde(default)]
    pub chunk_replies: u64,
    /// TCP segments that were lost and sent again from here, as they were.
    #[serde(default)]
    pub segments_repaired: u64,
    /// ... and combined with others.
    #[serde(default)]
    pub segments_repaired_coded: u64,
    /// Of both: because nothing was heard of them.
    #[serde(default)]
    pub segment_timeouts: u64,
    /// Duplicate acknowledgments that were kept from the sender meanwhile.
    #[serde(default)]
    pub acks_suppressed: u64,
    /// Acknowledgments that went on without what they showed to be missing.
    #[serde(default)]
    pub acks_stripped: u64,
    /// How often something missing was left to the sender.
    #[serde(default)]
    pub segment_failures: u64,
    /// Repairs that never left: too many waited, or the path had become too narrow for them.
    #[serde(default)]
    pub segment_repairs_dropped: u64,
    /// Coded repairs from the peer that were undone and delivered.
    #[serde(default)]
    pub coded_restored: u64,
    /// Coded repairs that could not be.
    #[serde(default)]
    pub coded_not_restored: u64,
    /// Notices of TCP segments that were lost on their way here.
    #[serde(default)]
    pub notices_sent: u64,
    /// Notices of TCP segments that were lost on their way to the peer.
    #[serde(default)]
    pub notices_received: u64,
    /// What was said to this other gateway.
    #[serde(default)]
    pub neighbour_messages_sent: u64,
    /// What it said.
    #[serde(default)]
    pub neighbour_messages_received: u64,
    /// Chunks that it named, which stations of this gateway's overheard there.
    #[serde(default)]
    pub chunks_named: u64,
    /// Packets from others that were passed on to it, where this node is a relay.
    #[serde(default)]
    pub relayed_packets: u64,
    /// Packets for it that left in a frame with those for others.
    #[serde(default)]
    pub natives_sent: u64,
    /// Such frames that were addressed to it.
    #[serde(default)]
    pub natives_datagrams: u64,
    /// Bytes of datagrams that were not sent for that.
    #[serde(default)]
    pub natives_saved_bytes: u64,
    /// Packets from it that were taken out of frames with those for others.
    #[serde(default)]
    pub natives_decoded: u64,
    /// Those that could not be: what was to be taken out is not here.
    #[serde(default)]
    pub natives_undecodable: u64,
    /// Packets that it sent on for stations that are here.
    #[serde(default)]
    pub forwarded_packets: u64,
}

impl PeerCounters {
    /// A packet is delivered now. One that waits for an earlier one is not yet.
    pub(crate) fn count_delivery(&mut self, packet: &[u8]) {
        self.inner_received_packets += 1;
        self.inner_received_bytes += packet.len() as u64;
    }
}

/// Datagrams and packets refused before they changed anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// No unit of ours, or a malformed one.
    pub malformed: u64,
    /// Of a version that is not spoken here.
    pub other_version: u64,
    /// Sealed under a key that is not known here.
    pub unknown_key: u64,
    /// Does not authenticate.
    pub authentication: u64,
    /// Seen before, or too old.
    pub replay: u64,
    /// Sealed under a key that has expired.
    pub expired: u64,
    /// A handshake without the network's mark.
    pub handshake_mark: u64,
    /// A handshake by somebody who is no peer.
    pub handshake_stranger: u64,
    /// More handshakes than are answered in that time.
    pub handshake_rate: u64,
    /// A handshake message that was answered before.
    pub handshake_repeated: u64,
    /// Handshakes beyond that rate whose senders were given a cookie.
    pub handshake_challenged: u64,
    /// Handshakes of peers whose keys were revoked.
    #[serde(default)]
    pub handshake_revoked: u64,
    /// Responses that do not verify: under another pre-shared key.
    #[serde(default)]
    pub handshake_preshared_key: u64,
    /// Packets from the TUN that lead to no peer.
    pub no_route: u64,
    /// Packets from the TUN that are no IP.
    pub not_ip: u64,
}

impl std::ops::AddAssign for Refused {
    fn add_assign(&mut self, other: Self) {
        let Refused {
            malformed,
            other_version,
            unknown_key,
            authentication,
            replay,
            expired,
            handshake_mark,
            handshake_stranger,
            handshake_rate,
            handshake_repeated,
            handshake_challenged,
            handshake_revoked,
            handshake_preshared_key,
            no_route,
            not_ip,
        } = other;
        self.malformed += malformed;
        self.other_version += other_version;
        self.unknown_key += unknown_key;
        self.authentication += authentication;
        self.replay += replay;
        self.expired += expired;
        self.handshake_mark += handshake_mark;
        self.handshake_stranger += handshake_stranger;
        self.handshake_rate += handshake_rate;
        self.handshake_repeated += handshake_repeated;
        self.handshake_challenged += handshake_challenged;
        self.handshake_revoked += handshake_revoked;
        self.handshake_preshared_key += handshake_preshared_key;
        self.no_route += no_route;
        self.not_ip += not_ip;
    }
}
