//! Beginnings and ends of connections, as both hosts see them.

use super::servers::{self, run};
use super::{PATIENCE, Pair, SERVER_IPV4, SERVER_IPV6, at_once, content, ip};
use crate::support::has;
use crate::support::namespaces::{Machine, possible};
use socket2::{Domain, SockRef, Socket, Type};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const ONE_WAY: Duration = Duration::from_millis(40);
const ROUND_TRIP: Duration = Duration::from_millis(80);
/// An answer after a round trip comes within this time on a busy machine.
const SOON: Duration = Duration::from_millis(800);
/// No answer comes for so long from a host that gives none.
const NEVER: Duration = Duration::from_millis(1500);
const SERVERS: [&str; 2] = [SERVER_IPV4, SERVER_IPV6];
const SILENT_PORT: u16 = 9;
const FORBIDDEN_PORT: u16 = 10;

/// Connects from a machine. Returns the time that it took.
fn connect(
    machine: &Machine,
    to: SocketAddr,
    patience: Duration,
) -> (Result<TcpStream, ErrorKind>, Duration) {
    machine.on(|| {
        let since = Instant::now();
        let stream = TcpStream::connect_timeout(&to, patience);
        (stream.map_err(|error| error.kind()), since.elapsed())
    })
}

/// An address without a listener.
fn nobody(pair: &Pair, at: &str) -> SocketAddr {
    pair.listener(at).1
}

/// Makes the server ignore a port, and another forbid connections by a message of ICMP.
fn filter(pair: &Pair) {
    let rules = format!(
        "table inet filtered {{ chain in {{ type filter hook input priority 0\n tcp dport {SILENT_PORT} drop\n \
         tcp dport {FORBIDDEN_PORT} reject\n }}\n }}\n"
    );
    let file = pair.site.path().join("filter.nft");
    fs::write(&file, rules).unwrap();
    pair.server().run("nft", &format!("-f {}", file.display()));
}

/// Reads until the end and returns its kind.
fn end_of(mut stream: &TcpStream) -> Result<usize, ErrorKind> {
    let mut read = Vec::new();
    stream.read_to_end(&mut read).map_err(|error| error.kind())
}

/// Closes it by a reset.
fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

#[test]
fn hosts_see_each_others_refusals_silence_ends_and_resets() {
    if !possible() {
        return;
    }
    let pair = Pair::new("streams = true", Some(ONE_WAY));
    filter(&pair);
    // Packets of the tunnel's length do not fit behind the gateway, which its kernel says by ICMP.
    let gateway = &pair.behind.cabled.gateway;
    gateway.ip("route change 198.51.100.0/24 dev cable2 mtu 1300");
    gateway.ip("route change 2001:db8:1::/64 dev cable2 metric 256 mtu 1300");
    at_once(&[
        ("a refusal", &|| {
            for at in SERVERS {
                for refusing in [nobody(&pair, at), SocketAddr::new(ip(at), FORBIDDEN_PORT)] {
                    let (refused, took) = connect(pair.client(), refusing, PATIENCE);
                    assert_eq!(refused.unwrap_err(), ErrorKind::ConnectionRefused, "{refusing}");
                    assert!(took >= ROUND_TRIP && took < ROUND_TRIP + SOON, "{refusing}: {took:?}");
                }
            }
        }),
        ("a host without an answer", &|| {
            for at in SERVERS {
                let silent = SocketAddr::new(ip(at), SILENT_PORT);
                let (unanswered, took) = connect(pair.client(), silent, NEVER);
                assert_eq!(unanswered.unwrap_err(), ErrorKind::TimedOut);
                assert!(took >= NEVER, "{took:?}");
            }
        }),
        ("a server that never speaks", &|| {
            let (near, far) = pair.connected(SERVER_IPV4);
            near.set_read_timeout(Some(NEVER)).unwrap();
            assert_eq!(end_of(&near), Err(ErrorKind::WouldBlock), "nothing comes, and no end");
            drop(far);
            near.set_read_timeout(Some(PATIENCE)).unwrap();
            assert_eq!(end_of(&near), Ok(0));
        }),
        ("a server that speaks first", &|| {
            for at in SERVERS {
                let (mut near, mut far) = pair.connected(at);
                far.write_all(b"220 ready\r\n").unwrap();
                let mut greeting = [0; 11];
                near.read_exact(&mut greeting).unwrap();
                assert_eq!(&greeting, b"220 ready\r\n");
            }
        }),
        ("the client ends first", &|| SERVERS.iter().for_each(|at| answers_after_the_end(&pair, at, true))),
        ("the server ends first", &|| SERVERS.iter().for_each(|at| answers_after_the_end(&pair, at, false))),
        ("nc ends first", &|| nc_ends_first(&pair)),
        ("resets", &|| SERVERS.iter().for_each(|at| resets(&pair, at))),
        ("a port that is used again", &|| SERVERS.iter().for_each(|at| uses_a_port_again(&pair, at))),
        ("a connection that the server begins", &|| the_server_begins(&pair)),
    ]);
    pair.assert_all_went_as_streams(4_000_000);
}

/// One end sends all and ends its direction. The other answers by the same bytes after this end.
fn answers_after_the_end(pair: &Pair, at: &str, client_ends_first: bool) {
    let (near, far) = pair.connected(at);
    let (mut first, mut second) = if client_ends_first { (near, far) } else { (far, near) };
    let content = content(3, 700_000);
    let answering = std::thread::spawn(move || {
        let mut heard = Vec::new();
        second.read_to_end(&mut heard).unwrap();
        second.write_all(&heard).unwrap();
        heard.len()
    });
    first.write_all(&content).unwrap();
    first.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    first.read_to_end(&mut answer).unwrap();
    assert_eq!(answering.join().unwrap(), content.len());
    assert!(answer == content, "the answer is whole");
}

fn nc_ends_first(pair: &Pair) {
    if !(has("nc.openbsd", "netcat-openbsd") && has("socat", "socat")) {
        return;
    }
    let (_server, folder) = servers::socat(pair, 7000, "tac");
    let lines: Vec<String> = (0..60_000u64).map(|line| format!("{}\n", line * line * 7919)).collect();
    let input = folder.join("input");
    fs::write(&input, lines.concat()).unwrap();
    let backwards: String = lines.into_iter().rev().collect();
    for client in [
        "nc.openbsd -N 198.51.100.2 7000",
        "nc.openbsd -N 2001:db8:1::2 7000",
        "socat -t 40 - TCP:198.51.100.2:7000",
    ] {
        let words: Vec<&str> = client.split(' ').collect();
        let answer = run(pair.client(), &folder, &words, Some(&input));
        assert!(answer == backwards.as_bytes(), "{client}: {} bytes", answer.len());
    }
}

/// A reset at one end is a reset at the other, idle or amid bytes.
fn resets(pair: &Pair, at: &str) {
    for client_resets in [true, false] {
        for sends_before in [false, true] {
            let (near, far) = pair.connected(at);
            let (mut first, second) = if client_resets { (near, far) } else { (far, near) };
            if sends_before {
                first.write_all(&content(4, 20_000)).unwrap();
                (&second).read_exact(&mut [0; 100]).unwrap();
            }
            reset(first);
            assert_eq!(end_of(&second), Err(ErrorKind::ConnectionReset), "{client_resets} {sends_before}");
        }
    }
    // a process is killed with bytes that it has not read
    let (mut near, far) = pair.connected(at);
    near.write_all(b"unread").unwrap();
    far.peek(&mut [0; 1]).unwrap();
    drop(far);
    assert_eq!(end_of(&near), Err(ErrorKind::ConnectionReset));
}

/// Several connections with the same ports, each after the reset of the former.
fn uses_a_port_again(pair: &Pair, at: &str) {
    let (listener, address) = pair.listener(at);
    let mut port = 0;
    for _ in 0..3 {
        let near: TcpStream = pair.client().on(|| {
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
            let from: IpAddr = ip(if address.is_ipv4() { "10.98.0.2" } else { "fd98::2" });
            socket.bind(&SocketAddr::new(from, port).into()).unwrap();
            socket.connect_timeout(&address.into(), PATIENCE).unwrap();
            socket.into()
        });
        port = near.local_addr().unwrap().port();
        let (far, _) = listener.accept().unwrap();
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        reset(near);
        assert_eq!(end_of(&far), Err(ErrorKind::ConnectionReset));
    }
}

fn the_server_begins(pair: &Pair) {
    for at in ["10.98.0.2", "fd98::2"] {
        let listener = pair.client().on(|| TcpListener::bind((ip(at), 0)).unwrap());
        let (stream, _) = connect(pair.server(), listener.local_addr().unwrap(), PATIENCE);
        let mut stream = stream.unwrap();
        let (far, from) = listener.accept().unwrap();
        assert_eq!(from, stream.local_addr().unwrap());
        far.set_read_timeout(Some(PATIENCE)).unwrap();
        let content = content(5, 100_000);
        stream.write_all(&content).unwrap();
        drop(stream);
        assert_eq!(end_of(&far), Ok(content.len()));
    }
}

#[test]
fn early_answers_make_a_refusal_a_reset_and_a_silent_host_one_that_accepts() {
    if !possible() {
        return;
    }
    let pair = Pair::new("[streams]\nanswer_early = true", Some(ONE_WAY));
    filter(&pair);
    for at in SERVERS {
        let (accepted, took) = connect(pair.client(), nobody(&pair, at), PATIENCE);
        let accepted = accepted.unwrap();
        assert!(took < ROUND_TRIP, "{took:?}");
        accepted.set_read_timeout(Some(PATIENCE)).unwrap();
        assert_eq!(end_of(&accepted), Err(ErrorKind::ConnectionReset));

        let (accepted, took) = connect(pair.client(), SocketAddr::new(ip(at), SILENT_PORT), PATIENCE);
        let accepted = accepted.unwrap();
        assert!(took < ROUND_TRIP, "{took:?}");
        accepted.set_read_timeout(Some(NEVER)).unwrap();
        assert_eq!(end_of(&accepted), Err(ErrorKind::WouldBlock), "no end as long as the far node asks");

        let (mut near, far) = pair.connected(at);
        near.write_all(b"a request").unwrap();
        near.shutdown(Shutdown::Write).unwrap();
        assert_eq!(end_of(&far), Ok(9));
    }
    pair.assert_all_went_as_streams(0);
}
