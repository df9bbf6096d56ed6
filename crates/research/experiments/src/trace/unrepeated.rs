//! Traffic in which nothing repeats.

use std::sync::Arc;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;

use super::TracePacket;
use super::flow::{Flow, HEADER_BYTES};
use super::fresh::Fresh;

/// Packets of one flow with this many bytes of fresh payload.
pub fn unrepeated(fresh: Arc<Fresh>, length_bytes: u64, seed: u64) -> impl Iterator<Item = TracePacket> {
    let mut flow = Flow::new(0, &mut ChaCha8Rng::seed_from_u64(seed));
    let segment_bytes = flow.segment_bytes;
    (0..length_bytes / segment_bytes as u64).map(move |number| {
        let mut payload = Vec::with_capacity(segment_bytes);
        fresh.read(number * segment_bytes as u64, segment_bytes, &mut payload);
        TracePacket { client: 0, bytes: flow.packet(&payload), payload_offset: HEADER_BYTES }
    })
}
