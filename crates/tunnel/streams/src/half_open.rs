//! Connections that have begun and do not stand, by the host that began them.

use crate::streams::Streams;
use std::collections::HashMap;
use std::net::IpAddr;
use wire::inner::Flow;
use wire::stream::Name;

/// Connections that this end is connecting for the far end's hosts, at most.
const MOST_CONNECTING: usize = 256;
/// Of one host, at most: a scan leaves the rest to others.
const MOST_OF_HOST: usize = 128;

/// Numbers of such connections.
#[derive(Debug, Default)]
pub(crate) struct HalfOpen {
    of_host: HashMap<IpAddr, usize>,
    total: usize,
}

impl HalfOpen {
    fn of_host(&self, host: IpAddr) -> usize {
        self.of_host.get(&host).copied().unwrap_or(0)
    }

    fn add(&mut self, host: IpAddr) {
        self.total += 1;
        *self.of_host.entry(host).or_default() += 1;
    }

    fn remove(&mut self, host: IpAddr) {
        if let Some(count) = self.of_host.get_mut(&host) {
            self.total -= 1;
            *count -= 1;
            if *count == 0 {
                self.of_host.remove(&host);
            }
        }
    }
}

impl Streams {
    /// Whether a host may begin another connection here.
    pub(crate) fn may_begin(&self, host: IpAddr) -> bool {
        let most = (self.settings.most_streams / 2).clamp(1, MOST_OF_HOST);
        self.begun.of_host(host) < most
    }

    /// Whether this end may connect for another connection of a far host.
    pub(crate) fn may_connect(&self, host: IpAddr) -> bool {
        self.connecting.total < MOST_CONNECTING && self.connecting.of_host(host) < MOST_OF_HOST
    }

    /// Counts a stream that has begun.
    pub(crate) fn count_half_open(&mut self, name: Name, flow: &Flow) {
        if let Some(stream) = self.streams.get_mut(&name) {
            stream.is_half_open = true;
            if name.is_own { self.begun.add(flow.source) } else { self.connecting.add(flow.destination) }
        }
    }

    /// A stream does not count any more: it stands, or is over.
    pub(crate) fn discount_half_open(&mut self, name: Name) {
        if let Some(stream) = self.streams.get_mut(&name)
            && std::mem::take(&mut stream.is_half_open)
        {
            let flow = stream.flow;
            if name.is_own {
                self.begun.remove(flow.source)
            } else {
                self.connecting.remove(flow.destination)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Settings;
    use etherparse::PacketBuilder;
    use std::net::SocketAddr;
    use std::time::Duration;
    use wire::frame::{FrameType, Frames};
    use wire::inner::Inner;
    use wire::stream::{Abort, Cause, Credit, Open};

    const NOW: Duration = Duration::from_secs(1);
    const SCANNER: [u8; 4] = [10, 0, 0, 2];
    const OTHER: [u8; 4] = [10, 0, 0, 3];

    fn streams() -> Streams {
        let (memory_bytes, most_streams) = (64 << 20, 1024);
        Streams::new(Settings {
            mtu: 1400,
            memory_bytes,
            most_streams,
            answers_early: false,
            sequence_key: [1; 4],
        })
    }

    /// Whether a host's SYN to a server becomes a stream.
    fn begins(streams: &mut Streams, now: Duration, host: [u8; 4], server: u16) -> bool {
        let [high, low] = server.to_be_bytes();
        let tcp = PacketBuilder::ipv4(host, [198, 51, high, low], 64).tcp(4000, 80, 1, 60_000);
        let mut syn = Vec::new();
        tcp.syn().write(&mut syn, b"").unwrap();
        streams.take_packet(now, &syn, &Inner::parse(&syn).unwrap(), &mut |_| ())
    }

    fn begun(streams: &mut Streams, now: Duration, host: [u8; 4], servers: std::ops::Range<u16>) -> usize {
        servers.filter(|server| begins(streams, now, host, *server)).count()
    }

    /// The far end opens streams for a host. The causes of those that it is refused.
    fn opened(
        streams: &mut Streams,
        now: Duration,
        host: [u8; 4],
        numbers: std::ops::Range<u32>,
    ) -> Vec<Cause> {
        for number in numbers.clone() {
            let name = Name { number, is_own: true };
            let [.., high, low] = number.to_be_bytes();
            let (source, destination) = ((host, 4000).into(), SocketAddr::from(([198, 51, high, low], 80)));
            let mut body = Vec::new();
            Open { name, source, destination }.emit(&mut body);
            assert!(streams.take_frame(now, FrameType::StreamOpen, &body, true, &mut |_| ()));
        }
        streams.handle_timeout(now, &mut |_| ());
        aborts(streams, now, u64::from(numbers.start))
    }

    /// The causes of the aborts that leave and come, in datagrams from this sequence on.
    fn aborts(streams: &mut Streams, now: Duration, first: u64) -> Vec<Cause> {
        let mut causes = Vec::new();
        for sequence in (first..).take_while(|sequence| *sequence < first + 1000) {
            let mut out = Vec::new();
            streams.write(sequence, true, 1300, &mut out);
            if out.is_empty() {
                break;
            }
            let frames = Frames::new(&out).flatten();
            let aborts = frames.filter(|frame| frame.frame_type == Some(FrameType::StreamAbort));
            causes.extend(aborts.map(|frame| Abort::parse(frame.body).unwrap().cause));
            streams.settle(now, sequence, true, &mut |_| ());
        }
        causes
    }

    #[test]
    fn a_scan_by_one_host_leaves_streams_for_others() {
        let mut streams = streams();
        assert_eq!(begun(&mut streams, NOW, SCANNER, 0..2000), MOST_OF_HOST);
        assert_eq!(streams.counters().passed, 2000 - MOST_OF_HOST as u64, "the rest goes in packets");
        assert_eq!(begun(&mut streams, NOW, OTHER, 0..100), 100);
        // one of them stands
        let mut body = Vec::new();
        Credit::emit(Name { number: 0, is_own: false }, 1 << 16, &mut body);
        assert!(streams.take_frame(NOW, FrameType::StreamCredit, &body, true, &mut |_| ()));
        assert_eq!(begun(&mut streams, NOW, SCANNER, 2000..2010), 1);
    }

    #[test]
    fn refused_connections_of_a_scan_count_until_they_are_forgotten() {
        let mut streams = streams();
        let (mut number, mut taken) = (0, 0);
        for round in 0..20 {
            taken += begun(&mut streams, NOW, SCANNER, round * 100..(round + 1) * 100);
            while number < taken as u32 {
                let mut body = Vec::new();
                Abort { name: Name { number, is_own: false }, cause: Cause::Refused }.emit(&mut body);
                assert!(streams.take_frame(NOW, FrameType::StreamAbort, &body, true, &mut |_| ()));
                number += 1;
            }
            streams.handle_timeout(NOW, &mut |_| ());
        }
        assert_eq!(taken, MOST_OF_HOST);
        assert!(begins(&mut streams, NOW, OTHER, 0));
        let later = NOW + Duration::from_secs(5);
        streams.handle_timeout(later, &mut |_| ());
        assert_eq!(begun(&mut streams, later, SCANNER, 5000..6000), MOST_OF_HOST);
    }

    #[test]
    fn the_far_ends_scanner_leaves_connections_for_others() {
        let mut streams = streams();
        let full = opened(&mut streams, NOW, SCANNER, 0..400);
        assert_eq!(full, [Cause::Full; 400 - MOST_OF_HOST]);
        assert_eq!(opened(&mut streams, NOW, OTHER, 1000..1100), []);
        let third = opened(&mut streams, NOW, [10, 0, 0, 4], 2000..2100);
        let left = MOST_CONNECTING - MOST_OF_HOST - 100;
        assert_eq!(third.len(), 100 - left, "all together have a bound, too");
        // nobody answered
        let mut now = NOW;
        while let Some(at) = streams.timeout().filter(|at| *at < NOW + Duration::from_secs(40)) {
            now = at;
            streams.handle_timeout(now, &mut |_| ());
        }
        assert_eq!(aborts(&mut streams, now, 3000), [Cause::Silent; MOST_CONNECTING]);
        assert!(streams.connecting.of_host.is_empty() && streams.connecting.total == 0);
        streams.handle_timeout(now + Duration::from_secs(5), &mut |_| ());
        assert_eq!(opened(&mut streams, now, SCANNER, 4000..4100), []);
    }

    #[test]
    fn few_streams_are_not_all_one_hosts() {
        let mut streams = Streams::new(Settings { most_streams: 8, ..streams().settings });
        assert_eq!(begun(&mut streams, NOW, SCANNER, 0..100), 4);
        assert_eq!(begun(&mut streams, NOW, OTHER, 0..100), 4);
        let mut one = Streams::new(Settings { most_streams: 1, ..streams.settings });
        assert_eq!(begun(&mut one, NOW, SCANNER, 0..100), 1);
    }
}
