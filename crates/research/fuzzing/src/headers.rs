//! Headers as deltas to an earlier one.
//!
//! ```text
//! | bytes of context (8) | distance (8) | context ... | delta ... | payload ...
//! ```

use crate::Seed;
use etherparse::{IpHeaders, PacketBuilder, PacketBuilderStep};
use wire::headers::{Context, compress, expand, expand_header, split};

/// The buffer's contents before the packet.
const BEFORE: &[u8] = b"delivered before";

/// A packet comes out that could have been compressed, with this payload, or nothing is written.
pub fn check(bytes: &[u8]) -> bool {
    let Some((&context_bytes, bytes)) = bytes.split_first() else { return false };
    let Some((&distance, bytes)) = bytes.split_first() else { return false };
    let Some((header, bytes)) = bytes.split_at_checked(usize::from(context_bytes)) else { return false };
    let context = &Context { header, distance: distance.into() };
    let (mut payload, mut out) = (bytes, BEFORE.to_vec());
    let Ok(unfinished) = expand_header(context, &mut payload, &mut out) else {
        assert_eq!((payload, &out[..]), (bytes, BEFORE));
        return false;
    };
    assert_eq!(unfinished.header_bytes(), out.len() - BEFORE.len());
    out.extend_from_slice(payload);
    let packet = &mut out[BEFORE.len()..];
    if unfinished.finish(packet).is_err() {
        return false;
    }
    let split = split(packet).expect("what was restored could have been compressed");
    assert_eq!(split.payload, payload);
    let (mut delta, mut again) = (Vec::new(), Vec::new());
    compress(context, &split, &mut delta).expect("it is of the context's flow");
    assert!(delta.len() < split.header.len());
    assert_eq!(expand(context, &mut &delta[..], payload, &mut again), Ok(()));
    assert_eq!(again, split.header.iter().chain(payload).copied().collect::<Vec<u8>>());
    true
}

/// TCP and UDP over both versions of IP, each after an earlier packet of its flow.
pub fn seeds() -> Vec<Seed> {
    let v4 = |ttl| PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], ttl);
    let v6 = |ttl| PacketBuilder::ipv6([0xfd; 16], [0xfc; 16], ttl);
    let tcp = |builder: PacketBuilderStep<IpHeaders>, sequence, window, options: &[u8]| {
        let builder = builder.tcp(80, 4242, sequence, window).ack(sequence / 2).options_raw(options);
        let mut packet = Vec::new();
        builder.expect("options that fit").write(&mut packet, PAYLOAD).expect(WRITTEN);
        packet
    };
    let udp = |builder: PacketBuilderStep<IpHeaders>| {
        let mut packet = Vec::new();
        builder.udp(53, 4242).write(&mut packet, PAYLOAD).expect(WRITTEN);
        packet
    };
    let sack = [TIMES[1].as_slice(), &[1, 1, 5, 10, 0, 0, 2, 0, 0, 0, 3, 0]].concat();
    let syn = [2, 4, 5, 180];
    vec![
        seed("tcp-over-ipv4", &tcp(v4(64), 70, 1000, &TIMES[0]), &tcp(v4(64), 94, 1001, &TIMES[1])),
        seed("tcp-over-ipv6", &tcp(v6(64), 70, 1000, &TIMES[0]), &tcp(v6(63), 3000, 500, &TIMES[1])),
        seed("selective-acknowledgment", &tcp(v4(64), 70, 1000, &TIMES[0]), &tcp(v4(64), 70, 1000, &sack)),
        seed("other-options", &tcp(v4(64), 70, 1000, &TIMES[0]), &tcp(v4(64), 70, 1000, &syn)),
        seed("udp-over-ipv4", &udp(v4(64)), &udp(v4(60))),
        seed("udp-over-ipv6", &udp(v6(64)), &udp(v6(64))),
    ]
}

const PAYLOAD: &[u8] = b"as it was sent, 24 bytes";
const WRITTEN: &str = "writing to a buffer does not fail";
/// Options that are timestamps.
const TIMES: [[u8; 12]; 2] = [[1, 1, 8, 10, 0, 1, 2, 3, 0, 3, 2, 1], [1, 1, 8, 10, 0, 1, 2, 30, 0, 3, 2, 9]];

fn seed(name: &'static str, context: &[u8], packet: &[u8]) -> Seed {
    let split = split(packet).expect("our own packet");
    let header = &context[..context.len() - PAYLOAD.len()];
    Seed::of(name, |out| {
        out.extend_from_slice(&[header.len() as u8, 1]);
        out.extend_from_slice(header);
        compress(&Context { header, distance: 1 }, &split, out).expect("packets of one flow");
        out.extend_from_slice(split.payload);
    })
}
