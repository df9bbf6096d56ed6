//! Programs and hosts whose TCP crosses the hop as streams, between real nodes in namespaces.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

mod beside_cache;
mod beside_others;
mod hosts;
mod killed;
mod no_way_back;
mod programs;
mod servers;
mod shown;

use crate::support::Site;
use crate::support::delay::Delay;
use crate::support::namespaces::{Behind, Machine, Node};
use crate::support::traffic::answers;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);
const SERVER_IPV4: &str = "198.51.100.2";
const SERVER_IPV6: &str = "2001:db8:1::2";
/// More packets of other kinds than TCP do not cross the hop during a test: echo requests and their answers.
const MOST_OTHER_PACKETS: u64 = 20;

/// A station whose hosts' TCP goes as streams to a server behind the gateway.
struct Pair {
    // Dropped in this order: nodes before the machines that they are on.
    station: Node,
    gateway: Node,
    _delay: Option<Delay>,
    site: Site,
    behind: Behind,
}

impl Pair {
    /// With these further lines at the top of both configurations, and a path of this length.
    fn new(lines: &str, one_way: Option<Duration>) -> Self {
        Self::of(one_way, |site| ["gateway", "station"].iter().for_each(|name| site.prepend(name, lines)))
    }

    /// With configurations that are changed so, and a path of this length.
    fn of(one_way: Option<Duration>, change: impl FnOnce(&Site)) -> Self {
        let behind = Behind::new();
        let allowed = r#"["10.98.0.1/32", "198.51.100.0/24", "fd98::/64", "2001:db8:1::/64"]"#;
        let near: SocketAddr = "192.0.2.1:4781".parse().unwrap();
        let far: SocketAddr = "192.0.2.1:4780".parse().unwrap();
        let delay = one_way.map(|one_way| Delay::new(&behind.cabled.gateway, near, far, one_way));
        let endpoint = if delay.is_some() { near } else { far };
        let site = Site::tunnel(&endpoint.to_string(), allowed);
        change(&site);
        let gateway = Node::start(&site, &behind.cabled.gateway, "gateway");
        let station = Node::start(&site, &behind.cabled.station, "station");
        let pair = Pair { station, gateway, _delay: delay, site, behind };
        pair.wait();
        pair
    }

    /// Waits until the tunnel carries packets.
    fn wait(&self) {
        assert!(answers(&self.behind.cabled.station, ip(SERVER_IPV4), 56, PATIENCE), "the tunnel stands");
    }

    fn client(&self) -> &Machine {
        &self.behind.cabled.station
    }

    fn server(&self) -> &Machine {
        &self.behind.server
    }

    /// Both ends of a connection of the client to a listener at this address of the server.
    fn connected(&self, at: &str) -> (TcpStream, TcpStream) {
        let (listener, address) = self.listener(at);
        let near = self.client().on(|| TcpStream::connect_timeout(&address, PATIENCE).unwrap());
        let (far, from) = listener.accept().unwrap();
        assert_eq!(from, near.local_addr().unwrap(), "the server sees the client's address");
        for stream in [&near, &far] {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        (near, far)
    }

    fn listener(&self, at: &str) -> (TcpListener, SocketAddr) {
        let listener = self.server().on(|| TcpListener::bind((ip(at), 0)).unwrap());
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// A counter of both nodes together, by its JSON pointer.
    fn count(&self, counter: &str) -> u64 {
        let of = |node: &Node| {
            node.status()["node"]["peers"][0]["counters"].pointer(counter).and_then(Value::as_u64).unwrap()
        };
        of(&self.station) + of(&self.gateway)
    }

    /// Fails if a connection crossed the hop in packets, or if fewer bytes than these crossed it as streams.
    fn assert_all_went_as_streams(&self, least_bytes: u64) {
        let status = || format!("{:#}\n{:#}", self.station.status(), self.gateway.status());
        let packets = self.count("/inner_sent_packets");
        assert!(packets <= MOST_OTHER_PACKETS, "{packets} packets: {}", status());
        let bytes = self.count("/streams/taken_bytes");
        assert!(bytes >= least_bytes, "{bytes} bytes of {least_bytes}: {}", status());
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Sends bytes from one end of a connection, and has them returned by the other.
fn return_bytes(near: &mut TcpStream, far: &mut TcpStream, sent: &[u8]) {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut heard = vec![0; sent.len()];
            far.read_exact(&mut heard).unwrap();
            far.write_all(&heard).unwrap();
        });
        near.write_all(sent).unwrap();
        let mut answer = vec![0; sent.len()];
        near.read_exact(&mut answer).unwrap();
        assert!(answer == sent, "every byte comes back");
    });
}

/// Bytes that neither repeat nor compress.
fn content(mut state: u64, bytes: usize) -> Vec<u8> {
    let mut content: Vec<u8> = Vec::with_capacity(bytes + 8);
    while content.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    content.truncate(bytes);
    content
}

/// Does all of these at the same time. Fails by the names of those that failed.
fn at_once(parts: &[(&str, &(dyn Fn() + Sync))]) {
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let threads: Vec<_> = parts.iter().map(|(name, part)| (*name, scope.spawn(*part))).collect();
        threads.into_iter().filter_map(|(name, thread)| thread.join().is_err().then_some(name)).collect()
    });
    assert!(failed.is_empty(), "failed: {failed:?}");
}
