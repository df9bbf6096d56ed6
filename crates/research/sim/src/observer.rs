//! Watching a simulation.

use crate::fault::Fault;
use std::time::Duration;

/// One thing that happened. Hosts, links and sources are named by their numbers.
#[derive(Debug)]
pub enum Observation<'a> {
    /// A source offers a packet.
    Offered {
        /// Which source.
        source: usize,
        /// Where it enters.
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
    /// A frame is to go where there is no link, or the link is down.
    NotSent {
        /// Who sends it.
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
    /// A node tells of something.
    Node {
        /// Whose node.
        host: usize,
        /// What it tells.
        event: &'a node::Event,
    },
    /// A packet is delivered for the first time.
    Delivered {
        /// Whose packet.
        source: usize,
        /// Where it comes out.
        host: usize,
        /// The packet.
        packet: &'a [u8],
        /// Since it was offered.
        delay: Duration,
    },
    /// A packet is delivered once more.
    Duplicate {
        /// Whose packet.
        source: usize,
        /// Where it comes out.
        host: usize,
        /// The packet.
        packet: &'a [u8],
    },
    /// A packet is delivered that was never offered to this host.
    Unrecognised {
        /// Where it comes out.
        host: usize,
        /// The packet.
        packet: &'a [u8],
    },
    /// Something goes wrong, or changes.
    Fault(&'a Fault),
}

/// Somebody who watches.
pub trait Observer {
    /// Something happened at `now`. Times never go back.
    fn see(&mut self, now: Duration, sight: &Observation<'_>);
}

/// Nobody.
impl Observer for () {
    fn see(&mut self, _now: Duration, _sight: &Observation<'_>) {}
}

/// Two who watch the same.
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
