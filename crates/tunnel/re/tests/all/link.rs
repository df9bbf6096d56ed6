//! An encoder and a decoder with a controllable link between them. It adds the node's part: a MAC over every
//! reduced packet, generations, receipts.

use etherparse::PacketBuilder;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use re::{Decoder, Encoded, Encoder, Miss, Parameters};
use wire::inner::Inner;

/// A TCP segment of the flow with this source port.
pub fn tcp_packet(port: u16, tcp_sequence: u32, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(port, 4242, tcp_sequence, 1000);
    let mut packet = Vec::new();
    builder.write(&mut packet, payload).expect("a vector takes every byte");
    packet
}

/// A UDP datagram.
pub fn udp_packet(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(5004, 5004);
    builder.write(&mut packet, payload).expect("a vector takes every byte");
    packet
}

/// Bytes that do not repeat.
pub fn pseudo_random(seed: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// The headers of a packet.
pub fn inner(packet: &[u8]) -> Inner {
    Inner::parse(packet).expect("the tests send well-formed packets")
}

/// A substitute for the keyed MAC over link sequence and packet: FNV-1a, 64 bits.
fn mac(sequence: u64, packet: &[u8]) -> u64 {
    let bytes = sequence.to_be_bytes();
    let bytes = bytes.iter().chain(packet);
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// The frame of one packet.
#[derive(Debug, Clone)]
pub struct Frame {
    pub sequence: u64,
    pub generation: u8,
    pub reduced: bool,
    pub mac: u64,
    pub body: Vec<u8>,
}

/// The receiver's result for a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// The packet, proved by its MAC or sent unchanged.
    Delivered(Vec<u8>),
    /// The frame refers to an earlier generation of the store.
    OtherGeneration,
    /// It could not be restored.
    Missed(Miss),
    /// The restored packet differs from the original.
    Mistaken,
}

/// Both ends of one direction.
pub struct Link {
    pub parameters: Parameters,
    pub encoder: Encoder,
    pub decoder: Decoder,
    /// The sender's and the receiver's generation.
    pub generations: (u8, u8),
    /// Every packet sent, by link sequence.
    pub originals: Vec<Vec<u8>>,
}

impl Link {
    pub fn new(parameters: Parameters) -> Self {
        parameters.validate().expect("the tests use what is allowed");
        let Parameters { window_bytes, sample_bits, store_bytes, .. } = parameters;
        Link {
            parameters,
            encoder: Encoder::new(&parameters),
            decoder: Decoder::new(window_bytes, sample_bits, store_bytes, parameters.keeping()),
            generations: (0, 0),
            originals: Vec::new(),
        }
    }

    /// Encodes and sends the next packet.
    pub fn send(&mut self, packet: &[u8]) -> Frame {
        let sequence = self.originals.len() as u64;
        self.originals.push(packet.to_vec());
        let mut body = Vec::new();
        let encoded = self.encoder.encode(sequence, packet, &inner(packet), &mut body);
        let reduced = match encoded {
            Encoded::Plain => {
                assert!(body.is_empty(), "a packet left as it is leaves the output as it was");
                body.extend_from_slice(packet);
                false
            }
            Encoded::Reduced { removed_bytes, shim_bytes, referred_packets, .. } => {
                assert_eq!(body.len(), packet.len() - removed_bytes + shim_bytes);
                assert!(body.len() + wire::frame::Reduced::FRONT_BYTES < packet.len(), "it is shorter");
                assert_eq!(self.encoder.references().len(), referred_packets);
                assert!(self.encoder.references().iter().all(|&reference| reference < sequence));
                true
            }
        };
        Frame { sequence, generation: self.generations.0, reduced, mac: mac(sequence, packet), body }
    }

    /// Receives a frame at the other end.
    pub fn receive(&mut self, frame: &Frame) -> Arrival {
        let Frame { sequence, generation, reduced, mac: sent_mac, ref body } = *frame;
        let mut packet = b"front".to_vec();
        if reduced {
            if generation != self.generations.1 {
                return Arrival::OtherGeneration;
            }
            if let Err(miss) = self.decoder.restore(sequence, self.parameters.form, body, &mut packet) {
                assert_eq!(packet, b"front", "a miss leaves the output as it was");
                return Arrival::Missed(miss);
            }
        } else {
            packet.extend_from_slice(body);
        }
        let packet = packet.split_off(5);
        if mac(sequence, &packet) != sent_mac {
            return Arrival::Mistaken;
        }
        assert_eq!(packet, self.originals[sequence as usize], "what the MAC proves is what was sent");
        self.decoder.store(sequence, &packet, &inner(&packet));
        Arrival::Delivered(packet)
    }

    /// Clears the receiver's store; the sender does not know yet.
    pub fn lose_receivers_store(&mut self) {
        self.decoder.clear();
        self.generations.1 = self.generations.1.wrapping_add(1);
    }

    /// Reports to the sender the held packets among the last `span`, and the receiver's generation.
    pub fn receipt(&mut self, span: usize) {
        if self.generations.0 != self.generations.1 {
            self.encoder.clear();
            self.generations.0 = self.generations.1;
        }
        for sequence in self.originals.len().saturating_sub(span)..self.originals.len() {
            if self.decoder.holds(sequence as u64) {
                self.encoder.confirm(sequence as u64);
            } else {
                self.encoder.report_lost(sequence as u64);
            }
        }
    }

    /// Requests the packets that a frame lacks, and restores it with the answer. Without their names, it
    /// requests the packet itself.
    pub fn retrieve(&mut self, frame: &Frame, arrival: Arrival) -> Arrival {
        let lacking = match &arrival {
            Arrival::Missed(Miss::Absent { sequences }) => sequences.as_slice(),
            Arrival::Missed(_) | Arrival::Mistaken => &[frame.sequence],
            Arrival::Delivered(_) | Arrival::OtherGeneration => return arrival,
        };
        for &sequence in lacking {
            if let Some(original) = self.encoder.original(sequence) {
                assert_eq!(original, self.originals[sequence as usize]);
                self.decoder.store(sequence, original, &inner(original));
                if sequence == frame.sequence {
                    return Arrival::Delivered(original.to_vec());
                }
            }
        }
        self.receive(frame)
    }
}

/// Every allowed combination of policy and form.
pub fn all_parameters(store_bytes: usize) -> Vec<Parameters> {
    let mut all = Vec::new();
    for policy in published::policy::ALL {
        for form in published::form::ALL {
            let parameters = Parameters { policy, form, store_bytes, ..Parameters::default() };
            if parameters.validate().is_ok() {
                all.push(parameters);
            }
        }
    }
    all
}
