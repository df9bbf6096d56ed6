//! A server whose answers avoid the tunnel.

use super::{PATIENCE, Pair, SERVER_IPV4, SERVER_IPV6, at_once, content, return_bytes};
use crate::support::namespaces::{possible, run};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// A connection in packets that nothing delays stands within this time on a busy machine.
const SOON: Duration = Duration::from_millis(800);
/// The far node gives a server up after half a minute. The host asks again a second later.
const AFTER_SILENCE: Duration = Duration::from_secs(50);
const SERVERS: [&str; 2] = [SERVER_IPV4, SERVER_IPV6];

/// Lays a cable from the server to the client, which carries the server's packets for the client.
fn lay_another_way(pair: &Pair) {
    let (client, server) = (pair.client(), pair.server());
    let cable =
        format!("link add cable3 netns {} type veth peer name cable3 netns {}", client.name, server.name);
    run("ip", &cable.split(' ').collect::<Vec<_>>());
    for (machine, last) in [(client, 1), (server, 2)] {
        machine.ip(&format!("addr add 203.0.113.{last}/24 dev cable3"));
        machine.ip(&format!("addr add 2001:db8:3::{last}/64 dev cable3 nodad"));
        machine.ip("link set cable3 up");
    }
    server.ip("route add 10.98.0.2/32 via 203.0.113.1");
    server.ip("-6 route add fd98::2/128 via 2001:db8:3::1");
    client.on(|| {
        for of in ["all", "cable3"] {
            fs::write(format!("/proc/sys/net/ipv4/conf/{of}/rp_filter"), "0").unwrap();
        }
    });
}

/// Connects to the server, and has bytes returned. How long the connection took.
fn returned(pair: &Pair, listener: &TcpListener, patience: Duration) -> Duration {
    let address = listener.local_addr().unwrap();
    let since = Instant::now();
    let mut near = pair.client().on(|| TcpStream::connect_timeout(&address, patience)).unwrap();
    let took = since.elapsed();
    let (mut far, _) = listener.accept().unwrap();
    for stream in [&near, &far] {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    let sent = content(5, 100_000);
    return_bytes(&mut near, &mut far, &sent);
    took
}

/// How many connections of the station went in packets for want of a way back, and as streams.
fn counted(pair: &Pair) -> [u64; 2] {
    ["/streams/no_way_back", "/streams/opened"].map(|counter| pair.count(counter))
}

#[test]
fn connections_whose_answers_avoid_the_tunnel_go_in_packets() {
    if !possible() {
        return;
    }
    let pair = Pair::new("streams = true", None);
    lay_another_way(&pair);
    let listeners = SERVERS.map(|at| pair.listener(at));
    for (listener, _) in &listeners {
        assert!(returned(&pair, listener, PATIENCE) < PATIENCE);
    }
    assert_eq!(counted(&pair), [2, 2], "a stream each was tried");
    for (listener, _) in &listeners {
        let took = returned(&pair, listener, PATIENCE);
        assert!(took < SOON, "{took:?}");
    }
    assert_eq!(counted(&pair), [4, 2]);
    let log = pair.station.log();
    let line = |address: &SocketAddr| {
        format!(
            "{address} answers by another way than gateway: connections to it go in packets for 10 minutes"
        )
    };
    assert!(log.contains(&line(&listeners[0].1)), "{log}");
    assert!(!log.contains(&line(&listeners[1].1)), "at most a line a minute: {log}");
    let status = pair.site.run(&["status", "station.toml"]);
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("NO WAY BACK"), "{status}");
}

#[test]
fn a_filter_that_hides_the_other_way_costs_the_first_connection_half_a_minute() {
    if !possible() {
        return;
    }
    let pair = Pair::new("streams = true", None);
    lay_another_way(&pair);
    // as filters do that know of connections
    let rules =
        "table inet hides { chain out { type filter hook output priority 0\n tcp flags rst drop\n }\n }\n";
    let file = pair.site.path().join("hides.nft");
    fs::write(&file, rules).unwrap();
    pair.client().run("nft", &format!("-f {}", file.display()));
    let listeners = SERVERS.map(|at| pair.listener(at));
    let both = |patience, most: Duration| {
        let one = |at: usize| {
            let took = returned(&pair, &listeners[at].0, patience);
            assert!(took < most, "{took:?}");
        };
        at_once(&[("IPv4", &|| one(0)), ("IPv6", &|| one(1))]);
    };
    both(AFTER_SILENCE, AFTER_SILENCE);
    assert_eq!(counted(&pair), [2, 2]);
    both(PATIENCE, SOON);
    assert_eq!(counted(&pair), [4, 2]);
    let log = pair.station.log();
    assert!(log.contains("does not answer gateway: connections to it go in packets for 10 minutes"), "{log}");
}
