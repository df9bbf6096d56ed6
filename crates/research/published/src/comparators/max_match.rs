//! Max-Match (section 3.1): the encoder of `re`, which extends matches both ways around equal windows.

use super::Counted;
use crate::policy::NAIVE;
use re::{Encoded, Encoder, Form, Keeping, Parameters, Sharing};
use std::net::{IpAddr, Ipv4Addr};
use wire::inner::{Flow, Inner, UDP};

/// Counts bytes without sending.
#[derive(Debug)]
pub struct MaxMatch {
    encoder: Encoder,
    sequence: u64,
    shim: Vec<u8>,
}

impl MaxMatch {
    /// Windows of 32 bytes as in the paper, of which one in sixteen is kept, over a store of `store_bytes`.
    #[must_use]
    pub fn new(store_bytes: usize) -> Self {
        let parameters = Parameters {
            policy: NAIVE,
            form: Form::Compact,
            sharing: Sharing::ToTheByte,
            window_bytes: 32,
            sample_bits: 4,
            store_bytes: store_bytes.clamp(*Parameters::STORE_BYTES.start(), *Parameters::STORE_BYTES.end()),
            keeping: Keeping::Together,
        };
        MaxMatch { encoder: Encoder::new(&parameters), sequence: 0, shim: Vec::new() }
    }

    /// A packet that is sent to somebody.
    pub fn encode(&mut self, packet: &[u8]) -> Counted {
        // Payload only: the encoder uses the headers just for their end.
        let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let flow = Flow {
            source: nowhere,
            destination: nowhere,
            protocol: UDP,
            source_port: 0,
            destination_port: 0,
        };
        let inner = Inner {
            flow,
            tcp_sequence: None,
            payload_offset: 0,
            total_bytes: packet.len(),
            traffic_class: 0,
        };
        self.shim.clear();
        let encoded = self.encoder.encode(self.sequence, packet, &inner, &mut self.shim);
        self.sequence += 1;
        let (found_bytes, sent_bytes) = match encoded {
            Encoded::Plain => (0, packet.len()),
            Encoded::Reduced { removed_bytes, .. } => (removed_bytes, self.shim.len()),
        };
        Counted {
            packet_bytes: packet.len() as u64,
            found_bytes: found_bytes as u64,
            sent_bytes: sent_bytes as u64,
        }
    }
}
