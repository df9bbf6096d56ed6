//! TCP connections that end at the gateway and continue as another one: both ends see each other's addresses,
//! and an event at one end reaches the other.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::Site;
use crate::support::namespaces::{Behind, Machine, Node, possible};
use crate::support::traffic::{answers, sent_and_returned};
use rustix::process::Signal;
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);

/// A tunnel whose gateway splits by `split`, and whose station reaches the server through it.
fn site(split: &str) -> Site {
    let allowed = r#"["10.98.0.1/32", "198.51.100.0/24", "fd98::/64", "2001:db8:1::/64"]"#;
    let site = Site::tunnel("192.0.2.1:4780", allowed);
    site.prepend("gateway", split);
    site
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Megabytes without repetitions.
fn content() -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut content = Vec::new();
    while content.len() < 2_000_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    content
}

fn started(behind: &Behind, site: &Site) -> (Node, Node) {
    let gateway = Node::start(site, &behind.cabled.gateway, "gateway");
    let station = Node::start(site, &behind.cabled.station, "station");
    assert!(answers(&behind.cabled.station, ip("198.51.100.2"), 56, PATIENCE));
    (gateway, station)
}

/// Both ends of a connection from one machine to a listener on another.
fn connected(from: &Machine, to: &Machine, at: IpAddr) -> (TcpStream, TcpStream) {
    let listener = to.on(|| TcpListener::bind((at, 0)).unwrap());
    let address = listener.local_addr().unwrap();
    let near = from.on(|| TcpStream::connect_timeout(&address, PATIENCE).unwrap());
    let (far, _) = listener.accept().unwrap();
    for stream in [&near, &far] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    (near, far)
}

/// Reads until the end and returns its kind.
fn end_of(mut stream: &TcpStream) -> Result<usize, ErrorKind> {
    let mut read = Vec::new();
    stream.read_to_end(&mut read).map_err(|error| error.kind())
}

fn nft_tables(machine: &Machine) -> String {
    let listed =
        Command::new("ip").args(["netns", "exec", &machine.name, "nft", "list", "tables"]).output().unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

#[test]
fn both_ends_see_each_other_whoever_begins_and_nothing_is_left_behind() {
    if !possible() {
        return;
    }
    let (behind, site) = (Behind::new(), site("split = true"));
    let (gateway, _station) = started(&behind, &site);
    let (station_machine, server) = (&behind.cabled.station, &behind.server);
    let content = content();
    for (station_ip, server_ip) in [("10.98.0.2", "198.51.100.2"), ("fd98::2", "2001:db8:1::2")] {
        let (station_ip, server_ip) = (ip(station_ip), ip(server_ip));
        for (from, from_ip, to, to_ip) in [
            (station_machine, station_ip, server, server_ip),
            (server, server_ip, station_machine, station_ip),
        ] {
            assert!(sent_and_returned(from, to, to_ip, &content) == content);
            let (near, far) = connected(from, to, to_ip);
            assert_eq!(far.peer_addr().unwrap(), near.local_addr().unwrap());
            assert_eq!(far.peer_addr().unwrap().ip(), from_ip);
            assert_eq!(far.local_addr().unwrap(), near.peer_addr().unwrap());
        }
    }
    let split = gateway.status()["split"].clone();
    assert_eq!(split["accepted"], 8, "{split:#}");
    assert!(split["bytes"].as_u64().unwrap() >= 8 * content.len() as u64, "{split:#}");
    let text = String::from_utf8(site.run(&["status", "gateway.toml"]).stdout).unwrap();
    assert!(text.contains("split TCP:") && text.contains("8 taken"), "{text}");
    assert!(nft_tables(&behind.cabled.gateway).contains("overheard_split_"));

    assert_eq!(gateway.terminate(Signal::TERM).code(), Some(0));
    assert_eq!(nft_tables(&behind.cabled.gateway), "");
    let traces = behind.cabled.gateway.traces();
    assert_eq!(traces, Vec::<String>::new(), "nothing is left");
}

/// Connects, and expects a reset. The acceptance and the reset may arrive together: then connecting fails.
fn assert_reset(machine: &Machine, address: SocketAddr) {
    match machine.on(|| TcpStream::connect_timeout(&address, PATIENCE)) {
        Ok(stream) => assert_eq!(end_of(&stream), Err(ErrorKind::ConnectionReset)),
        Err(error) => assert!(
            [ErrorKind::ConnectionRefused, ErrorKind::ConnectionReset].contains(&error.kind()),
            "{error}"
        ),
    }
}

#[test]
fn an_end_is_passed_on_as_an_end_and_a_reset_as_a_reset() {
    if !possible() {
        return;
    }
    let (behind, site) = (Behind::new(), site("[split]\nidle_seconds = 3\nconnections = 3"));
    let (gateway, _station) = started(&behind, &site);
    let (station, server, at) = (&behind.cabled.station, &behind.server, ip("198.51.100.2"));

    // One direction ends, the other continues.
    let (near, mut far) = connected(station, server, at);
    near.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(end_of(&far), Ok(0));
    far.write_all(b"still here").unwrap();
    drop(far);
    assert_eq!(end_of(&near), Ok(10));

    // A reset there is a reset here, and not a normal end.
    let (mut near, mut far) = connected(station, server, at);
    near.write_all(b"?").unwrap();
    far.read_exact(&mut [0]).unwrap();
    SockRef::from(&far).set_linger(Some(Duration::ZERO)).unwrap();
    drop(far);
    assert_eq!(end_of(&near), Err(ErrorKind::ConnectionReset));

    // The port has no listener.
    let nobody = server.on(|| TcpListener::bind((at, 0)).unwrap().local_addr().unwrap());
    assert_reset(station, nobody);

    // Idle time ends both.
    let (near, far) = connected(station, server, at);
    let since = Instant::now();
    assert_eq!(end_of(&near), Err(ErrorKind::ConnectionReset));
    assert_eq!(end_of(&far), Err(ErrorKind::ConnectionReset));
    assert!(since.elapsed() > Duration::from_secs(2));

    // At most three connections.
    let open: Vec<_> = (0..3).map(|_| connected(station, server, at)).collect();
    let listener = server.on(|| TcpListener::bind((at, 0)).unwrap());
    let address = listener.local_addr().unwrap();
    assert_reset(station, address);
    drop(open);

    let split = gateway.status()["split"].clone();
    for (what, count) in [("unreached", 1), ("idle", 1), ("refused", 1)] {
        assert_eq!(split[what], count, "{what}: {split:#}");
    }
    // Possibly also some that both ends closed at once.
    assert!(split["reset"].as_u64().unwrap() >= 1, "{split:#}");
}

#[test]
fn values_that_make_no_sense_are_refused_with_the_mend() {
    let site = Site::new();
    for (split, named) in [
        ("ports = [0]", "[split] ports"),
        ("connections = 0", "[split] connections"),
        ("idle_seconds = 0", "[split] idle_seconds"),
        ("port = 0", "[split] port"),
        ("mark = 0", "[split] mark"),
        ("table = 254", "[split] table"),
    ] {
        let (code, said) = site.refused(&format!("{}\n[split]\n{split}\n", site.gateway()));
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(named), "{split}: {said}");
    }
    let (code, said) = site.refused(&format!("streams = true\nsplit = true\n{}", site.gateway()));
    let expected = "overheard: gateway.toml: [split]: streams end TCP connections, too, and no second place may; take [split] or \
                    streams out";
    assert_eq!((code, said.as_str()), (2, expected));
}
