//! The log's messages on troubles that only counters show: black holes, changes of the path MTU, overloads.
//! Consecutive snapshots are compared. Each message names what to do, and comes at most once a minute.

use io::Snapshot;
use node::{AROUND_PACKET, PeerStatus, outer_header_bytes};
use std::collections::BTreeMap;
use std::time::Duration;

/// The time between two messages of one kind.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// A path MTU is settled after this time without a change.
const SETTLED_AFTER: Duration = Duration::from_secs(5);

/// The compared state of a node.
#[derive(Debug, Default)]
pub struct Troubles {
    peers: BTreeMap<String, OfPeer>,
    handed_over_lost: Count,
    packets_refused: Count,
    datagrams_refused: Count,
    handshake_rate: Count,
}

#[derive(Debug, Default)]
struct OfPeer {
    black_holes: Count,
    queue_dropped: Count,
    path: Path,
}

/// A counter, as far as the log has it.
#[derive(Debug, Default)]
struct Count {
    told: u64,
    told_at: Option<Duration>,
}

/// The path MTU to a peer, in bytes.
#[derive(Debug, Default)]
struct Path {
    /// The last one that the log has; at first that of the interface.
    told: Option<u64>,
    told_at: Option<Duration>,
    /// The one that the path carries, and its time.
    now: Option<u64>,
    since: Duration,
    is_settled: bool,
}

fn is_due(told_at: Option<Duration>, now: Duration) -> bool {
    told_at.is_none_or(|at| now >= at + TELL_EVERY)
}

impl Count {
    /// The increase since the last message, if a message is due.
    fn grown(&mut self, now: Duration, count: u64) -> Option<u64> {
        let grown = count.saturating_sub(self.told);
        if grown == 0 || !is_due(self.told_at, now) {
            return None;
        }
        (self.told, self.told_at) = (count, Some(now));
        Some(grown)
    }
}

impl Path {
    /// The earlier and the new MTU, as soon as the path has carried the new one for a while.
    fn changed(&mut self, now: Duration, peer: &PeerStatus) -> Option<(u64, u64)> {
        self.told = self.told.or(peer.path_mtu_bytes);
        let bytes = peer.path_mtu_bytes.filter(|_| peer.path_mtu_confirmed);
        if bytes != self.now {
            (self.now, self.since) = (bytes, now);
        }
        let bytes = bytes.filter(|_| now >= self.since + SETTLED_AFTER)?;
        let told = self.told?;
        if !std::mem::replace(&mut self.is_settled, true) && bytes > told {
            // The first size of a search is smaller than the path's.
            self.told = Some(bytes);
            return None;
        }
        if told == bytes || !is_due(self.told_at, now) {
            return None;
        }
        (self.told, self.told_at) = (Some(bytes), Some(now));
        Some((told, bytes))
    }
}

impl Troubles {
    /// Compares the earlier snapshots with that of `now`. Returns the new messages.
    pub fn step(&mut self, now: Duration, Snapshot { node, io, .. }: &Snapshot) -> Vec<String> {
        let mut told = Vec::new();
        for peer in &node.peers {
            // Names are those of the configuration, so the table is bounded.
            let of_peer = self.peers.entry(peer.name.clone()).or_default();
            of_peer.step(now, peer, &mut told);
        }
        let one = |kind: &mut Count, count: u64, message: &dyn Fn(u64) -> String| {
            kind.grown(now, count).map(message)
        };
        let all = [
            one(&mut self.handed_over_lost, io.handed_over_lost, &|count| {
                format!(
                    "{count} packets and datagrams were lost between the node's threads: a thread is overloaded; give [node] \
                     threads no more than the machine's processors, or slow the senders"
                )
            }),
            one(&mut self.packets_refused, io.packets_refused, &|count| {
                format!(
                    "the kernel refused {count} packets or groups of packets from the tunnel; see that the tunnel's interface is \
                     up, and that this machine does not lack memory"
                )
            }),
            one(&mut self.datagrams_refused, io.datagrams_refused, &|count| {
                format!(
                    "this machine refused {count} datagrams to peers; see that it has a route to them, and that its firewall \
                     permits UDP to them"
                )
            }),
            one(&mut self.handshake_rate, node.refused.handshake_rate, &|count| {
                format!(
                    "{count} handshakes were beyond the rate that the node answers; peers get through by a cookie; block the \
                     sources at the firewall if this lasts"
                )
            }),
        ];
        told.extend(all.into_iter().flatten());
        told
    }
}

impl OfPeer {
    fn step(&mut self, now: Duration, peer: &PeerStatus, told: &mut Vec<String>) {
        let name = &peer.name;
        if self.black_holes.grown(now, peer.counters.black_holes).is_some() {
            told.push(format!(
                "the path to {name} lost all packets of the size in use, and the node takes smaller ones; permit ICMP \
                 \"fragmentation needed\" and \"packet too big\" on the path, or set [tunnel] mtu at both ends"
            ));
        }
        if let Some((before, bytes)) = self.path.changed(now, peer) {
            let around = peer.endpoint.map_or(0, outer_header_bytes) + AROUND_PACKET as u64;
            let advice = if bytes < before {
                format!(
                    "; senders of larger packets get an ICMP message; set [tunnel] mtu = {} at both ends if they ignore it",
                    bytes.saturating_sub(around)
                )
            } else {
                String::new()
            };
            told.push(format!("the path MTU to {name} is {bytes} bytes now, and was {before}{advice}"));
        }
        if let Some(count) = self.queue_dropped.grown(now, peer.counters.queue_dropped) {
            told.push(format!(
                "{count} packets for {name} were dropped, because its queue was full: senders offer more than the link carries, \
                 and do not slow down; limit their rate"
            ));
        }
    }
}

#[cfg(test)]
mod tests;
