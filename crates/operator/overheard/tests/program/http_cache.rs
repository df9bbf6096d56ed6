//! HTTP's rules with real origins: partial content, changing content, and HEAD.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::support::chain::Chain;
use crate::support::origin::content;
use std::time::Duration;

const TRANSPARENT: &str = "[transparent]\n";

#[test]
fn several_ranges_come_as_parts_of_one_answer() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let path = "/fixed/4000000";
    let whole = content(path, 4_000_000);
    for _ in 0..2 {
        let (answer, code) =
            chain.curl(&["--include", "-H", "Range: bytes=3000000-3000099, 0-9, -5", &chain.url(path)]);
        assert_eq!(code, 0, "{}", chain.log(1));
        let at = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8_lossy(&answer[..at]).to_lowercase();
        assert!(head.starts_with("http/1.1 206"), "{head}");
        let boundary = head.split("boundary=").nth(1).unwrap().lines().next().unwrap().to_owned();
        let mut expected = Vec::new();
        for part in [3_000_000..3_000_100, 0..10, 3_999_995..4_000_000] {
            let lines = format!(
                "\r\n--{boundary}\r\nContent-Range: bytes {}-{}/4000000\r\n\r\n",
                part.start,
                part.end - 1
            );
            expected.extend_from_slice(lines.as_bytes());
            expected.extend_from_slice(&whole[part]);
        }
        expected.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        assert!(answer[at..] == expected, "{}", String::from_utf8_lossy(&answer[at..]));
    }
}

#[test]
fn a_range_of_what_cannot_be_kept_in_parts_is_the_range_that_was_asked_for() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let path = "/weak/900000";
    for range in ["300000-300099", "10-19"] {
        let (first, last) = range.split_once('-').unwrap();
        let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
        let (body, code) = chain.curl(&["--range", range, &chain.url(path)]);
        assert_eq!((body == content(path, 900_000)[first..=last], code), (true, 0), "{range}");
    }
}

#[test]
fn a_content_that_changes_in_the_middle_is_broken_off_once_and_then_served_anew() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let path = "/changed/900000";
    let before = content(path, 900_000);
    let (body, code) = chain.curl(&[&chain.url(path)]);
    assert!(code != 0 && before.starts_with(&body), "two versions were joined");
    let (mut body, code) = chain.curl(&[&chain.url(path)]);
    body.reverse();
    assert_eq!((body == before, code), (true, 0), "what cannot be completed is forgotten\n{}", chain.log(1));
}

#[test]
fn an_origin_that_serves_no_ranges_and_breaks_off_is_asked_for_all_of_it_again() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let (path, length) = ("/whole/12000000", 12_000_000);
    let (body, code) = chain.curl(&[&chain.url(path)]);
    assert_eq!((body == content(path, length), code), (true, 0), "{}", chain.log(1));
    assert_eq!(chain.origin.requests(path), 2);
    // A range at its far end waits for the content before it.
    let path = "/whole/11000000";
    chain.curl(&["--output", "/dev/null", "--max-time", "5", &chain.url(path)]);
    chain.stop(1);
    chain.start(1);
    let (body, code) = chain.curl(&["--range", "10999990-", &chain.url(path)]);
    let whole = content(path, 11_000_000);
    assert!(code == 0 && (body == whole || body == whole[10_999_990..]), "{code} {}", body.len());
}

#[test]
fn a_head_renews_what_is_stored_or_throws_it_away() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let renewed = chain.url("/renewed/1000");
    chain.curl(&[&renewed]);
    std::thread::sleep(Duration::from_millis(2100));
    let (head, code) = chain.curl(&["--head", &renewed]);
    let head = String::from_utf8_lossy(&head).to_lowercase();
    assert!(
        code == 0 && head.contains("detail=validated") && head.contains("content-length: 1000"),
        "{head}"
    );
    let requests = chain.origin.requests("/renewed/1000");
    let (body, _) = chain.curl(&[&renewed]);
    assert!(body == content("/renewed/1000", 1000));
    assert_eq!(chain.origin.requests("/renewed/1000"), requests, "the HEAD made it fresh");
    // After a change, the stored version is not served again.
    let changed = chain.url("/changed/5000");
    let (_, code) = chain.curl(&[&changed]);
    assert_ne!(code, 0);
    let (body, _) = chain.curl(&[&changed]);
    assert_eq!(body.len(), 5000);
    let objects = chain.status(1)["store"]["objects"].as_u64().unwrap();
    chain.curl(&["--head", "-H", "Cache-Control: no-cache", &changed]);
    assert_eq!(chain.status(1)["store"]["objects"].as_u64().unwrap(), objects, "the same one stays");
}

#[test]
fn a_reload_reaches_the_origin_and_a_question_about_the_way_ends_where_it_is_to() {
    let Some(mut chain) = Chain::of(2) else { return };
    chain.start_all(TRANSPARENT);
    let url = chain.url("/fixed/1000");
    chain.curl(&[&url]);
    chain.curl(&["-H", "Cache-Control: no-cache", &url]);
    assert_eq!((chain.origin.requests("/fixed/1000"), chain.origin.seen.lock().unwrap().conditional), (2, 1));
    let (_, _) = chain.curl(&["-X", "OPTIONS", "-H", "Max-Forwards: 0", &chain.url("/fixed/1")]);
    assert_eq!(chain.origin.requests("/fixed/1"), 0);
    chain.curl(&["-X", "OPTIONS", "-H", "Max-Forwards: 5", &chain.url("/fixed/1")]);
    let seen = chain.origin.seen.lock().unwrap();
    assert!(seen.heads.last().unwrap().to_lowercase().contains("max-forwards: 3"), "{:?}", seen.heads.last());
}

#[test]
fn another_protocol_that_origin_and_client_agree_upon_passes_through() {
    use std::io::{Read as _, Write as _};
    let Some(mut chain) = Chain::of(2) else { return };
    chain.start_all(TRANSPARENT);
    let host = chain.host();
    let ask = |protocol: &str, path: &str| {
        let mut stream = std::net::TcpStream::connect((host.as_str(), 80)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\nSec-WebSocket-Key: x\r\n\r\n"
        )
        .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        (stream, String::from_utf8(head).unwrap().to_lowercase())
    };
    let spoken = chain.places[0].enter(|| {
        let (mut stream, head) = ask("websocket", "/socket/1");
        assert!(head.starts_with("http/1.1 101") && head.contains("sec-websocket-accept: x"), "{head}");
        for word in [b"over", b"both"] {
            stream.write_all(word).unwrap();
            let mut echo = [0; 4];
            stream.read_exact(&mut echo).unwrap();
            assert_eq!(&echo, word);
        }
        ask("h2c", "/fixed/7").1
    });
    assert!(spoken.unwrap().starts_with("http/1.1 200"), "HTTP/2 would speak past the cache");
}
