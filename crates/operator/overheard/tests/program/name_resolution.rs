//! Resolution of origins' names by the cache, and the cost of names without an answer.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::support::chain::Chain;
use crate::support::names;
use crate::support::origin::content;
use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const PROXY: [&str; 4] = ["--noproxy", "", "--proxy", "http://10.77.0.2:3128"];
const FORWARD: &str = "[forward]\nlisten = \"10.77.0.2:3128\"\n";

fn chain_with_names(resolv_conf: &str) -> Option<Chain> {
    let chain = Chain::of(1)?;
    std::fs::write(chain.folder(1).join("resolv.conf"), resolv_conf).unwrap();
    std::fs::write(chain.folder(1).join("hosts"), "127.0.0.1 localhost\n10.77.1.2 written.test\n").unwrap();
    let address = chain.host().parse().unwrap();
    chain.places[2].enter(|| names::serve("quick.test", address)).unwrap();
    Some(chain)
}

fn fetched(chain: &Chain, args: &[&str]) -> (Vec<u8>, i32, Duration) {
    let began = Instant::now();
    let (body, code) = chain.curl(&[&PROXY, args].concat());
    (body, code, began.elapsed())
}

#[test]
fn names_that_nobody_answers_for_hold_up_neither_other_clients_nor_the_disk() {
    // A resolver with threads would wait this long for each name.
    let Some(mut chain) = chain_with_names("nameserver 10.77.1.2\noptions timeout:15 attempts:1\n") else {
        return;
    };
    chain.places[0].ip("addr add 10.77.0.9/24 dev right\n").unwrap();
    chain.start_all(&format!("{FORWARD}[store]\ndirectory = \"kept\"\nmemory_mib = 1\n"));
    let (kept, length) = ("/fixed/6000000", 6_000_000);
    let kept_url = chain.url(kept);
    let (body, code, _) = fetched(&chain, &[&kept_url]);
    assert_eq!((body.len(), code), (length, 0));
    let held: Vec<TcpStream> = chain.places[0]
        .enter(|| {
            let connections = (0..250).map(|connection| {
                let mut stream = TcpStream::connect("10.77.0.2:3128").unwrap();
                for round in 0..8 {
                    let host = format!("c{connection}-r{round}.dead.test");
                    write!(stream, "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
                }
                stream
            });
            connections.collect()
        })
        .unwrap();
    for second in 0..12 {
        std::thread::sleep(Duration::from_secs(1));
        let other = ["--interface", "10.77.0.9", "--fail", "--max-time", "5"];
        // A new name, because answers are cached for a while.
        let name = format!("http://QUICK.test/fixed/1000/{second}");
        let (body, code, took) = fetched(&chain, &[&other[..], &[&name]].concat());
        let whole = body == content(&format!("/fixed/1000/{second}"), 1000);
        assert!(whole && code == 0 && took < Duration::from_secs(1), "{second}: {code} {took:?}");
        let (body, code, took) = fetched(&chain, &[&other[..], &[&kept_url]].concat());
        let whole = body == content(kept, length);
        assert!(whole && code == 0 && took < Duration::from_secs(1), "{second}: {code} {took:?}");
    }
    assert_eq!(chain.origin.requests(kept), 1, "it came from the disk");
    drop(held);
}

#[test]
fn names_are_looked_up_as_the_system_is_told_also_when_that_changes() {
    let Some(mut chain) = chain_with_names("nameserver 10.77.1.2\nsearch test\n") else { return };
    chain.start_all(FORWARD);
    for (number, host) in ["quick.test", "quick", "written.test", "quick.test."].iter().enumerate() {
        let path = format!("/fixed/1000/{number}");
        let (body, code, _) = fetched(&chain, &["--fail", &format!("http://{host}{path}")]);
        assert_eq!((body == content(&path, 1000), code), (true, 0), "{host}\n{}", chain.log(1));
    }
    let status = |chain: &Chain, url: &str| {
        let (said, ..) = fetched(chain, &["--write-out", "%{http_code}", "--output", "/dev/null", url]);
        String::from_utf8(said).unwrap()
    };
    assert_eq!(status(&chain, "http://localhost:8080/"), "403");
    assert_eq!(status(&chain, "http://later.test/fixed/10"), "502", "nobody knows it yet");
    let hosts = chain.folder(1).join("hosts");
    std::fs::write(hosts, "10.77.1.2 afterwards.test\n").unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(status(&chain, "http://afterwards.test/fixed/10"), "200");
}
