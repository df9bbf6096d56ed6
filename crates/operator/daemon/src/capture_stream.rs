//! A node's traffic as pcapng, for clients of the status socket.
//!
//! There are three interfaces. *inner* has the packets as hosts see them. *outer* has the datagrams as on the
//! air, with their headers. *opened* has their contents before the seal, unit header and plaintext, for the
//! dissector in `packaging/wireshark`. Comments describe the removed parts of each packet and the basis of
//! each removal.

use anyhow::Context;
use capture::{AnnotatedWriter, Interface, LinkType, contents};
use etherparse::{IpDscp, IpEcn, IpHeaders, IpNumber, Ipv4Header, Ipv6Header, PacketBuilder};
use io::Control;
use io::tap::{Captured, Opened, Passed, What};
use rustix::net::RecvFlags;
use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// Longest delay of captured packets, so that a viewer gets them live.
const DELAY: Duration = Duration::from_millis(200);
/// Timeout of a reader that takes nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most peers whose local address is remembered.
const MAX_PEERS: usize = 1024;
/// Opened units have a link type for private use: DLT_USER0.
const USER0: LinkType = LinkType(147);

const INNER: usize = 0;
const OUTER: usize = 1;
const OPENED: usize = 2;
const INTERFACES: [Interface<'static>; 3] = [
    Interface { name: "inner", description: "packets, as the hosts see them", link_type: LinkType::RAW },
    Interface { name: "outer", description: "datagrams, as they are on the air", link_type: LinkType::RAW },
    Interface { name: "opened", description: "what datagrams say under their seal", link_type: USER0 },
];

/// Writes the traffic to `stream` until its reader closes it, in a thread of its own. `listen` is the node's
/// own port.
pub fn begin(stream: UnixStream, control: &Control, listen: SocketAddr) -> anyhow::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let (tap, captured) = io::tap::tap();
    control.capture(&tap).context("the node does not answer")?;
    // From here on only the drivers hold it, and it ends with them.
    drop(tap);
    let write = move || {
        if let Err(error) = write(&stream, &captured, listen.port()) {
            tracing::debug!("the capture ends: {error:#}");
        }
        if captured.lost() > 0 {
            tracing::warn!("{} packets passed faster than they could be captured", captured.lost());
        }
    };
    std::thread::Builder::new()
        .name("capture".to_owned())
        .spawn(write)
        .context("cannot start the thread that captures")?;
    Ok(())
}

fn write(stream: &UnixStream, captured: &Captured, port: u16) -> anyhow::Result<()> {
    let program = concat!("overheard ", env!("CARGO_PKG_VERSION"));
    let mut writer = AnnotatedWriter::new(BufWriter::new(stream), program, &INTERFACES)?;
    writer.flush()?;
    let mut path = Path { port, ours: HashMap::new() };
    loop {
        match captured.passed.recv_timeout(DELAY) {
            Ok(passed) => path.write(&mut writer, &passed)?,
            Err(RecvTimeoutError::Timeout) => {
                writer.flush()?;
                // The client sends nothing, so readable means closed.
                let read = rustix::net::recv(stream, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
                if read.is_ok() {
                    return Ok(());
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(writer.flush()?),
        }
    }
}

/// This node's side of the paths to its peers.
struct Path {
    port: u16,
    /// Our address towards each peer's address.
    ours: HashMap<IpAddr, IpAddr>,
}

impl Path {
    fn write(&mut self, writer: &mut AnnotatedWriter<impl Write>, passed: &Passed) -> anyhow::Result<()> {
        let Passed { at, what, bytes } = passed;
        let (datagram, opened) = match what {
            What::Offered => return Ok(writer.write(INNER, *at, bytes, "offered to the tunnel")?),
            What::Delivered => return Ok(writer.write(INNER, *at, bytes, "delivered by the tunnel")?),
            What::Sent { to, source_port, class, opened } => {
                let ours = SocketAddr::new(self.ours(to.ip()), self.port.wrapping_add(*source_port as u16));
                (framed(ours, *to, *class, bytes), opened)
            }
            What::Received { from, ecn, opened } => {
                let ours = SocketAddr::new(self.ours(from.ip()), self.port);
                (framed(*from, ours, *ecn, bytes), opened)
            }
        };
        let said = match opened {
            Some(Opened { kind, plaintext, .. }) => contents(*kind, plaintext),
            None => "a handshake, or not believed".to_owned(),
        };
        writer.write(OUTER, *at, &datagram, &said)?;
        if let Some(Opened { header, plaintext, .. }) = opened {
            writer.write(OPENED, *at, &[header.as_slice(), plaintext].concat(), &said)?;
        }
        Ok(())
    }

    /// This machine's source address towards another.
    fn ours(&mut self, other: IpAddr) -> IpAddr {
        if let Some(ours) = self.ours.get(&other) {
            return *ours;
        }
        let any: IpAddr =
            if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        // This queries the routes and sends nothing.
        let asked = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect((other, 9))?;
            socket.local_addr()
        });
        let ours = asked.map_or(any, |ours| ours.ip());
        if self.ours.len() == MAX_PEERS {
            self.ours.clear();
        }
        self.ours.insert(other, ours);
        ours
    }
}

/// A datagram behind its IP and UDP headers.
fn framed(from: SocketAddr, to: SocketAddr, class: u8, payload: &[u8]) -> Vec<u8> {
    const TTL: u8 = 64;
    let headers = match (from.ip().to_canonical(), to.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut header = Ipv4Header {
                time_to_live: TTL,
                protocol: IpNumber::UDP,
                source: from.octets(),
                destination: to.octets(),
                dont_fragment: true,
                ..Ipv4Header::default()
            };
            header.dscp = IpDscp::try_new(class >> 2).unwrap_or_default();
            header.ecn = IpEcn::try_new(class & 3).unwrap_or_default();
            IpHeaders::Ipv4(header, Default::default())
        }
        (from, to) => {
            let octets = |address: IpAddr| match address {
                IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
                IpAddr::V6(address) => address.octets(),
            };
            let header = Ipv6Header {
                traffic_class: class,
                next_header: IpNumber::UDP,
                hop_limit: TTL,
                source: octets(from),
                destination: octets(to),
                ..Ipv6Header::default()
            };
            IpHeaders::Ipv6(header, Default::default())
        }
    };
    let mut framed = Vec::with_capacity(payload.len() + 48);
    // A longer payload cannot have been a datagram.
    let _ = PacketBuilder::ip(headers).udp(from.port(), to.port()).write(&mut framed, payload);
    framed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_stands_behind_the_headers_that_it_has_on_the_air() {
        for (from, to, header_bytes) in
            [("192.0.2.1:4780", "192.0.2.2:5000", 28), ("[2001:db8::1]:4780", "[2001:db8::2]:5000", 48)]
        {
            let framed = framed(from.parse().unwrap(), to.parse().unwrap(), 0xba, b"sealed");
            assert_eq!(&framed[header_bytes..], b"sealed");
            let inner = wire::inner::Inner::parse(&framed).unwrap();
            assert_eq!(
                inner.flow.destination.to_string(),
                to.parse::<SocketAddr>().unwrap().ip().to_string()
            );
            assert_eq!(inner.traffic_class, 0xba);
        }
    }

    #[test]
    fn our_side_of_a_path_is_looked_up_once() {
        let mut path = Path { port: 4780, ours: HashMap::new() };
        assert_eq!(path.ours([127, 0, 0, 1].into()), IpAddr::from([127, 0, 0, 1]));
        assert_eq!(path.ours.len(), 1);
    }
}
