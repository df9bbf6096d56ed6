//! One flow of TCP from a server to a client: the headers that a packet of the trace has.

use etherparse::PacketBuilder;
use rand::{Rng, RngExt as _};

/// Bytes of an IPv4 and a TCP header without options.
pub const HEADER_BYTES: usize = 40;
/// Payload bytes of a full packet. The paper's full packets have 1400 bytes; paths differ by a tunnel's
/// headers.
pub(super) const SEGMENT_BYTES: [usize; 5] = [1360, 1348, 1332, 1320, 1308];
const HTTP: u16 = 80;
const WINDOW: u16 = 65_000;

/// What stays and what moves of a flow's headers.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub segment_bytes: usize,
    server: [u8; 4],
    client: [u8; 4],
    port: u16,
    sequence: u32,
    acknowledged: u32,
    hops: u8,
}

impl Flow {
    /// A new flow to a client.
    pub fn new(client: usize, rng: &mut impl Rng) -> Self {
        Self {
            segment_bytes: SEGMENT_BYTES[rng.random_range(0..SEGMENT_BYTES.len())],
            server: [192, 0, 2, rng.random_range(1..=250)],
            client: [198, 51, 100, client as u8 + 1],
            port: rng.random_range(32_768..=60_999),
            sequence: rng.random(),
            acknowledged: rng.random(),
            hops: rng.random_range(40..64),
        }
    }

    /// The next packet, of which `payload` is all or a segment.
    pub fn packet(&mut self, payload: &[u8]) -> Vec<u8> {
        let builder = PacketBuilder::ipv4(self.server, self.client, self.hops)
            .tcp(HTTP, self.port, self.sequence, WINDOW)
            .ack(self.acknowledged);
        let mut packet = Vec::with_capacity(builder.size(payload.len()));
        builder
            .write(&mut packet, payload)
            .expect("a Vec takes everything, and no segment is longer than a packet");
        self.sequence = self.sequence.wrapping_add(payload.len() as u32);
        packet
    }
}
