//! Datagrams that are not finished, and packets that are not whole.

use super::{Coalescer, Fragment, Fragments, Overflow, Partial};
use crate::deliveries::Deliveries;
use std::time::Duration;

/// What one datagram leaves for the next, in both directions.
pub struct Assembly {
    /// A packet's frame that waits for the next datagram.
    overflow: Option<Overflow>,
    /// Whether a datagram waits to be filled; only where senders are boosted.
    coalescer: Option<Coalescer>,
    /// The datagram that waits to be filled.
    partial: Option<Partial>,
    /// Bytes of the last packet's frame: the next one's are likely about as many.
    usual_frame_bytes: usize,
    /// Whether the peer joins packets that were cut.
    peer_joins: bool,
    /// Packets from the peer that were cut, and of which the rest is to come.
    fragments: Fragments,
}

impl Assembly {
    /// `peer_joins`: the peer joins packets that were cut. `coalesces`: datagrams wait to be filled.
    pub fn new(peer_joins: bool, coalesces: bool) -> Self {
        Assembly {
            overflow: None,
            coalescer: coalesces.then(Coalescer::default),
            partial: None,
            usual_frame_bytes: usize::MAX,
            peer_joins,
            fragments: Fragments::default(),
        }
    }

    /// Whether packets may be cut for the peer.
    pub fn peer_joins(&self) -> bool {
        self.peer_joins
    }

    /// The frame that waits for the next datagram.
    pub fn overflow(&self) -> Option<&Overflow> {
        self.overflow.as_ref()
    }

    /// Takes it for a datagram with so many bytes, if this one `goes` into it. One that has become too large
    /// is lost.
    pub fn take_overflow(&mut self, limit: usize, goes: impl FnOnce(&Overflow) -> bool) -> Option<Overflow> {
        let overflow = self.overflow.take_if(|overflow| goes(overflow));
        overflow.filter(|overflow| overflow.fits(limit))
    }

    /// Keeps a frame for the next datagram.
    pub fn keep_overflow(&mut self, overflow: Overflow) {
        self.overflow = Some(overflow);
    }

    /// Whether another frame of so many bytes likely fits.
    pub fn expects_to_fit(&self, room: usize) -> bool {
        self.usual_frame_bytes <= room
    }

    /// Notes the size of a frame.
    pub fn note_frame(&mut self, frame_bytes: usize) {
        self.usual_frame_bytes = frame_bytes;
    }

    /// Whether a datagram waits to be filled.
    pub fn has_partial(&self) -> bool {
        self.partial.is_some()
    }

    /// Takes the datagram that waits to be filled.
    pub fn take_partial(&mut self) -> Option<Partial> {
        self.partial.take()
    }

    /// Lets a datagram wait to be filled.
    pub fn keep_partial(&mut self, partial: Partial) {
        self.partial = Some(partial);
    }

    /// Whether datagrams wait to be filled, because senders are boosted.
    pub fn coalesces(&self) -> bool {
        self.coalescer.is_some()
    }

    /// Something is in the datagram that is not to wait.
    pub fn hurry(&mut self) {
        self.coalescer.iter_mut().for_each(Coalescer::hurry);
    }

    /// Whether a datagram that is not full waits at `now`, no longer than `patience` since it began.
    pub fn waits(&mut self, now: Duration, patience: Duration) -> bool {
        self.coalescer.as_mut().is_some_and(|coalescer| coalescer.waits(now, patience))
    }

    /// A datagram has left.
    pub fn finish_datagram(&mut self) {
        self.coalescer.iter_mut().for_each(Coalescer::finish);
    }

    /// Notes that it is `now`.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.coalescer.iter_mut().for_each(|coalescer| coalescer.handle_timeout(now));
    }

    /// When a datagram that waits leaves.
    pub fn timeout(&self) -> Option<Duration> {
        self.coalescer?.timeout()
    }

    /// Keeps the front of a packet, in place of the oldest if there is no room.
    pub fn keep_fragment(&mut self, front: Fragment, deliveries: &mut Deliveries) {
        self.fragments.keep(front, deliveries);
    }

    /// The front of the packet `sequence`, if it waits.
    pub fn take_fragment(&mut self, sequence: u64) -> Option<Fragment> {
        self.fragments.take(sequence)
    }
}
