//! Converts frames to packets with new bytes only, and counts everything that is left out.

use crate::Frame;
use crate::crossing::Crossings;
use crate::encryption::Encryption;
use crate::flow::{FlowTable, Toward};
use crate::link::{FrameCounts, LinkLayer};
use crate::packet::{Batch, Client, Packet};
use etherparse::{LaxSlicedPacket, TransportSlice};
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::Range;
use wire::inner::{Flow, Inner, TCP, UDP};

/// The most clients distinguished; later ones count as one.
const MAX_CLIENTS: usize = 1 << 20;
/// The longest TCP payload in an Ethernet frame of 1500 bytes.
const MAX_SEGMENT_BYTES: usize = 1460;
/// Bytes received from which a host counts as a client.
pub const CLIENT_BYTES: u64 = 1000;

/// Contents of a capture's packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TrafficCounts {
    /// Packets with payload that is not entirely retransmitted.
    pub payload_packets: u64,
    /// Bytes of TCP and UDP payload without retransmissions: the base of all shares.
    pub payload_bytes: u64,
    /// Bytes of these from servers to clients.
    pub to_client_bytes: u64,
    /// Bytes of TCP payload that occurred before: retransmitted by TCP, or captured twice.
    pub retransmitted_bytes: u64,
    /// Payload of TLS and DTLS flows.
    pub tls_bytes: u64,
    /// Payload of QUIC flows.
    pub quic_bytes: u64,
    /// Payload of SSH flows.
    pub ssh_bytes: u64,
    /// Fragments of TCP and UDP packets, and packets truncated within their headers; they are left out.
    pub fragments: u64,
    /// TCP segments longer than an ordinary frame: the capturing host's offloads joined them or had not yet
    /// cut them.
    pub coalesced_packets: u64,
    /// IP packets that are neither TCP nor UDP.
    pub other_protocol_packets: u64,
    /// Packets marked as IP that are malformed.
    pub malformed_packets: u64,
}

impl TrafficCounts {
    /// Bytes of payload that is encrypted end to end.
    #[must_use]
    pub fn encrypted_bytes(&self) -> u64 {
        self.tls_bytes + self.quic_bytes + self.ssh_bytes
    }
}

/// Dissects captured frames.
#[derive(Debug, Default)]
pub struct Dissector {
    link: LinkLayer,
    transport: Transport,
}

impl Dissector {
    /// Dissects a frame and appends its new bytes to `batch`.
    pub fn dissect(&mut self, frame: &Frame<'_>, batch: &mut Batch) {
        self.link.unpack(frame, |packet| _ = self.transport.packet(packet, batch));
    }

    /// The same, and appends the frame's whole packets to `crossings`.
    pub fn dissect_whole(&mut self, frame: &Frame<'_>, batch: &mut Batch, crossings: &mut Crossings) {
        self.link.unpack(frame, |packet| {
            if let Some((inner, toward)) = self.transport.packet(packet, batch) {
                crossings.push(frame.at, toward, &inner, &packet[..inner.total_bytes]);
            }
        });
    }

    /// Counts of frames.
    #[must_use]
    pub fn frames(&self) -> &FrameCounts {
        self.link.counts()
    }

    /// Counts of traffic.
    #[must_use]
    pub fn traffic(&self) -> &TrafficCounts {
        &self.transport.counts
    }

    /// Number of clients that received at least [`CLIENT_BYTES`].
    #[must_use]
    pub fn clients(&self) -> usize {
        self.transport.clients.received_bytes.iter().filter(|&&bytes| bytes >= CLIENT_BYTES).count()
    }
}

#[derive(Debug, Default)]
struct Clients {
    numbers: HashMap<IpAddr, Client>,
    received_bytes: Vec<u64>,
}

impl Clients {
    fn number(&mut self, address: IpAddr) -> Client {
        let next = self.numbers.len();
        if next >= MAX_CLIENTS && !self.numbers.contains_key(&address) {
            return MAX_CLIENTS as Client - 1;
        }
        let number = *self.numbers.entry(address).or_insert(next as Client);
        if number as usize == self.received_bytes.len() {
            self.received_bytes.push(0);
        }
        number
    }
}

#[derive(Debug, Default)]
struct Transport {
    flows: FlowTable,
    clients: Clients,
    counts: TrafficCounts,
    fresh: Vec<Range<usize>>,
}

impl Transport {
    /// Appends a packet's new bytes to `batch`. Returns its headers and its direction, unless it is
    /// malformed.
    fn packet(&mut self, packet: &[u8], batch: &mut Batch) -> Option<(Inner, Toward)> {
        let (Ok(inner), Ok(sliced)) = (Inner::parse(packet), LaxSlicedPacket::from_ip(packet)) else {
            self.counts.malformed_packets += 1;
            return None;
        };
        let syn_and_ack = match sliced.transport {
            Some(TransportSlice::Tcp(tcp)) => (tcp.syn(), tcp.ack()),
            Some(TransportSlice::Udp(_)) => (false, false),
            _ if matches!(inner.flow.protocol, TCP | UDP) => {
                self.counts.fragments += 1;
                return Some((inner, self.flows.direction(&inner.flow).toward()));
            }
            _ => {
                self.counts.other_protocol_packets += 1;
                return Some((inner, self.flows.direction(&inner.flow).toward()));
            }
        };
        let payload = &packet[inner.payload_offset..inner.total_bytes];
        let mut direction = self.flows.direction(&inner.flow);
        let (syn, acknowledges) = syn_and_ack;
        if let (true, Some(sequence)) = (syn, inner.tcp_sequence) {
            direction.open(sequence, acknowledges);
        }
        let toward = direction.toward();
        match inner.tcp_sequence {
            // A SYN has a sequence number of its own (RFC 9293, section 3.4).
            Some(sequence) => {
                let first = sequence.wrapping_add(u32::from(syn));
                direction.stream().insert(first, payload.len(), &mut self.fresh);
            }
            None => {
                self.fresh.clear();
                self.fresh.extend((!payload.is_empty()).then_some(0..payload.len()));
            }
        }
        let fresh_bytes = self.fresh.iter().map(|range| range.len() as u64).sum::<u64>();
        self.counts.retransmitted_bytes += payload.len() as u64 - fresh_bytes;
        if payload.is_empty() {
            return Some((inner, toward));
        }
        if fresh_bytes != 0 {
            self.counts.payload_packets += 1;
            self.counts.payload_bytes += fresh_bytes;
            let coalesced = inner.tcp_sequence.is_some() && payload.len() > MAX_SEGMENT_BYTES;
            self.counts.coalesced_packets += u64::from(coalesced);
            if let Some((encryption, bytes)) = direction.encryption(payload, fresh_bytes) {
                *match encryption {
                    Encryption::Tls => &mut self.counts.tls_bytes,
                    Encryption::Quic => &mut self.counts.quic_bytes,
                    Encryption::Ssh => &mut self.counts.ssh_bytes,
                } += bytes;
            }
        }
        let client = self.client(&inner.flow, toward, fresh_bytes);
        let retransmitted = fresh_bytes == 0;
        let bytes = &packet[..inner.total_bytes];
        let packet = Packet { bytes, inner: &inner, client, toward, retransmitted };
        if retransmitted {
            batch.push(&packet);
        }
        for range in self.fresh.drain(..) {
            batch.push_part(&packet, range);
        }
        Some((inner, toward))
    }

    fn client(&mut self, flow: &Flow, toward: Toward, fresh_bytes: u64) -> Client {
        match toward {
            Toward::Client => {
                let client = self.clients.number(flow.destination);
                self.counts.to_client_bytes += fresh_bytes;
                self.clients.received_bytes[client as usize] += fresh_bytes;
                client
            }
            Toward::Server => self.clients.number(flow.source),
        }
    }
}
