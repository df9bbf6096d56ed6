//! The place in the store where a flow's repetition continues with its next packet.
//!
//! The kernel cuts a flow's bytes into segments at other positions each time, so a repetition often continues
//! beyond a segment. Where a region reached the end of a packet, the flow's next packet likely begins with
//! the bytes behind that region in the stored packet. Regions therefore cross the cuts inside a super-segment
//! and between super-segments. A region that is known in advance needs no anchor.

use crate::index::Place;
use wire::inner::{Flow, Inner};

/// Number of flows that are followed, by a hash of their ports. Of two flows in one place, the latest one is
/// followed.
const FLOWS: usize = 64;

/// The expected beginning of a flow's next packet.
#[derive(Debug, Clone, Copy)]
struct Next {
    flow: Flow,
    tcp_sequence: u32,
    stored: Place,
}

/// The expected beginnings of the next packets of flows.
#[derive(Debug, Clone)]
pub(crate) struct Continuations {
    next: Box<[Option<Next>; FLOWS]>,
}

impl Default for Continuations {
    fn default() -> Self {
        Continuations { next: Box::new([None; FLOWS]) }
    }
}

fn place_of(flow: &Flow) -> usize {
    usize::from(flow.source_port ^ flow.destination_port) % FLOWS
}

impl Continuations {
    /// Place in the store where this packet's payload likely continues. `None` if the packet does not
    /// directly follow the flow's last packet.
    pub(crate) fn of(&self, inner: &Inner) -> Option<Place> {
        let next = self.next[place_of(&inner.flow)]?;
        let follows = next.flow == inner.flow && inner.tcp_sequence == Some(next.tcp_sequence);
        follows.then_some(next.stored)
    }

    /// Notes that this packet has `payload_bytes` bytes of payload, and that its last bytes equal those
    /// before `end` in the store. `end` is `None` if the last bytes repeat nothing.
    pub(crate) fn ended(&mut self, inner: &Inner, payload_bytes: usize, end: Option<Place>) {
        let next = inner.tcp_sequence.zip(end).map(|(tcp_sequence, stored)| Next {
            flow: inner.flow,
            tcp_sequence: tcp_sequence.wrapping_add(payload_bytes as u32),
            stored,
        });
        let place = &mut self.next[place_of(&inner.flow)];
        if next.is_some() || place.is_some_and(|next| next.flow == inner.flow) {
            *place = next;
        }
    }

    /// Forgets all flows, with the store.
    pub(crate) fn clear(&mut self) {
        self.next.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    const PLACE: Place = Place { sequence: 7, offset: 140 };

    fn segment(port: u16, tcp_sequence: u32) -> Inner {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(port, 4242, tcp_sequence, 1000)
            .write(&mut packet, &[7; 100])
            .unwrap();
        Inner::parse(&packet).unwrap()
    }

    #[test]
    fn only_the_segment_right_behind_goes_on() {
        let mut continuations = Continuations::default();
        continuations.ended(&segment(80, u32::MAX - 49), 100, Some(PLACE));
        assert_eq!(continuations.of(&segment(80, 50)), Some(PLACE));
        assert_eq!(continuations.of(&segment(80, 150)), None, "one is missing between");
        assert_eq!(continuations.of(&segment(81, 50)), None, "another flow");
        continuations.ended(&segment(80, 50), 100, None);
        assert_eq!(continuations.of(&segment(80, 150)), None, "its end repeated nothing");
    }

    #[test]
    fn a_flow_in_the_same_place_that_repeats_nothing_leaves_the_other_alone() {
        let mut continuations = Continuations::default();
        continuations.ended(&segment(80, 0), 100, Some(PLACE));
        continuations.ended(&segment(80 + FLOWS as u16, 0), 100, None);
        assert_eq!(continuations.of(&segment(80, 100)), Some(PLACE));
        continuations.clear();
        assert_eq!(continuations.of(&segment(80, 100)), None);
    }
}
