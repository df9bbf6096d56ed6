//! Events for the node's driver: news for a log, and on request every packet.

use crate::keys::PublicKey;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use streams::NoWayBack;
use wire::inner::Flow;

/// How often the same complaint is told.
const TELL_EVERY: Duration = Duration::from_secs(60);

/// When a complaint was told last.
#[derive(Debug, Default)]
pub(crate) struct Complaint(Option<Duration>);

impl Complaint {
    /// Whether it is told now: at most once a minute.
    pub fn is_told(&mut self, now: Duration) -> bool {
        let is_due = self.0.is_none_or(|told| now >= told + TELL_EVERY);
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A session with a peer began or was renewed.
    SessionUp {
        /// The peer's name.
        peer: String,
        /// Where it is.
        endpoint: Option<SocketAddr>,
        /// Whether the peer has started anew since the last session.
        new_boot: bool,
        /// Whether the two have no version in common, so that the session is a plain tunnel.
        plain: bool,
    },
    /// A peer said goodbye or was silent for too long.
    SessionDown {
        /// The peer's name.
        peer: String,
    },
    /// A peer that was not reachable is. Every peer starts as one that is not.
    Reachable {
        /// Index of the peer in the configuration.
        index: usize,
        /// Its name.
        peer: String,
    },
    /// A peer that was reachable does not answer, or has said goodbye: packets for it are refused until it is
    /// back.
    Unreachable {
        /// Index of the peer in the configuration.
        index: usize,
        /// Its name.
        peer: String,
    },
    /// A peer sends from another address now.
    Roamed {
        /// The peer's name.
        peer: String,
        /// Where it was.
        from: Option<SocketAddr>,
        /// Where it is.
        to: SocketAddr,
    },
    /// Two machines have a peer's key in turn, or an earlier state of the peer came back.
    SameKey {
        /// The peer's name.
        peer: String,
    },
    /// This node, a station, is associated with another gateway now.
    Moved {
        /// Name of the earlier gateway.
        from: String,
        /// Name of the new gateway.
        to: String,
    },
    /// A peer's response does not verify. Told at most every minute.
    OtherPresharedKey {
        /// The peer's name.
        peer: String,
    },
    /// A node of this network asks for a session with another public key than this node's.
    Misaddressed {
        /// This node's key.
        own: PublicKey,
        /// The sender's address.
        from: SocketAddr,
    },
    /// A node of this network that is no peer began a handshake. Told at most every minute.
    Stranger {
        /// Its key: it has proved neither that it holds it, nor that it is at this address.
        key: PublicKey,
        /// Where its initiation came from.
        from: SocketAddr,
    },
    /// A packet from a peer has a source address that is not the peer's. Told at most every minute.
    WrongSource {
        /// The peer's name.
        peer: String,
        /// The address.
        source: IpAddr,
    },
    /// The answers of a destination do not come back through a peer. Told at most every minute.
    NoWayBack {
        /// The peer's name.
        peer: String,
        /// The destination.
        found: NoWayBack,
    },
    /// A peer's key was revoked.
    Revoked {
        /// The peer's name.
        peer: String,
    },
    /// Another peer is the way to a destination, or none is any more.
    NextHop {
        /// The destination.
        destination: String,
        /// The peer.
        peer: Option<String>,
    },
    /// A station is associated with another gateway, or with this one again.
    Associated {
        /// The station.
        station: String,
        /// The other gateway.
        at: Option<String>,
    },
    /// Sharing with the group cost more air time than it saved, and pauses.
    SharingPaused {
        /// The length of the pause.
        pause: Duration,
        /// The air time that sharing took.
        spent: Duration,
        /// The air time that it saved.
        saved: Duration,
    },
    /// Sharing is tried again.
    SharingResumed,
    /// How many segments a wire packet carries of a TCP flow now (only with [`crate::Config::boost`]). Told
    /// when it changes, and every second while the flow sends; of a flow of which nothing can be removed,
    /// never.
    Ratio {
        /// The flow.
        flow: Flow,
        /// Segments a wire packet, at least 1.
        ratio: f64,
    },
    /// A packet left (only with [`crate::Config::trace`]).
    Sent(SentPacket),
    /// A packet arrived (only with [`crate::Config::trace`]).
    Arrived {
        /// Index of the peer in the configuration.
        peer: usize,
        /// Its link sequence.
        sequence: u64,
        /// Whether it could be restored and was delivered.
        outcome: Outcome,
    },
}

/// A packet that left: one row of a dependency trace (byte-caching paper, Figure 14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentPacket {
    /// Index of the peer in the configuration.
    pub peer: usize,
    /// Its link sequence.
    pub sequence: u64,
    /// The flow.
    pub flow: Flow,
    /// TCP's sequence number, for TCP.
    pub tcp_sequence: Option<u32>,
    /// Bytes of transport payload.
    pub payload_bytes: usize,
    /// Bytes of the packet.
    pub packet_bytes: usize,
    /// Bytes of the frame that it became.
    pub frame_bytes: usize,
    /// The link sequences it refers to.
    pub references: Vec<u64>,
}

/// Fate of a packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Delivered.
    Delivered,
    /// Not restored, not delivered.
    Undecodable,
    /// Not restored yet: the node has requested the packets that it needs.
    Held,
    /// Delivered late, after a repair.
    Repaired,
}

impl Outcome {
    /// Of a packet that is delivered now, and may have been held before.
    #[must_use]
    pub fn after(was_held: bool) -> Self {
        if was_held { Outcome::Repaired } else { Outcome::Delivered }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::SessionUp { peer, endpoint, new_boot, plain } => {
                write!(f, "session with {peer}")?;
                if let Some(endpoint) = endpoint {
                    write!(f, " at {endpoint}")?;
                }
                f.write_str(if *new_boot { ", which has started anew" } else { " renewed" })?;
                f.write_str(if *plain { "; no version in common: a plain tunnel" } else { "" })
            }
            Event::SessionDown { peer } => write!(f, "no session with {peer} any more"),
            Event::Reachable { peer, .. } => write!(f, "{peer} is reachable"),
            Event::Unreachable { peer, .. } => write!(f, "{peer} is not reachable"),
            Event::Roamed { peer, from: Some(from), to } => write!(f, "{peer} moved from {from} to {to}"),
            Event::Roamed { peer, from: None, to } => write!(f, "{peer} is at {to}"),
            Event::SameKey { peer } => write!(
                f,
                "two machines have the key of {peer} in turn; give each machine its own key and its own [[peer]], or stop one of them"
            ),
            Event::Moved { from, to } => write!(f, "associated with {to} now, and no more with {from}"),
            Event::OtherPresharedKey { peer } => write!(
                f,
                "no session with {peer}: its answer is under another pre-shared key; put the same key into \
                 preshared_key_file at both ends, or take it out at both"
            ),
            Event::Stranger { key, from } => write!(
                f,
                "a node at {from} that is no peer wants a session; to admit it, add [[peer]] name = \"NAME\", public_key = \"{key}\", \
                 allowed_ips = [\"ITS INNER ADDRESS\"], and reload"
            ),
            Event::Misaddressed { own, from } => write!(
                f,
                "a node at {from} wants a session with another public key than this node's; in its [[peer]] for this node, write \
                 public_key = \"{own}\""
            ),
            Event::WrongSource { peer, source } => write!(
                f,
                "packets from {peer} are dropped: their source {source} is not among its allowed_ips; add it to [[peer]] {peer:?} \
                 allowed_ips here, or correct [tunnel] addresses there"
            ),
            Event::NoWayBack { peer, found: NoWayBack { destination, is_answered, kept } } => {
                let how = if *is_answered { "answers by another way than" } else { "does not answer" };
                let minutes = kept.as_secs() / 60;
                write!(f, "{destination} {how} {peer}: connections to it go in packets for {minutes} minutes")
            }
            Event::Revoked { peer } => write!(f, "the key of {peer} is revoked"),
            Event::NextHop { destination, peer: Some(peer) } => {
                write!(f, "the way to {destination} is {peer}")
            }
            Event::NextHop { destination, peer: None } => write!(f, "there is no way to {destination}"),
            Event::Associated { station, at: Some(at) } => write!(f, "{station} is associated with {at}"),
            Event::Associated { station, at: None } => write!(f, "{station} is associated with this gateway"),
            Event::SharingPaused { pause, spent, saved } => write!(
                f,
                "overhearing pauses for {} minutes: it took {:.1} s of air time and saved {:.1} s; stations hear too little of \
                 each other, or fetch different content: see docs/guides/radios.md, or remove [overhear]",
                pause.as_secs() / 60,
                spent.as_secs_f64(),
                saved.as_secs_f64()
            ),
            Event::SharingResumed => f.write_str("overhearing is tried again"),
            Event::Ratio { flow, ratio } => {
                write!(f, "a wire packet carries {ratio:.2} segments of {flow:?}")
            }
            Event::Sent(sent) => {
                write!(
                    f,
                    "sent {} tcp {} payload {} packet {} frame {} refers to {:?}",
                    sent.sequence,
                    sent.tcp_sequence.map_or_else(|| "-".to_string(), |sequence| sequence.to_string()),
                    sent.payload_bytes,
                    sent.packet_bytes,
                    sent.frame_bytes,
                    sent.references
                )
            }
            Event::Arrived { sequence, outcome, .. } => write!(f, "arrived {sequence} {outcome:?}"),
        }
    }
}
