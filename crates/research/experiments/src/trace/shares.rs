//! The repeated share of a trace, as the two measuring methods of [`capture`] find it.

use capture::{Chunk, ChunkParameters, MaxMatch, MaxMatchParameters, Method, Packet, Tally, Toward};
use wire::inner::Inner;

use super::TracePacket;

/// Shares of all payload: (only the other client received it before, the same client did).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredShares {
    /// As max-match finds them, by which the paper describes its traces.
    pub max_match: (f64, f64),
    /// As chunks of 32 to 256 bytes find them.
    pub chunk: (f64, f64),
}

/// Measures a trace as it passes.
pub struct Meter {
    max_match: MaxMatch,
    chunk: Chunk,
}

impl Default for Meter {
    /// The large cache of the paper: half a gigabyte.
    fn default() -> Self {
        // Twice as many windows as is usual, so that the shortest pieces are not overlooked.
        let parameters = MaxMatchParameters { sample_bits: 4, ..MaxMatchParameters::default() };
        Self { max_match: MaxMatch::new(parameters), chunk: Chunk::new(ChunkParameters::default()) }
    }
}

impl Meter {
    /// Takes the next packet of the trace.
    pub fn observe(&mut self, packet: &TracePacket) {
        let Ok(inner) = Inner::parse(&packet.bytes) else { return };
        let packet = Packet {
            bytes: &packet.bytes,
            inner: &inner,
            client: packet.client as u32,
            toward: Toward::Client,
            retransmitted: false,
        };
        self.max_match.observe(&packet);
        self.chunk.observe(&packet);
    }

    /// The shares found so far.
    #[must_use]
    pub fn shares(&self) -> MeasuredShares {
        MeasuredShares { max_match: shares(&self.max_match.tally()), chunk: shares(&self.chunk.tally()) }
    }
}

fn shares(tally: &Tally) -> (f64, f64) {
    let payload_bytes = tally.to_client.payload_bytes.max(1) as f64;
    (tally.inter_bytes as f64 / payload_bytes, tally.intra_bytes as f64 / payload_bytes)
}
