//! Two gateways of one operator, with real nodes: a station does not receive content again that it overheard
//! from the other gateway, and a roaming station keeps its address and connections.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)] // a test may fail by panicking, and waits

use crate::support::cells::{Cells, site};
use crate::support::namespaces::{Node, possible};
use crate::support::traffic::{answers, sent_and_returned};
use crate::support::wait_until;
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

fn server() -> IpAddr {
    "198.51.100.9".parse().unwrap()
}

/// Bytes that neither repeat nor compress.
fn content(mut state: u64, bytes: usize) -> Vec<u8> {
    let mut content: Vec<u8> = Vec::with_capacity(bytes);
    while content.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        content.extend_from_slice(&state.to_le_bytes());
    }
    content
}

fn peer(node: &Node, name: &str) -> serde_json::Value {
    let status = node.status();
    let peers = status["node"]["peers"].as_array().unwrap();
    peers.iter().find(|peer| peer["name"] == name).unwrap().clone()
}

fn count(node: &Node, name: &str, counter: &str) -> u64 {
    peer(node, name)["counters"][counter].as_u64().unwrap()
}

/// Whether a station is at this gateway, as the station and both gateways see it.
fn is_with(station: &Node, name: &str, gateways: &[Node; 2], at: usize) -> bool {
    let other = format!("gateway{at}");
    peer(station, &other)["associated"] == true
        && peer(&gateways[at], name)["associated_with"].is_null()
        && peer(&gateways[1 - at], name)["associated_with"] == other.as_str()
}

#[test]
fn what_a_station_overheard_of_another_gateway_its_own_does_not_send() {
    if !possible() {
        return;
    }
    let (cells, site) = (Cells::new(&[0, 1]), site(&[0, 1], "ear"));
    cells.listens(0, 1);
    cells.listens(1, 0);
    let gateways = ["gateway0", "gateway1"]
        .map(|name| Node::start(&site, &cells.gateways[usize::from(name == "gateway1")], name));
    let stations = [0, 1].map(|at| Node::start(&site, &cells.stations[at], &format!("station{at}")));
    for (at, station) in stations.iter().enumerate() {
        let name = format!("station{at}");
        wait_until(&name, PATIENCE, || is_with(station, &name, &gateways, at));
        assert!(answers(&cells.stations[at], server(), 56, PATIENCE), "the tunnel stands");
    }
    // Time for the exchange of group keys and members.
    std::thread::sleep(Duration::from_secs(6));
    let bytes = 1_500_000;
    let content = content(1, bytes);
    let mut costs = Vec::new();
    for at in [0, 1] {
        let name = format!("station{at}");
        let before = count(&gateways[at], &name, "outer_sent_bytes");
        let returned = sent_and_returned(&cells.stations[at], &cells.server, server(), &content);
        assert!(returned == content, "every byte comes back");
        costs.push(count(&gateways[at], &name, "outer_sent_bytes") - before);
        std::thread::sleep(Duration::from_secs(1));
    }
    let status = format!("{:#}\n{:#}", gateways[1].status()["node"], stations[1].status()["node"]);
    println!("the first cost {} bytes, the second, at the other gateway, {}", costs[0], costs[1]);
    assert!(costs[0] > bytes as u64 / 15 * 14, "{costs:?} {status}");
    // Its segments have other offsets, and the neighbours of named chunks are unknown.
    assert!(costs[1] * 10 < costs[0] * 7, "{costs:?} {status}");
    assert!(count(&gateways[1], "gateway0", "chunks_named") > bytes as u64 / 300, "{status}");
    let text = String::from_utf8(site.run(&["status", "gateway1.toml"]).stdout).unwrap();
    println!("{text}");
    assert!(text.contains("CHUNKS NAMED"), "{text}");
}

#[test]
fn a_station_that_moves_keeps_its_address_and_its_connection() {
    if !possible() {
        return;
    }
    let (cells, site) = (Cells::new(&[0]), site(&[0], "cable"));
    let gateways = [0, 1].map(|at| Node::start(&site, &cells.gateways[at], &format!("gateway{at}")));
    let station = Node::start(&site, &cells.stations[0], "station0");
    assert!(answers(&cells.stations[0], server(), 56, PATIENCE), "the tunnel stands");

    // The server sends slowly and receives every byte back.
    let listener = cells.stations[0].on(|| TcpListener::bind("10.98.0.11:8080").unwrap());
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut buffer = [0; 16384];
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => return,
                some => stream.write_all(&buffer[..some]).unwrap(),
            }
        }
    });
    let mut stream = cells.server.on(|| TcpStream::connect("10.98.0.11:8080").unwrap());
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let content = content(2, 400_000);
    let mut exchange = |part: &[u8]| {
        stream.write_all(part).unwrap();
        let mut back = vec![0; part.len()];
        stream.read_exact(&mut back).unwrap();
        assert!(back == part);
    };
    let (before, after) = content.split_at(100_000);
    before.chunks(5000).for_each(&mut exchange);
    cells.moves(0, 1);
    let moved = Instant::now();
    exchange(&after[..5000]);
    let rest = moved.elapsed();
    after[5000..].chunks(5000).for_each(&mut exchange);
    println!("the connection rested for {rest:?} while the station moved");
    assert!(rest < Duration::from_secs(20), "{rest:?}");
    wait_until("both gateways know", PATIENCE, || is_with(&station, "station0", &gateways, 1));
    assert!(count(&gateways[1], "gateway0", "forwarded_packets") > 0);

    // It returns, and the gateway that it leaves ends.
    cells.moves(0, 0);
    let [first, second] = gateways;
    assert_eq!(second.terminate(Signal::KILL).code(), None);
    exchange(&content[..5000]);
    drop(stream);
    echo.join().unwrap();
    assert_eq!(peer(&station, "gateway0")["associated"], true);
    drop(first);
}

#[test]
fn gateways_that_restart_one_after_the_other_take_their_stations_back() {
    if !possible() {
        return;
    }
    let (cells, site) = (Cells::new(&[0, 1]), site(&[0, 1], "cable"));
    let mut gateways = [0, 1].map(|at| Node::start(&site, &cells.gateways[at], &format!("gateway{at}")));
    let stations = [0, 1].map(|at| Node::start(&site, &cells.stations[at], &format!("station{at}")));
    for round in 0..2 {
        for (at, station) in stations.iter().enumerate() {
            let name = format!("station{at}");
            wait_until(&name, PATIENCE, || is_with(station, &name, &gateways, at));
            // By way of the first gateway, also to the station at the second one.
            assert!(answers(&cells.server, format!("10.98.0.{}", 11 + at).parse().unwrap(), 56, PATIENCE));
        }
        if round == 0 {
            for at in [1, 0] {
                let name = format!("gateway{at}");
                gateways[at].end(Signal::KILL);
                gateways[at] = Node::start(&site, &cells.gateways[at], &name);
            }
        }
    }
}
