//! A node that is killed amid a download.

use super::{PATIENCE, Pair, SERVER_IPV4, at_once};
use crate::support::namespaces::{Node, possible};
use rustix::process::Signal;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Bytes that a download has when the node is killed.
const BEFORE: usize = 1_000_000;

/// Sends a few bytes, and reads until the end or an error. Only one of both calls hears of a reset.
fn ask(mut stream: &TcpStream, question: &[u8]) -> Option<ErrorKind> {
    let mut piece = vec![0; 1 << 16];
    if let Err(error) = stream.write_all(question) {
        return Some(error.kind());
    }
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(error.kind()),
        }
    }
}

fn a_killed_node_ends_no_download(kills_gateway: bool) {
    let mut pair = Pair::new("streams = true", None);
    let (mut near, mut far) = pair.connected(SERVER_IPV4);
    let (mut idle, far_idle) = pair.connected(SERVER_IPV4);
    idle.write_all(b"a question").unwrap();
    (&far_idle).read_exact(&mut [0; 10]).unwrap();
    // It sends until the connection breaks.
    far.set_write_timeout(Some(PATIENCE * 2)).unwrap();
    let sending = std::thread::spawn(move || {
        let piece = vec![7; 1 << 16];
        loop {
            if let Err(error) = far.write_all(&piece) {
                return error.kind();
            }
        }
    });
    near.read_exact(&mut vec![0; BEFORE]).unwrap();
    let (node, machine, name) = match kills_gateway {
        true => (&mut pair.gateway, &pair.behind.cabled.gateway, "gateway"),
        false => (&mut pair.station, &pair.behind.cabled.station, "station"),
    };
    node.end(Signal::KILL);
    near.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    assert_eq!(ask(&near, b""), Some(ErrorKind::WouldBlock), "without a node nothing comes, and no end");
    *node = Node::start(&pair.site, machine, name);
    pair.wait();
    near.set_read_timeout(Some(PATIENCE * 2)).unwrap();
    // A new node knows an old connection only by what the hosts send.
    let reset = Some(ErrorKind::ConnectionReset);
    at_once(&[
        ("download", &|| assert_eq!(ask(&near, b"are you there?"), reset)),
        ("idle", &|| assert_eq!(ask(&idle, b"are you there?"), reset)),
        ("idle, at the server", &|| assert_eq!(ask(&far_idle, b"and you?"), reset)),
    ]);
    let broken = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];
    assert!(broken.contains(&sending.join().unwrap()));
}

#[test]
fn a_killed_gateway_ends_no_download_as_if_it_were_whole() {
    if possible() {
        a_killed_node_ends_no_download(true);
    }
}

#[test]
fn a_killed_station_ends_no_download_as_if_it_were_whole() {
    if possible() {
        a_killed_node_ends_no_download(false);
    }
}
