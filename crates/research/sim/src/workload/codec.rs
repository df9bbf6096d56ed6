//! The codec alone: packets encoded and decoded in one direction, with delayed confirmations as on a link.

use std::ops::Range;

use re::{Decoder, Encoded, Encoder, Form, Parameters};
use wire::inner::Inner;

/// Delay of confirmations in packets.
const CONFIRMATION_LAG: u64 = 32;

/// A stream, its encoder, and its encoded frames.
pub struct Codec {
    parameters: Parameters,
    stream: Vec<(Vec<u8>, Inner)>,
    encoder: Encoder,
    sequence: u64,
    shim: Vec<u8>,
    frames: Vec<Frame>,
    restored: Vec<u8>,
}

/// A packet in flight: sequence, whether it is reduced, and bytes.
struct Frame {
    sequence: u64,
    reduced: bool,
    bytes: Vec<u8>,
    inner: Inner,
}

impl Codec {
    /// The IP packets among these, and their frames of a first pass.
    #[must_use]
    pub fn new(parameters: &Parameters, packets: Vec<Vec<u8>>) -> Self {
        let inner = |packet: Vec<u8>| Inner::parse(&packet).ok().map(|inner| (packet, inner));
        let mut codec = Codec {
            parameters: *parameters,
            stream: packets.into_iter().filter_map(inner).collect(),
            encoder: Encoder::new(parameters),
            sequence: 0,
            shim: Vec::new(),
            frames: Vec::new(),
            restored: Vec::new(),
        };
        codec.pass(true);
        codec
    }

    /// Bytes of all packets.
    #[must_use]
    pub fn packet_bytes(&self) -> usize {
        self.stream.iter().map(|(packet, _)| packet.len()).sum()
    }

    /// Bytes after the first pass.
    #[must_use]
    pub fn left_bytes(&self) -> usize {
        self.frames.iter().map(|frame| frame.bytes.len()).sum()
    }

    /// Encodes all packets again with the warm encoder; returns the remaining bytes.
    pub fn encode(&mut self) -> usize {
        self.pass(false)
    }

    fn pass(&mut self, keep: bool) -> usize {
        let mut left_bytes = 0;
        for (packet, inner) in &self.stream {
            self.shim.clear();
            let reduced = self.encoder.encode(self.sequence, packet, inner, &mut self.shim) != Encoded::Plain;
            let bytes = if reduced { &self.shim } else { packet };
            left_bytes += bytes.len();
            if keep {
                let bytes = bytes.clone();
                self.frames.push(Frame { sequence: self.sequence, reduced, bytes, inner: *inner });
            }
            if let Some(confirmed) = self.sequence.checked_sub(CONFIRMATION_LAG) {
                self.encoder.confirm(confirmed);
            }
            self.sequence += 1;
        }
        left_bytes
    }

    /// An empty decoder.
    #[must_use]
    pub fn decoder(&self) -> Decoder {
        let Parameters { window_bytes, sample_bits, store_bytes, .. } = self.parameters;
        Decoder::new(window_bytes, sample_bits, store_bytes)
    }

    /// Decodes the first pass with a new decoder; returns the number of correct packets.
    pub fn decode(&mut self, decoder: &mut Decoder) -> usize {
        self.decode_part(decoder, 0..self.stream.len())
    }

    /// Decodes a part of the first pass, with a decoder of the parts before; returns how many came right.
    pub fn decode_part(&mut self, decoder: &mut Decoder, part: Range<usize>) -> usize {
        let form: Form = self.parameters.form;
        let mut right = 0;
        for (frame, (packet, _)) in self.frames[part.clone()].iter().zip(&self.stream[part]) {
            self.restored.clear();
            if frame.reduced {
                if decoder.restore(frame.sequence, form, &frame.bytes, &mut self.restored).is_err() {
                    continue;
                }
            } else {
                self.restored.extend_from_slice(&frame.bytes);
            }
            decoder.store(frame.sequence, &self.restored, &frame.inner);
            right += usize::from(self.restored == *packet);
        }
        right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::packets;

    #[test]
    fn what_is_encoded_is_decoded_and_shorter() {
        let mut codec = Codec::new(&Parameters::default(), packets(0.8, 2000));
        assert!(codec.left_bytes() * 2 < codec.packet_bytes());
        let mut decoder = codec.decoder();
        assert_eq!(codec.decode(&mut decoder), 2000);
        assert!(codec.encode() <= codec.left_bytes());
    }
}
