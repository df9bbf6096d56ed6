//! Invalid traffic: the cache refuses it or forwards it without storing, counts it, and continues.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::support::chain::Chain;
use crate::support::origin::content;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const TRANSPARENT: &str = "[transparent]\n";

fn goes_on(chain: &Chain) {
    let (body, code) = chain.curl(&[&chain.url("/fixed/100")]);
    assert_eq!((body.len(), code), (100, 0), "it goes on\n{}", chain.log(1));
}

fn status_of(chain: &Chain, args: &[&str]) -> String {
    let mut all = vec!["--write-out", "%{http_code}", "--output", "/dev/null"];
    all.extend_from_slice(args);
    String::from_utf8(chain.curl(&all).0).unwrap()
}

#[test]
fn a_request_that_names_another_host_than_its_connection_is_answered_and_not_kept() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let host = chain.host();
    // The URI's own authority counts, not Host (RFC 9112 section 3.2.2).
    let absolute =
        format!("GET http://192.0.2.7/fixed/81 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    assert!(chain.say(absolute.as_bytes()).starts_with("HTTP/1.1 200"));
    assert_eq!(chain.status(1)["counters"]["refused"]["host-mismatch"], 1);
    assert_eq!(chain.status(1)["store"]["objects"], 0);
    // An unsafe method does not remove content stored under that name either.
    goes_on(&chain);
    let forged = format!(
        "POST http://192.0.2.7/fixed/100 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    chain.say(forged.as_bytes());
    assert_eq!(chain.status(1)["store"]["objects"], 1);
    let sent = chain.origin.seen.lock().unwrap().heads.join("\n");
    assert!(!sent.contains(&format!("/fixed/81 HTTP/1.1\r\nhost: {host}")), "{sent}");
}

#[test]
fn fields_that_a_client_makes_up_reach_nobody_as_fields() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let host = chain.host();
    let injected = format!(
        "GET /fixed/10/%0d%0aX-Injected:%20yes HTTP/1.1\r\nHost: {host}\r\nConnection: close, X-Named\r\nX-Named: 1\r\nTE: trailers\r\n\r\n"
    );
    assert!(chain.say(injected.as_bytes()).starts_with("HTTP/1.1 200"));
    for raw in [
        "GET /a\rX-Injected: 1 HTTP/1.1",
        "GET /a HTTP/1.1\r\nX: a\0b",
        "GET /a HTTP/1.1\r\nX: a\rX-Injected: 1",
    ] {
        let answer = chain.say(format!("{raw}\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes());
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{raw:?}: {answer}");
    }
    let sent = chain.origin.seen.lock().unwrap().heads.join("\n").to_lowercase();
    assert!(!sent.contains("\nx-injected") && !sent.contains("x-named") && !sent.contains("\nte:"), "{sent}");
    goes_on(&chain);
}

#[test]
fn lengths_that_contradict_each_other_never_reach_the_origin_as_they_are() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let host = chain.host();
    for (framing, body) in [
        ("Transfer-Encoding: chunked\r\nContent-Length: 60", "0\r\n\r\n"),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
        ("Transfer-Encoding: chunked, identity", "0\r\n\r\n"),
        ("Transfer-Encoding: xchunked", "0\r\n\r\n"),
        ("Content-Length: +5", "abcde"),
        ("Content-Length: 5, 6", "abcdef"),
        ("Content-Length: 5\r\nContent-Length: 7", "abcdefg"),
    ] {
        let smuggled = format!(
            "POST /fixed/1 HTTP/1.1\r\nHost: {host}\r\n{framing}\r\n\r\n{body}GET /fixed/666 HTTP/1.1\r\nHost: {host}\r\n\r\n"
        );
        chain.say(smuggled.as_bytes());
        let seen = chain.origin.seen.lock().unwrap();
        let both = seen
            .heads
            .iter()
            .map(|head| head.to_lowercase())
            .any(|head| head.contains("content-length") && head.contains("transfer-encoding"));
        assert!(!both, "{framing}: {:?}", seen.heads);
        drop(seen);
        assert_eq!(chain.origin.requests("/fixed/666"), 0, "{framing}");
    }
    goes_on(&chain);
}

#[test]
fn an_origin_whose_answer_is_none_is_not_passed_on_nor_kept() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    for kind in ["coded", "split"] {
        let url = chain.url(&format!("/{kind}/1000"));
        assert_eq!(status_of(&chain, &[&url]), "502", "{kind}");
    }
    // Folding is joined or refused, never forwarded.
    let (head, _) = chain.curl(&["--include", &chain.url("/folded/10")]);
    assert!(!String::from_utf8_lossy(&head).contains("\r\n b"));
    goes_on(&chain);
}

#[test]
fn many_or_overlapping_ranges_cost_no_more_than_the_whole() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let (path, length) = ("/fixed/300000", 300_000);
    let url = chain.url(path);
    let many: Vec<String> = (0..1000).map(|at| format!("{at}-")).collect();
    for abuse in [many.join(","), "0-,0-".to_owned(), "0-299999,100-200".to_owned()] {
        let (body, code) = chain.curl(&["-H", &format!("Range: bytes={abuse}"), &url]);
        assert_eq!((body == content(path, length), code), (true, 0), "the whole, once");
    }
    assert_eq!(chain.origin.requests(path), 1);
    assert!(chain.origin.seen.lock().unwrap().bytes <= 300_000);
}

#[test]
fn a_client_that_dawdles_over_its_request_is_let_go_and_costs_others_nothing() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let address = format!("{}:80", chain.host());
    let began = Instant::now();
    let took = chain.places[0].enter(|| {
        let dawdlers: Vec<TcpStream> = (0..50)
            .map(|_| {
                let mut stream = TcpStream::connect(&address).unwrap();
                stream.write_all(b"GET /fixed/1 HTTP/1.1\r\nHost: a\r\nX").unwrap();
                stream
            })
            .collect();
        goes_on(&chain);
        assert!(began.elapsed() < Duration::from_secs(10));
        for mut dawdler in dawdlers {
            dawdler.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
            let mut answer = Vec::new();
            // A byte now and then does not extend the timeout.
            let _ = dawdler.write_all(b"x");
            let _ = dawdler.read_to_end(&mut answer);
        }
        began.elapsed()
    });
    assert!(took.unwrap() < Duration::from_secs(30), "they were let go");
}

#[test]
fn a_content_that_does_not_end_fills_nothing_and_ends_with_its_last_reader() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all("[transparent]\n[store]\nmemory_mib = 8\nobject_mib = 4\n");
    let (_, code) = chain.curl(&[
        "--max-time",
        "3",
        "--limit-rate",
        "20M",
        "--output",
        "/dev/null",
        &chain.url("/endless/1"),
    ]);
    assert_eq!(code, 28, "curl ran out of time");
    let status = chain.status(1);
    assert!(status["store"]["memory_bytes"].as_u64().unwrap() <= 8 << 20, "{status}");
    std::thread::sleep(Duration::from_millis(500));
    let bytes = || chain.origin.seen.lock().unwrap().bytes;
    let before = bytes();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(bytes(), before, "nobody reads it any more");
    goes_on(&chain);
}

#[test]
fn a_forward_proxy_leads_to_origins_and_not_into_this_machine() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all("[forward]\nlisten = \"10.77.0.2:3128\"\nconnect_ports = [80, 4784]\n[management]\n");
    let proxy = ["--noproxy", "", "--proxy", "http://10.77.0.2:3128"];
    let through = |more: &[&str]| status_of(&chain, &[&proxy, more].concat());
    let connect_code = |to: &str| {
        let said = ["--proxytunnel", "--write-out", "%{http_connect}", "--output", "/dev/null", to];
        String::from_utf8(chain.curl(&[&proxy[..], &said].concat()).0).unwrap()
    };
    for inward in [
        "127.0.0.1",
        "127.1.2.3",
        "[::1]",
        "0.0.0.0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[2002:7f00:1::]",
        "localhost",
        "169.254.169.254",
        "[fe80::1]",
        "224.0.0.1",
        "255.255.255.255",
        // Its own addresses, on the clients' interface and on the other one.
        "10.77.0.2",
        "10.77.1.1",
        "[fd77::2]",
        "[fd77:1::1]",
        "10.77.1.255",
    ] {
        assert_eq!(through(&[&format!("http://{inward}:4784/status.json")]), "403", "{inward}");
        assert_eq!(connect_code(&format!("http://{inward}:4784/")), "403", "{inward}");
    }
    let refused = chain.status(1)["counters"]["refused"].clone();
    assert_eq!(refused["destination"], 38, "{refused}");
    let (said, _) = chain.curl(&[&proxy[..], &["http://169.254.169.254/latest/meta-data/"]].concat());
    assert_eq!(String::from_utf8_lossy(&said), "this cache leads no client to link-local addresses\n");
    for port in [22, 25, 443, 1023] {
        assert_eq!(through(&[&format!("http://{}:{port}/", chain.host())]), "403", "{port}");
    }
    assert_eq!(chain.status(1)["counters"]["refused"]["port"], 4);
    assert_eq!(through(&[&chain.url("/fixed/100")]), "200");
}

#[test]
fn destinations_that_the_operator_allows_are_led_to() {
    let Some(mut chain) = Chain::of(1) else { return };
    std::fs::write(chain.folder(1).join("token"), "0123456789abcdefgh").unwrap();
    chain.start_all(
        "destination_ports = [81]\nallow_destinations = [\"10.77.1.2:80\", \"10.77.1.1:4784\"]\n\
         [forward]\nlisten = \"10.77.0.2:3128\"\n[management]\nlisten = \"10.77.1.1:4784\"\ntoken_file = \"token\"\n",
    );
    let through = |url: &str| status_of(&chain, &["--noproxy", "", "--proxy", "http://10.77.0.2:3128", url]);
    assert_eq!(through(&chain.url("/fixed/100")), "200");
    assert_eq!(through("http://10.77.1.1:4784/"), "401", "this machine's own, by name");
    assert_eq!(through("http://10.77.1.1:80/"), "403");
    assert_eq!(through(&format!("http://{}:8080/", chain.host())), "403", "the port is not among them");
    assert_eq!(through(&format!("http://{}:81/", chain.host())), "502", "nobody listens there");
}

#[test]
fn whoever_comes_to_the_door_of_taken_connections_by_itself_is_led_nowhere() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    assert_eq!(status_of(&chain, &["http://10.77.0.2:4782/"]), "403");
    assert_eq!(
        status_of(&chain, &["-H", &format!("Host: {}", chain.host()), "http://10.77.0.2:4782/"]),
        "403"
    );
    assert!(chain.status(1)["counters"]["refused"]["destination"].as_u64() >= Some(2), "{}", chain.status(1));
    goes_on(&chain);
}

#[test]
fn a_request_whose_framing_is_in_doubt_is_refused_and_its_connection_ends() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let host = chain.host();
    for (framing, status) in [
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", 400),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", 400),
        ("Content-Length: 5\r\nContent-Length: 5", 400),
        ("Content-Length: 5, 5", 400),
        ("Content-Length: +5", 400),
        ("Content-Length: 5 5", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400),
        ("Transfer-Encoding: gzip, chunked", 501),
        ("Transfer-Encoding: chunked\nX: y", 400),
        ("X: y\nContent-Length: 5", 400),
    ] {
        let request = format!("POST /fixed/1 HTTP/1.1\r\nHost: {host}\r\n{framing}\r\n\r\n0\r\n\r\n");
        let answer =
            chain.say(format!("{request}GET /fixed/666 HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{framing:?}: {answer}");
        assert!(answer.contains("connection: close"), "{framing:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{framing:?}: {answer}");
    }
    assert!(chain.origin.seen.lock().unwrap().heads.is_empty());
    // An earlier request on the same connection is answered.
    let pair = format!(
        "GET /fixed/2 HTTP/1.1\r\nHost: {host}\r\n\r\nPOST /fixed/3 HTTP/1.1\r\nHost: {host}\r\n\
         Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
    );
    let answer = chain.say(pair.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("HTTP/1.1 400 "), "{answer}");
    // With chunks the connection ends: heads behind them are not checked.
    let chunked = format!(
        "POST /fixed/4 HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\
         GET /fixed/666 HTTP/1.1\r\nHost: {host}\r\n\r\n"
    );
    let answer = chain.say(chunked.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("connection: close"), "{answer}");
    assert_eq!((answer.matches("HTTP/1.1 ").count(), chain.origin.requests("/fixed/666")), (1, 0));
}

#[test]
fn connect_reaches_the_ports_that_are_named_and_no_others() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all("[transparent]\n[forward]\nlisten = \"10.77.0.2:3128\"\nconnect_ports = [80]\n");
    let proxy = ["--noproxy", "", "--proxytunnel", "--proxy", "http://10.77.0.2:3128"];
    let url = chain.url("/fixed/70000");
    for _ in 0..2 {
        let (body, code) = chain.curl(&[&proxy[..], &[&url]].concat());
        assert_eq!((body == content("/fixed/70000", 70_000), code), (true, 0), "{}", chain.log(1));
    }
    assert_eq!(chain.origin.requests("/fixed/70000"), 2, "what is in a tunnel is not looked at");
    let to_ssh = format!("http://{}:22/", chain.host());
    let said = chain
        .curl(&[&proxy[..], &["--write-out", "%{http_connect}", "--output", "/dev/null", &to_ssh]].concat());
    assert_eq!(said.0, b"403");
    // Other doors have no CONNECT.
    let taken = chain.say(b"CONNECT 192.0.2.7:80 HTTP/1.1\r\nHost: 192.0.2.7:80\r\n\r\n");
    assert!(taken.starts_with("HTTP/1.1 405"), "{taken}");
}

#[test]
fn a_disk_that_is_full_or_may_not_be_written_keeps_nobody_from_his_content() {
    let Some(mut chain) = Chain::of(1) else { return };
    let kept = chain.folder(1).join("kept");
    std::fs::create_dir_all(&kept).unwrap();
    let at = kept.to_str().unwrap().to_owned();
    let mount = |options: &str| {
        let done = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "overheard", &at])
            .status();
        done.unwrap().success()
    };
    if !mount("size=1m") {
        eprintln!("left out: nothing may be mounted here");
        return;
    }
    let unmount = || assert!(std::process::Command::new("umount").arg(&at).status().unwrap().success());
    chain.start_all("[transparent]\n[store]\ndirectory = \"kept\"\ndisk_mib = 1000\n");
    for path in ["/fixed/3000000", "/chunked/3000000", "/fixed/2000000"] {
        let length = path.rsplit('/').next().unwrap().parse().unwrap();
        let (body, code) = chain.curl(&[&chain.url(path)]);
        assert_eq!((body == content(path, length), code), (true, 0), "{path}\n{}", chain.log(1));
    }
    assert!(chain.status(1)["store"]["disk_refused"].as_u64().unwrap() > 0, "{}", chain.status(1));
    goes_on(&chain);
    chain.stop(1);
    assert!(std::process::Command::new("mount").args(["-o", "remount,ro", &at]).status().unwrap().success());
    let output = chain.places[1]
        .enter(|| {
            let mut command = std::process::Command::new(crate::support::PROGRAM);
            command
                .args(["cache", "cache.toml", "--socket", "status"])
                .current_dir(chain.folder(1))
                .output()
                .unwrap()
        })
        .unwrap();
    unmount();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && said.contains("choose a directory that may be written"),
        "{said}"
    );
}
