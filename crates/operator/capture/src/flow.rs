//! The flows of a capture: client, seen bytes, encryption.

use crate::encryption::{Encryption, Sign, recognise};
use crate::sequence::SequenceIntervals;
use std::collections::HashMap;
use std::net::IpAddr;
use wire::inner::Flow;

/// A flow is forgotten after this many newer ones; at most twice as many are held.
const MAX_FLOWS: usize = 1 << 15;

/// Direction of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// From the server to the client.
    Client,
    /// From the client.
    Server,
}

/// A flow in both directions: the lower end first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    low: (IpAddr, u16),
    high: (IpAddr, u16),
    protocol: u8,
}

/// State of one flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowState {
    client_is_low: Option<bool>,
    streams: [SequenceIntervals; 2],
    encryption: Option<Encryption>,
    /// Payload bytes not counted as encrypted, which change if the flow turns out to be encrypted.
    plain_bytes: u64,
}

/// The flows in two generations. The younger one takes new and recurring flows, and becomes the elder when it
/// is full. An active flow is thus never forgotten, and no order is kept.
#[derive(Debug, Default)]
pub(crate) struct FlowTable {
    young: HashMap<Key, FlowState>,
    old: HashMap<Key, FlowState>,
}

/// One direction of a flow.
#[derive(Debug)]
pub(crate) struct Direction<'a> {
    state: &'a mut FlowState,
    source_is_low: bool,
    flow: Flow,
}

impl FlowTable {
    /// The flow and direction of a packet.
    pub(crate) fn direction(&mut self, flow: &Flow) -> Direction<'_> {
        let source = (flow.source, flow.source_port);
        let destination = (flow.destination, flow.destination_port);
        let source_is_low = source <= destination;
        let (low, high) = if source_is_low { (source, destination) } else { (destination, source) };
        let key = Key { low, high, protocol: flow.protocol };
        if self.young.len() >= MAX_FLOWS && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        let old = &mut self.old;
        let state = self.young.entry(key).or_insert_with(|| old.remove(&key).unwrap_or_default());
        Direction { state, source_is_low, flow: *flow }
    }
}

impl Direction<'_> {
    /// This direction's TCP stream.
    pub(crate) fn stream(&mut self) -> &mut SequenceIntervals {
        &mut self.state.streams[usize::from(self.source_is_low)]
    }

    /// Handles a SYN: its sender is the client, or the server if it acknowledges.
    pub(crate) fn open(&mut self, initial_sequence: u32, acknowledges: bool) {
        let opens = self.stream().open(initial_sequence);
        if opens && !acknowledges {
            let stream = std::mem::take(self.stream());
            *self.state = FlowState::default();
            *self.stream() = stream;
        }
        if opens {
            self.state.client_is_low = Some(self.source_is_low != acknowledges);
        }
    }

    /// The direction of the packet. Without a SYN, the end with the lower port is the server (services have
    /// low ports), or else the end that first received a packet.
    pub(crate) fn toward(&mut self) -> Toward {
        let Flow { source_port, destination_port, .. } = self.flow;
        let client_is_low = *self.state.client_is_low.get_or_insert_with(|| {
            let source_is_client = source_port >= destination_port;
            source_is_client == self.source_is_low
        });
        if client_is_low == self.source_is_low { Toward::Server } else { Toward::Client }
    }

    /// Handles a payload with `fresh_bytes` new bytes. Returns the flow's encryption, and the bytes to count
    /// as encrypted. At the detection these include earlier bytes of the flow.
    pub(crate) fn encryption(&mut self, payload: &[u8], fresh_bytes: u64) -> Option<(Encryption, u64)> {
        if let Some(encryption) = self.state.encryption {
            return Some((encryption, fresh_bytes));
        }
        let ports = [self.flow.source_port, self.flow.destination_port];
        let (encryption, earlier_bytes) = match recognise(self.flow.protocol, ports, payload) {
            Some(Sign::Begins(encryption)) => (encryption, 0),
            Some(Sign::GoesOn(encryption)) => (encryption, self.state.plain_bytes),
            None => {
                self.state.plain_bytes += fresh_bytes;
                return None;
            }
        };
        self.state.encryption = Some(encryption);
        Some((encryption, earlier_bytes + fresh_bytes))
    }
}
