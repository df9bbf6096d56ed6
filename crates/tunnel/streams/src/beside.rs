//! Connections that go in packets, beside the streams.

use crate::streams::{Streams, ends};
use crate::tcp;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use wire::inner::{Flow, Inner, TCP};
use wire::stream::{Cause, Name};

/// Flows that go in packets, of which is known that they do.
const MOST_FLOWS: usize = 1024;
/// Destinations without a way back, at most: the oldest is forgotten first.
const MOST_DESTINATIONS: usize = 256;
/// Connections to such a destination go in packets for this time. Then a stream is tried again.
pub(crate) const KEPT: Duration = Duration::from_secs(600);

/// A destination whose answers do not come back over the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoWayBack {
    /// The destination.
    pub destination: SocketAddr,
    /// Whether a host had an answer by another way. Otherwise the far end had none.
    pub is_answered: bool,
    /// How long connections to it go in packets.
    pub kept: Duration,
}

/// Flows and destinations whose connections go in packets.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    flows: VecDeque<Flow>,
    /// With the time until which each is remembered, in this order.
    destinations: VecDeque<(Duration, SocketAddr)>,
    found: Option<NoWayBack>,
}

impl Beside {
    /// A connection goes in packets.
    pub fn note_flow(&mut self, flow: Flow) {
        if self.flows.len() == MOST_FLOWS {
            self.flows.pop_front();
        }
        self.flows.push_back(flow);
    }

    pub fn has_flow(&self, flow: &Flow) -> bool {
        self.flows.contains(flow)
    }

    fn note_destination(&mut self, now: Duration, destination: SocketAddr, is_answered: bool) {
        if self.has_destination(now, destination) {
            return;
        }
        if self.destinations.len() == MOST_DESTINATIONS {
            self.destinations.pop_front();
        }
        self.destinations.push_back((now + KEPT, destination));
        self.found = Some(NoWayBack { destination, is_answered, kept: KEPT });
    }

    fn has_destination(&mut self, now: Duration, destination: SocketAddr) -> bool {
        while self.destinations.front().is_some_and(|(until, _)| *until <= now) {
            self.destinations.pop_front();
        }
        self.destinations.iter().any(|(_, known)| *known == destination)
    }
}

impl Streams {
    /// A connection goes in packets for want of a stream.
    pub(crate) fn pass(&mut self, flow: Flow) {
        self.counters.passed += 1;
        self.go_beside(flow);
    }

    /// Takes note of a packet of a host that leaves while no stream can cross the hop. A connection that it
    /// begins stays in packets, although the host may send its SYN again later.
    pub fn note_left_out(&mut self, packet: &[u8], inner: &Inner) {
        let begins = inner.flow.protocol == TCP && tcp::is_takeable_syn(packet);
        if begins && !self.beside.has_flow(&inner.flow) {
            self.go_beside(inner.flow);
        }
    }

    /// The flow's packets are no stream's any more.
    fn go_beside(&mut self, flow: Flow) {
        self.by_flow.remove(&flow);
        self.beside.note_flow(flow);
    }

    /// Gives up a stream whose destination answered the host by another way: its connection goes in packets.
    pub(crate) fn give_up_answered_elsewhere(&mut self, now: Duration, name: Name) {
        let Some(flow) = self.streams.get(&name).map(|stream| stream.flow) else { return };
        self.give_up(now, name, Some(Cause::Reset));
        self.note_no_way_back(now, &flow, true);
        self.has_no_way_back(now, flow);
        self.step_soon(now, name);
    }

    /// The destination of a flow does not answer over the hop.
    pub(crate) fn note_no_way_back(&mut self, now: Duration, flow: &Flow, is_answered: bool) {
        self.beside.note_destination(now, ends(flow).1, is_answered);
    }

    /// Lets a connection go in packets if its destination's answers do not come back over the hop. Whether it
    /// does.
    pub(crate) fn has_no_way_back(&mut self, now: Duration, flow: Flow) -> bool {
        let goes = self.beside.has_destination(now, ends(&flow).1);
        if goes {
            self.counters.no_way_back += 1;
            self.go_beside(flow);
        }
        goes
    }

    /// The destination that was found last to have no way back, once.
    pub fn take_no_way_back(&mut self) -> Option<NoWayBack> {
        self.beside.found.take()
    }
}
