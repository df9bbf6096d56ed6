//! Traffic through a tunnel: echo requests and TCP.

use super::namespaces::Machine;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Whether `to` answers an ICMP echo request of `payload_bytes` within `patience`; it sends one every 100 ms.
pub fn answers(from: &Machine, to: IpAddr, payload_bytes: usize, patience: Duration) -> bool {
    answers_in(from, to, payload_bytes, patience, Duration::from_millis(100))
}

/// The same for answers that take up to `round_trip`, which is also the interval.
pub fn answers_in(
    from: &Machine,
    to: IpAddr,
    payload_bytes: usize,
    patience: Duration,
    round_trip: Duration,
) -> bool {
    from.on(|| {
        let end = Instant::now() + patience;
        let mut sequence = 0;
        while Instant::now() < end {
            sequence += 1;
            if echo(to, sequence, payload_bytes, round_trip).unwrap_or(false) {
                return true;
            }
        }
        false
    })
}

fn echo(to: IpAddr, sequence: u16, payload_bytes: usize, round_trip: Duration) -> std::io::Result<bool> {
    let (domain, protocol, request, reply) = match to {
        IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4, 8, 0),
        IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6, 128, 129),
    };
    let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
    socket.set_read_timeout(Some(round_trip))?;
    let mut message = vec![request, 0, 0, 0, 0x0f, 0x0f];
    message.extend_from_slice(&sequence.to_be_bytes());
    message.extend((0..payload_bytes).map(|i| i as u8));
    if to.is_ipv4() {
        // For ICMPv6 the kernel computes it.
        let checksum = checksum(&message);
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    socket.send_to(&message, &SockAddr::from(SocketAddr::new(to, 0)))?;
    let mut buffer = vec![0; 65_536];
    loop {
        let count = (&socket).read(&mut buffer)?;
        let heard = &buffer[..count];
        let icmp = if to.is_ipv4() { &heard[20..] } else { heard };
        if icmp[0] == reply && icmp[4..] == message[4..] {
            return Ok(true);
        }
    }
}

fn checksum(message: &[u8]) -> u16 {
    let words =
        message.chunks(2).map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Sends `content` over TCP from `from` to an echo server at `at` on `to`. Returns the received bytes.
pub fn sent_and_returned(from: &Machine, to: &Machine, at: IpAddr, content: &[u8]) -> Vec<u8> {
    let listener = to.on(|| TcpListener::bind((at, 0)).unwrap());
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).unwrap();
        stream.write_all(&heard).unwrap();
    });
    let mut client =
        from.on(|| TcpStream::connect_timeout(&address, Duration::from_secs(10)).expect("it connects"));
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    client.write_all(content).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut returned = Vec::new();
    client.read_to_end(&mut returned).unwrap();
    server.join().unwrap();
    returned
}
