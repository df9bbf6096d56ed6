//! Messages between mesh routers about contents, and their handling by a router.

use crate::Seed;
use std::net::IpAddr;
use std::time::Duration;
use webcache::selection::message::{Kind, LONGEST_BYTES, Message, NetworkKey};
use webcache::selection::search::Searches;

const CHECK_BYTES: usize = 16;

/// A sequence of messages, each after its length (two octets), as a member of the network may send them. A
/// parsed message is emitted unchanged; a router answers and forwards at most once each, and never with a
/// higher TTL.
pub fn check(bytes: &[u8]) -> bool {
    let key = NetworkKey::new(b"fuzzing");
    let mut router = Searches::new(IpAddr::from([10, 0, 0, 1]), key.clone(), 7);
    let search = router.begin("http://a/", 3);
    while router.poll_transmit().is_some() {}
    let (mut rest, mut accepted) = (bytes, false);
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (said, after) = after.split_at(usize::from(u16::from_be_bytes(*length)).min(after.len()));
        rest = after;
        let Some(message) = Message::read(said) else { continue };
        let datagram = message.emit(&key).expect("what was read can be written");
        assert!(datagram.len() <= LONGEST_BYTES);
        assert_eq!(Message::parse(&datagram, &key).as_ref(), Ok(&message));
        let (written, _) = datagram.split_at(datagram.len() - CHECK_BYTES);
        assert_eq!(Message::read(written), Some(message.clone()));
        accepted = true;
        let now = Duration::from_millis(datagram.len() as u64);
        router.handle_datagram(&datagram, now, |_| true, |node| (!node.is_loopback()).then_some(node));
        let mut sent = 0;
        while let Some(transmit) = router.poll_transmit() {
            let said = Message::parse(&transmit.datagram, &key).expect("a router says what can be read");
            assert!(said.kind == Kind::Found || said.ttl < message.ttl, "a TTL never grows");
            sent += 1;
        }
        assert!(sent <= 2, "an answer and a rebroadcast");
    }
    if let Some(search) = search {
        assert!(router.end(search).len() <= 32);
    }
    accepted
}

/// One of each kind, and a search that is heard twice.
pub fn seeds() -> Vec<Seed> {
    let write = |out: &mut Vec<u8>, kind, sequence| {
        let (origin, target) = (IpAddr::from([10, 0, 0, 2]), IpAddr::from([10, 0, 0, 9]));
        let message = Message { kind, ttl: 4, boot: 1, sequence, origin, target, key: "http://a/x" };
        let datagram = message.emit(&NetworkKey::new(b"fuzzing")).expect("it is short");
        let said = &datagram[..datagram.len() - CHECK_BYTES];
        out.extend_from_slice(&(said.len() as u16).to_be_bytes());
        out.extend_from_slice(said);
    };
    vec![
        Seed::of("locate-twice", |out| (0..2).for_each(|_| write(out, Kind::Locate, 1))),
        Seed::of("found", |out| write(out, Kind::Found, 1)),
        Seed::of("setups", |out| {
            write(out, Kind::SetupHolder, 2);
            write(out, Kind::SetupHome, 3);
        }),
    ]
}
