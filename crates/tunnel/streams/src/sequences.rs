//! Connections with hosts: their sizes, and their initial sequence numbers (RFC 6528).

use crate::streams::{Streams, ends};
use crate::tcp;
use blake2::Blake2sMac;
use blake2::digest::Mac;
use blake2::digest::consts::U4;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use wire::inner::Flow;

/// Bytes of each buffer of a host's connection.
const HOST_BUFFER_BYTES: usize = 256 << 10;
/// The clock of sequence numbers ticks so often.
const TICK: Duration = Duration::from_micros(4);

/// A function of two ends that nobody without its key can compute.
#[derive(Debug, Clone)]
pub(crate) struct Sequences(Blake2sMac<U4>);

impl Sequences {
    /// Those of a key.
    pub fn new(key: [u64; 4]) -> Self {
        let mut bytes = [0; 32];
        bytes.as_chunks_mut().0.iter_mut().zip(key).for_each(|(to, word)| *to = word.to_be_bytes());
        Sequences(Mac::new(&bytes.into()))
    }

    /// The first number of a connection between `ours` and `host` that begins now. Those of later connections
    /// between the same ends are further on, so that a host that still knows the former takes them.
    pub fn first(&self, now: Duration, ours: SocketAddr, host: SocketAddr) -> u32 {
        let mut hash = self.0.clone();
        for end in [ours, host] {
            match end.ip() {
                IpAddr::V4(address) => hash.update(&address.to_ipv6_mapped().octets()),
                IpAddr::V6(address) => hash.update(&address.octets()),
            }
            hash.update(&end.port().to_be_bytes());
        }
        let ticks = now.as_micros() / TICK.as_micros();
        u32::from_be_bytes(hash.finalize().into_bytes().into()).wrapping_add(ticks as u32)
    }
}

impl Streams {
    /// Those of a connection that begins now with the host that sends this flow's packets.
    pub(crate) fn connection_settings(&self, now: Duration, flow: &Flow) -> tcp::Settings {
        let (host, ours) = ends(flow);
        tcp::Settings {
            mtu: self.settings.mtu,
            receive_bytes: HOST_BUFFER_BYTES,
            send_bytes: HOST_BUFFER_BYTES,
            first_sequence: self.sequences.first(now, ours, host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_number_depends_on_each_part_of_both_ends_and_on_the_key() {
        let key = [1, 2, 3, 4];
        let ends = [end("10.0.0.1:80"), end("10.0.0.2:4000")];
        let first =
            |key, [ours, host]: [SocketAddr; 2]| Sequences::new(key).first(Duration::ZERO, ours, host);
        let number = first(key, ends);
        assert_eq!(first(key, ends), number);
        for word in 0..4 {
            let mut other = key;
            other[word] ^= 1 << 63;
            assert_ne!(first(other, ends), number, "word {word} of the key");
        }
        for others in [
            [ends[1], ends[0]],
            [end("10.0.0.3:80"), ends[1]],
            [end("10.0.0.1:81"), ends[1]],
            [ends[0], end("10.0.0.3:4000")],
            [ends[0], end("10.0.0.2:4001")],
            [end("[2001:db8::1]:80"), end("[2001:db8::2]:4000")],
        ] {
            assert_ne!(first(key, others), number, "{others:?}");
        }
    }

    #[test]
    fn the_clock_goes_round_in_four_and_three_quarter_hours() {
        let sequences = Sequences::new([5; 4]);
        let first = |now| sequences.first(now, end("10.0.0.1:80"), end("10.0.0.2:4000"));
        let began = Duration::from_secs(7);
        assert_eq!(first(began + Duration::from_secs(1)).wrapping_sub(first(began)), 250_000);
        let round = TICK * u32::MAX + TICK;
        assert_eq!(first(began + round), first(began));
        assert_eq!(round.as_secs() / 60, 286);
    }
}
