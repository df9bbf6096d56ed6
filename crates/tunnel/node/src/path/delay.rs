//! The round trip of the path before this node: from here over the hop to the end host behind it, and back
//! the same way. The other side, from here to the host that sends, is no part of it.
//!
//! TCP shows it to each node on the way: a segment's timestamp returns in the next segment of its receiver
//! (RFC 7323). Nichols' *pping* measures paths in this way. The node watches one segment at a time. The
//! receiver's time to answer counts as path, and the shortest of many round trips is used.

use crate::arq::delay::Delay;
use std::time::Duration;
use wire::headers::timestamps;
use wire::inner::Flow;

/// From one measurement to the next.
const INTERVAL: Duration = Duration::from_millis(50);
/// A segment that is not answered for so long never will be.
const GIVE_UP: Duration = Duration::from_secs(3);

/// Round trip over the hop to the end host behind it, and the segment that measures it.
#[derive(Debug, Default)]
pub struct PathDelay {
    delay: Delay,
    watched: Option<Watched>,
    next_at: Duration,
}

#[derive(Debug)]
struct Watched {
    flow: Flow,
    value: u32,
    at: Duration,
}

impl PathDelay {
    /// A packet leaves by the hop.
    pub fn leaves(&mut self, now: Duration, flow: &Flow, packet: &[u8]) {
        let is_free = self.watched.as_ref().is_none_or(|watched| now >= watched.at + GIVE_UP);
        if is_free
            && now >= self.next_at
            && let Some((value, _)) = timestamps(packet)
        {
            self.watched = Some(Watched { flow: *flow, value, at: now });
        }
    }

    /// A packet came by the hop.
    pub fn came(&mut self, now: Duration, flow: &Flow, packet: &[u8]) {
        let Some(Watched { flow: watched, value, at }) = &self.watched else { return };
        if *flow == watched.reversed()
            && let Some((_, echo)) = timestamps(packet)
            && echo.wrapping_sub(*value) < 1 << 31
        {
            self.delay.sample(now, now.saturating_sub(*at));
            self.next_at = now + INTERVAL;
            self.watched = None;
        }
    }

    /// The shortest round trip lately, from here over the hop to the end host behind it and back.
    #[must_use]
    pub fn shortest(&self) -> Option<Duration> {
        self.delay.shortest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpOptionElement};
    use wire::inner::Inner;

    const MS: Duration = Duration::from_millis(1);

    fn segment(from: u8, to: u8, value: u32, echo: u32) -> (Flow, Vec<u8>) {
        let (port, other) = (u16::from(from), u16::from(to));
        let options =
            [TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(value, echo)];
        let mut packet = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, from], [10, 0, 0, to], 64)
            .tcp(port, other, 1, 1000)
            .options(&options)
            .unwrap()
            .write(&mut packet, b"payload")
            .unwrap();
        (Inner::parse(&packet).unwrap().flow, packet)
    }

    #[test]
    fn a_timestamp_that_comes_back_measures_the_path() {
        let mut path = PathDelay::default();
        let (flow, packet) = segment(1, 2, 500, 7);
        path.leaves(10 * MS, &flow, &packet);
        let (later, packet) = segment(1, 2, 501, 7);
        path.leaves(12 * MS, &later, &packet);
        for (from, echo, shortest) in
            [(3, 500, None), (2, 499, None), (2, 500, Some(90 * MS)), (2, 501, Some(90 * MS))]
        {
            let (back, packet) = segment(from, 1, 8, echo);
            path.came(100 * MS, &back, &packet);
            assert_eq!(path.shortest(), shortest, "{echo} from {from}");
        }
    }

    #[test]
    fn a_segment_that_is_never_answered_gives_way_to_another() {
        let mut path = PathDelay::default();
        let (flow, packet) = segment(1, 2, u32::MAX, 7);
        path.leaves(MS, &flow, &packet);
        let (other, packet) = segment(5, 2, 3, 7);
        path.leaves(MS + GIVE_UP, &other, &packet);
        let (back, packet) = segment(2, 5, 8, 4);
        path.came(GIVE_UP + 21 * MS, &back, &packet);
        assert_eq!(path.shortest(), Some(20 * MS));
    }
}
