//! Observation of a simulation.

use crate::fault::Fault;
use std::time::Duration;

/// An event. Hosts, links and sources have numbers.
#[derive(Debug)]
pub enum Observation<'a> {
    /// A source offers a packet.
    Offered {
        /// Which source.
        source: usize,
        /// The host at which it enters.
        host: usize,
        /// The packet.
        packet: &'a [u8],
    },
    /// A frame is put on a link.
    Sent {
        /// Which link.
        link: usize,
        /// The frame, from the outer IP header on.
        frame: &'a [u8],
    },
    /// A frame has no link to its destination, or the link is down.
    NotSent {
        /// The sender.
        host: usize,
        /// The frame.
        frame: &'a [u8],
    },
    /// A frame comes out of a link.
    Arrived {
        /// Which link.
        link: usize,
        /// The frame.
        frame: &'a [u8],
    },
    /// A node reports an event.
    Node {
        /// The node's host.
        host: usize,
        /// The event.
        event: &'a node::Event,
    },
    /// A packet is delivered for the first time.
    Delivered {
        /// The packet's source.
        source: usize,
        /// The delivering host.
        host: usize,
        /// The packet.
        packet: &'a [u8],
        /// Time since its offer.
        delay: Duration,
    },
    /// A packet is delivered again.
    Duplicate {
        /// The packet's source.
        source: usize,
        /// The delivering host.
        host: usize,
        /// The packet.
        packet: &'a [u8],
    },
    /// A delivered packet was never offered to this host.
    Unrecognised {
        /// The delivering host.
        host: usize,
        /// The packet.
        packet: &'a [u8],
    },
    /// A fault or change occurs.
    Fault(&'a Fault),
}

/// An observer of a simulation.
pub trait Observer {
    /// An event at `now`. Times never go back.
    fn see(&mut self, now: Duration, sight: &Observation<'_>);
}

/// No observer.
impl Observer for () {
    fn see(&mut self, _now: Duration, _sight: &Observation<'_>) {}
}

/// Two observers.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn see(&mut self, now: Duration, sight: &Observation<'_>) {
        self.0.see(now, sight);
        self.1.see(now, sight);
    }
}

impl<O: Observer + ?Sized> Observer for &mut O {
    fn see(&mut self, now: Duration, sight: &Observation<'_>) {
        (**self).see(now, sight);
    }
}
