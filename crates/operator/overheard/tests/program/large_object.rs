//! One large content for many simultaneous clients over three routers: fetched once, without delay, in little
//! memory.
//!
//! The default is 256 MiB; `OVERHEARD_LARGE_MIB=4096` gives the full measurement.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::support::chain::Chain;
use crate::support::origin::{FAR_PIECE_BYTES, far_piece};
use std::fs;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: usize = 5;
/// Memory for content at each router.
const MEMORY_MIB: u64 = 16;

/// Requests a path. Returns the time of the content's first byte, and the number of correct bytes.
fn fetch(chain: &Chain, path: &str, length: u64) -> (Duration, u64) {
    let host = chain.host();
    let client = || {
        let began = Instant::now();
        let mut stream = TcpStream::connect((host.as_str(), 80)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        assert!(
            head.starts_with("http/1.1 200") && head.contains(&format!("content-length: {length}")),
            "{head}"
        );
        let (mut first, mut right, mut got) = (None, 0, vec![0; FAR_PIECE_BYTES]);
        for number in 0.. {
            let piece = far_piece(number);
            let wanted = usize::try_from(length - right).unwrap().min(piece.len());
            if wanted == 0 {
                break;
            }
            let at_once = stream.read(&mut got[..wanted]).unwrap();
            first.get_or_insert_with(|| began.elapsed());
            stream.read_exact(&mut got[at_once..wanted]).unwrap();
            assert!(got[..wanted] == piece[..wanted], "wrong bytes in piece {number}");
            right += wanted as u64;
        }
        (first.unwrap(), right)
    };
    chain.places[0].enter(client).unwrap()
}

/// The status file of a router's cache, which is the process in its folder.
fn status_file(chain: &Chain, router: usize) -> PathBuf {
    let folder = chain.folder(router).canonicalize().unwrap();
    let mut processes = fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let is_cache = |process: &PathBuf| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder);
    processes.find(is_cache).expect("the cache runs").join("status")
}

/// Memory that a process has allocated and uses. Pages of its program file are the machine's: it keeps as
/// many of them as it likes.
fn allocated_kib(status: &Path) -> u64 {
    let status = fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The most allocated memory of each router's cache in MiB, until `over`.
fn most_allocated_mib(files: &[PathBuf], over: &AtomicBool) -> Vec<u64> {
    let mut most = vec![0; files.len()];
    while !over.load(Ordering::Relaxed) {
        most.iter_mut().zip(files).for_each(|(most, file)| *most = allocated_kib(file).max(*most));
        std::thread::sleep(Duration::from_millis(5));
    }
    most.into_iter().map(|kib| kib >> 10).collect()
}

#[test]
fn five_clients_at_once_get_one_large_content_over_three_routers() {
    let Some(mut chain) = Chain::of(3) else { return };
    let mib: u64 = std::env::var("OVERHEARD_LARGE_MIB").map_or(256, |mib| mib.parse().unwrap());
    let length = (mib << 20) + 12_345;
    // Without caches the routers route.
    let direct = (0..3).map(|run| fetch(&chain, &format!("/far/1000/{run}"), 1000).0).min().unwrap();
    chain.start_all(&format!(
        "[transparent]\n[store]\ndirectory = \"kept\"\nmemory_mib = {MEMORY_MIB}\ndisk_mib = {}\n",
        mib + 64
    ));
    let path = format!("/far/{length}");
    let before = chain.origin.seen.lock().unwrap().bytes;
    let began = Instant::now();
    let (files, over) = ([1, 2, 3].map(|router| status_file(&chain, router)), AtomicBool::new(false));
    let (firsts, memory): (Vec<Duration>, Vec<u64>) = std::thread::scope(|scope| {
        let memory = scope.spawn(|| most_allocated_mib(&files, &over));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (chain, path) = (&chain, &path);
                scope.spawn(move || {
                    let (first, right) = fetch(chain, path, length);
                    assert_eq!(right, length);
                    first
                })
            })
            .collect();
        let firsts = clients.into_iter().map(|client| client.join()).collect::<Vec<_>>();
        over.store(true, Ordering::Relaxed);
        let firsts = firsts.into_iter().map(Result::unwrap).collect();
        (firsts, memory.join().unwrap())
    });
    let took = began.elapsed();
    println!(
        "{mib} MiB to {CLIENTS} clients in {took:?}; first bytes after {firsts:?}, directly after {direct:?}; most allocated MiB {memory:?}"
    );
    assert_eq!(chain.origin.requests(&path), 1);
    assert_eq!(chain.origin.seen.lock().unwrap().bytes - before, length, "once from the origin");
    for first in firsts {
        assert!(first < direct.mul_f64(1.2), "{first:?} instead of {direct:?}");
    }
    for allocated in memory {
        assert!(allocated <= MEMORY_MIB + 50, "{allocated} MiB\n{}", chain.status(1));
    }
    // The content is complete at the first router, which needs no other node.
    chain.stop(2);
    chain.places[1].ip("link set right down\n").unwrap();
    assert_eq!(fetch(&chain, &path, length).1, length);
}
