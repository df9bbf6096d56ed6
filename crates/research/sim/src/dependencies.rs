//! Dependencies of packets: the byte-caching paper's Figure 14, for any run.
//!
//! [`Dependencies`] collects, from the nodes' events, each packet's references and fate in one direction, and
//! the earlier packet that it retransmits. Printed, it has one line for each packet:
//!
//! ```text
//! IP 14  tcp 18981  1452 -> 210 bytes  refers to 13, 12          undecodable
//! IP 24  tcp 18981  1452 -> 1453 bytes retransmission of 14      delivered
//! ```

use crate::observer::{Observation, Observer};
use node::{Event, Outcome, SentPacket};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use wire::inner::Flow;

/// Sender and receiver by their host numbers, and the peer index of each in the other's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The sender.
    pub from: usize,
    /// The sender's peer index of the receiver.
    pub from_peer: usize,
    /// The receiver.
    pub to: usize,
    /// The receiver's peer index of the sender.
    pub to_peer: usize,
}

impl Link {
    /// From the gateway to a station.
    #[must_use]
    pub fn down(station: usize) -> Self {
        Link { from: crate::GATEWAY, from_peer: station.saturating_sub(1), to: station, to_peer: 0 }
    }

    /// From a station to the gateway.
    #[must_use]
    pub fn up(station: usize) -> Self {
        Link { from: station, from_peer: 0, to: crate::GATEWAY, to_peer: station.saturating_sub(1) }
    }
}

/// One packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its departure.
    pub at: Duration,
    /// The packet.
    pub sent: SentPacket,
    /// The newest earlier packet with the same flow and TCP sequence, if it has payload.
    pub retransmission_of: Option<u64>,
    /// Its fate; `None` if it never arrived.
    pub outcome: Option<Outcome>,
}

/// The packets of one direction. A new boot of either node starts their numbers, and this table, again.
#[derive(Debug)]
pub struct Dependencies {
    link: Link,
    most_rows: usize,
    rows: BTreeMap<u64, Row>,
    by_tcp: BTreeMap<(Flow, u32), u64>,
}

impl Dependencies {
    /// For one direction; keeps the newest `most_rows` packets.
    #[must_use]
    pub fn new(link: Link, most_rows: usize) -> Self {
        Dependencies { link, most_rows: most_rows.max(1), rows: BTreeMap::new(), by_tcp: BTreeMap::new() }
    }

    /// Notes an event of a host's node.
    pub fn note(&mut self, now: Duration, host: usize, event: &Event) {
        match event {
            Event::Sent(sent) if (host, sent.peer) == (self.link.from, self.link.from_peer) => {
                self.note_sent(now, sent);
            }
            Event::Arrived { peer, sequence, outcome }
                if (host, *peer) == (self.link.to, self.link.to_peer) =>
            {
                if let Some(row) = self.rows.get_mut(sequence) {
                    row.outcome = Some(*outcome);
                }
            }
            _ => {}
        }
    }

    fn note_sent(&mut self, now: Duration, sent: &SentPacket) {
        if self.rows.last_key_value().is_some_and(|(&newest, _)| newest >= sent.sequence) {
            self.rows.clear();
            self.by_tcp.clear();
        }
        if self.rows.len() == self.most_rows
            && let Some((sequence, row)) = self.rows.pop_first()
            && let Some(tcp_sequence) = row.sent.tcp_sequence
            && self.by_tcp.get(&(row.sent.flow, tcp_sequence)) == Some(&sequence)
        {
            self.by_tcp.remove(&(row.sent.flow, tcp_sequence));
        }
        let key = sent.tcp_sequence.filter(|_| sent.payload_bytes > 0).map(|tcp| (sent.flow, tcp));
        let retransmission_of = key.and_then(|key| self.by_tcp.insert(key, sent.sequence));
        self.rows
            .insert(sent.sequence, Row { at: now, sent: sent.clone(), retransmission_of, outcome: None });
    }

    /// The packets in order of departure.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// The packets that `sequence` depends on, directly or through others, with itself in a circle.
    #[must_use]
    pub fn needs(&self, sequence: u64) -> Vec<u64> {
        let mut found = std::collections::BTreeSet::new();
        let mut ahead = vec![sequence];
        while let Some(next) = ahead.pop() {
            for &reference in self.rows.get(&next).map_or(&[][..], |row| &row.sent.references) {
                if found.insert(reference) {
                    ahead.push(reference);
                }
            }
        }
        found.into_iter().collect()
    }
}

impl Observer for Dependencies {
    fn see(&mut self, now: Duration, sight: &Observation<'_>) {
        if let Observation::Node { host, event } = sight {
            self.note(now, *host, event);
        }
    }
}

impl fmt::Display for Dependencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rows().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sent = &self.sent;
        write!(f, "{:>10.6} IP {:<6}", self.at.as_secs_f64(), sent.sequence)?;
        match sent.tcp_sequence {
            Some(tcp) => write!(f, " tcp {tcp:<10}")?,
            None => write!(f, " {:<14}", "")?,
        }
        write!(f, " {:>5} -> {:<5} bytes  ", sent.packet_bytes, sent.frame_bytes)?;
        let mut about = Vec::new();
        if let Some(earlier) = self.retransmission_of {
            about.push(format!("retransmission of {earlier}"));
        }
        if !sent.references.is_empty() {
            let names: Vec<String> = sent.references.iter().map(u64::to_string).collect();
            about.push(format!("refers to {}", names.join(", ")));
        }
        let outcome = match self.outcome {
            None => "lost",
            Some(Outcome::Delivered) => "delivered",
            Some(Outcome::Undecodable) => "undecodable",
            Some(Outcome::Held) => "held",
            Some(Outcome::Repaired) => "repaired",
        };
        write!(f, "{:<40} {outcome}", about.join("; "))
    }
}
