//! Fixed amounts of work for speed measurements, without air and nearly without virtual time; the caller has
//! the clock. The measured code is that of the product; only sockets and devices are absent.

mod codec;
mod crowd;
mod face_to_face;

pub use codec::Codec;
pub use crowd::{Crowd, Group};
pub use face_to_face::FaceToFace;

use crate::GATEWAY;
use crate::traffic::{ConstantRate, Content, Ends, Source};
use std::time::Duration;

/// Bytes of payload in each packet.
const PAYLOAD_BYTES: usize = 1360;
/// The largest distance of a repetition.
const REACH_BYTES: usize = 1 << 20;

/// `count` full UDP packets from the gateway to station 1; the share `redundancy` of their payload repeats.
#[must_use]
pub fn packets(redundancy: f64, count: usize) -> Vec<Vec<u8>> {
    packets_to(1, redundancy, count)
}

/// The same to another station.
#[must_use]
pub fn packets_to(station: usize, redundancy: f64, count: usize) -> Vec<Vec<u8>> {
    let content = Content::repeating(1, redundancy, REACH_BYTES, count * PAYLOAD_BYTES);
    let mut source =
        ConstantRate::new(Ends::between(GATEWAY, station), content, PAYLOAD_BYTES, Duration::from_nanos(1));
    (0..count)
        .map(|_| {
            let mut packet = Vec::new();
            source.poll_packet(Duration::MAX, &mut packet);
            packet
        })
        .collect()
}
