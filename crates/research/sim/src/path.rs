//! A link between two hosts, with the frames refused while it was down.

use crate::report::Packets;
use air::Link;

/// The number of the link from the gateway to a station (stations count from 1).
#[must_use]
pub fn down_link(station: usize) -> usize {
    station.saturating_sub(1) * 2
}

/// The number of the link from a station to the gateway.
#[must_use]
pub fn up_link(station: usize) -> usize {
    station.saturating_sub(1) * 2 + 1
}

/// One direction between a gateway and a station.
#[derive(Debug)]
pub(crate) struct Path {
    pub from: usize,
    pub to: usize,
    pub link: Link,
    pub down: bool,
    pub refused: Packets,
    pub most_held_bytes: u64,
}

impl Path {
    pub fn new(from: usize, to: usize, link: Link) -> Self {
        Path { from, to, link, down: false, refused: Packets::default(), most_held_bytes: 0 }
    }
}
