//! `overheard cache` on real routers: namespaces in a row, connections intercepted by TPROXY, curl as the
//! client, and an origin that can misbehave.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::support::browser::browsed;
use crate::support::chain::Chain;
use crate::support::origin::content;
use std::time::{Duration, Instant};

const TRANSPARENT: &str = "[transparent]\n";

#[test]
fn a_client_that_knows_of_no_cache_is_served_from_it_the_second_time() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    for (path, length) in
        [("/fixed/10000", 10_000), ("/fixed/3000000", 3_000_000), ("/chunked/700000", 700_000)]
    {
        for _ in 0..3 {
            let (body, code) = chain.curl(&[&chain.url(path)]);
            assert_eq!((body == content(path, length), code), (true, 0), "{path}\n{}", chain.log(1));
        }
        assert_eq!(chain.origin.requests(path), 1, "{path}");
    }
    let status = chain.status(1);
    assert_eq!(status["counters"]["requests"]["local"], 6, "{status}");
    assert_eq!(status["counters"]["requests"]["miss"], 3);
    let (body, _) = chain.curl(&["-6", "http://[fd77:1::2]/fixed/5000"]);
    let (again, _) = chain.curl(&["-6", "http://[fd77:1::2]/fixed/5000"]);
    assert!(body == content("/fixed/5000", 5000) && again == body);
    assert_eq!(chain.origin.requests("/fixed/5000"), 1, "IPv6 is taken as IPv4 is");
    chain.stop(1);
    let rules = chain.at(1, "nft", &["list", "ruleset"]);
    assert!(rules.stdout.is_empty(), "{}", String::from_utf8_lossy(&rules.stdout));
    let rules = chain.at(1, "ip", &["rule"]);
    assert!(!String::from_utf8_lossy(&rules.stdout).contains("fwmark"));
    let (body, code) = chain.curl(&[&chain.url("/fixed/10000")]);
    assert_eq!((body.len(), code), (10_000, 0), "without the cache the router routes");
}

#[test]
fn content_is_kept_at_every_router_on_its_way() {
    let Some(mut chain) = Chain::of(3) else { return };
    chain.start_all(TRANSPARENT);
    let (path, length) = ("/fixed/600000", 600_000);
    let (body, code) = chain.curl(&[&chain.url(path)]);
    assert_eq!((body == content(path, length), code), (true, 0));
    for router in 1..=3 {
        assert_eq!(chain.status(router)["store"]["objects"], 1, "router {router}");
    }
    // The first router loses its memory; the second one has the content.
    chain.stop(1);
    chain.start(1);
    let (body, _) = chain.curl(&[&chain.url(path)]);
    assert!(body == content(path, length));
    assert_eq!(chain.origin.requests(path), 1);
    assert_eq!(chain.status(1)["counters"]["requests"]["remote"], 1, "{}", chain.status(1));
    assert_eq!(chain.status(2)["counters"]["neighbours"]["10.77.1.1"]["asked_us"], 2);
}

#[test]
fn ten_clients_at_once_cost_the_origin_one_request_and_stream_while_it_comes() {
    let Some(mut chain) = Chain::of(2) else { return };
    chain.start_all(TRANSPARENT);
    let path = "/slow/2000000";
    let url = chain.url(path);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                let (said, code) = chain.curl(&[
                    "--output",
                    "/dev/null",
                    "--write-out",
                    "%{time_starttransfer} %{size_download}",
                    &url,
                ]);
                let said = String::from_utf8(said).unwrap();
                let (first, size) = said.split_once(' ').unwrap();
                assert_eq!((size, code), ("2000000", 0));
                assert!(first.parse::<f64>().unwrap() < 1.0, "the first byte waited for the last: {first}");
            });
        }
    });
    assert!(began.elapsed() < Duration::from_secs(6));
    assert_eq!(chain.origin.requests(path), 1);
}

#[test]
fn stale_content_is_validated_and_stands_in_for_an_origin_that_fails() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let stale = chain.url("/stale/1000");
    chain.curl(&[&stale]);
    std::thread::sleep(Duration::from_millis(2100));
    let (body, _) = chain.curl(&[&stale]);
    assert_eq!(body, content("/stale/1000", 1000));
    assert_eq!((chain.origin.requests("/stale/1000"), chain.origin.seen.lock().unwrap().conditional), (2, 1));
    assert_eq!(chain.status(1)["counters"]["requests"]["validated"], 1);
    // The uplink goes down.
    chain.places[2].ip("link set left down\n").unwrap();
    std::thread::sleep(Duration::from_millis(2100));
    let (head, code) = chain.curl(&["--include", "--output", "-", &stale]);
    assert_eq!(code, 0);
    let head = String::from_utf8_lossy(&head).into_owned();
    assert!(head.contains("200") && head.contains("detail=stale"), "{head}");
}

#[test]
fn an_origin_that_breaks_off_is_asked_for_the_rest_and_one_that_lies_is_not_believed() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let (body, code) = chain.curl(&[&chain.url("/broken/900000")]);
    assert_eq!((body == content("/broken/900000", 900_000), code), (true, 0), "{}", chain.log(1));
    assert_eq!(chain.status(1)["counters"]["mended"], 1);
    let (_, code) = chain.curl(&["--max-time", "20", &chain.url("/short/5000")]);
    assert_ne!(code, 0, "a content that ended early was presented as whole");
    let (_, code) = chain.curl(&["--http1.0", "--max-time", "20", &chain.url("/short/5000")]);
    assert_ne!(code, 0, "a content that ended early was presented as whole to HTTP/1.0");
}

#[test]
fn ranges_are_served_from_what_is_there_and_fetched_where_it_is_not() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let path = "/fixed/4000000";
    let whole = content(path, 4_000_000);
    for range in ["1000000-1999999", "1200000-1200099", "3999990-", "0-9", "-5"] {
        let (body, code) = chain.curl(&["--range", range, &chain.url(path)]);
        let (first, last) = range.split_once('-').unwrap();
        let wanted = match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) => &whole[first..=last],
            (Ok(first), Err(_)) => &whole[first..],
            (Err(_), last) => &whole[whole.len() - last.unwrap()..],
        };
        assert_eq!((body == wanted, code), (true, 0), "{range}\n{}", chain.log(1));
    }
    assert!(
        chain.origin.seen.lock().unwrap().bytes < 4_000_000,
        "whole chunks around what was asked for, and no more"
    );
    let (body, _) = chain.curl(&[&chain.url(path)]);
    assert!(body == whole);
    let (said, _) = chain.curl(&[
        "--range",
        "4000000-",
        "--write-out",
        "%{http_code}",
        "--output",
        "/dev/null",
        &chain.url(path),
    ]);
    assert_eq!(said, b"416");
}

#[test]
fn what_is_for_one_user_or_one_language_is_not_given_to_another() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    for _ in 0..2 {
        chain.curl(&[&chain.url("/private/100")]);
    }
    assert_eq!(chain.origin.requests("/private/100"), 2);
    for (language, requests) in [("de", 1), ("fr", 2), ("de", 2), ("fr", 2)] {
        let (body, _) = chain.curl(&["-H", &format!("Accept-Language: {language}"), &chain.url("/vary/2")]);
        assert_eq!(
            (String::from_utf8(body).unwrap().as_str(), chain.origin.requests("/vary/2")),
            (language, requests)
        );
    }
}

#[test]
fn requests_that_could_smuggle_or_poison_are_refused_or_change_nothing() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let host = chain.host();
    for malformed in [
        format!("GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef"),
        format!("GET / HTTP/1.1\r\nHost: {host}\r\nHost: other\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {host}\r\nX: a\r\n b\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {host}\r\nX : a\r\n\r\n"),
        "GET / HTTP/1.1\r\n\r\n\0".to_owned(),
        "\u{16}\u{3}\u{1}nonsense\r\n\r\n".to_owned(),
    ] {
        let answer = chain.say(malformed.as_bytes());
        let refused =
            answer.is_empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.0 4");
        // A missing Host defaults to the connection's destination.
        assert!(refused || malformed.starts_with("GET / HTTP/1.1\r\n\r\n"), "{malformed:?}: {answer}");
    }
    // Transfer-Encoding outranks Content-Length, and the rest is no second request for the origin.
    let smuggled = format!(
        "POST /fixed/1 HTTP/1.1\r\nHost: {host}\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /fixed/666 HTTP/1.1\r\nHost: {host}\r\nX: "
    );
    chain.say(smuggled.as_bytes());
    assert_eq!(chain.origin.requests("/fixed/666"), 0);
    // Another host in Host on a connection to our origin: its destination answers, and the answer is not
    // stored under that name.
    let forged = "GET /fixed/77 HTTP/1.1\r\nHost: 192.0.2.7\r\nConnection: close\r\n\r\n".to_owned();
    assert!(chain.say(forged.as_bytes()).starts_with("HTTP/1.1 200"));
    assert_eq!(chain.status(1)["store"]["objects"], 0, "{}", chain.status(1));
    assert_eq!(chain.status(1)["counters"]["refused"]["host-mismatch"], 1);
    // A loop.
    let looped =
        format!("GET /fixed/78 HTTP/1.1\r\nHost: {host}\r\nVia: 1.1 r1\r\nConnection: close\r\n\r\n");
    assert!(chain.say(looped.as_bytes()).starts_with("HTTP/1.1 508"));
    let (body, code) = chain.curl(&[&chain.url("/fixed/100")]);
    assert_eq!((body.len(), code), (100, 0), "it goes on");
}

#[test]
fn a_forward_and_a_reverse_proxy_serve_their_networks_and_nobody_else() {
    let Some(mut chain) = Chain::of(1) else { return };
    let upstream = chain.url("/fixed/");
    chain.start_all(&format!(
        "[forward]\nlisten = \"10.77.0.2:3128\"\n[reverse]\nlisten = \"10.77.0.2:8080\"\n[[reverse.upstream]]\npath = \"/mirror/\"\nurl = \"{upstream}\"\n"
    ));
    for _ in 0..2 {
        let (body, code) =
            chain.curl(&["--noproxy", "", "--proxy", "http://10.77.0.2:3128", &chain.url("/fixed/1234")]);
        assert_eq!((body == content("/fixed/1234", 1234), code), (true, 0), "{}", chain.log(1));
        let (body, code) = chain.curl(&["http://10.77.0.2:8080/mirror/4321"]);
        assert_eq!((body == content("/fixed/4321", 4321), code), (true, 0));
    }
    assert_eq!((chain.origin.requests("/fixed/1234"), chain.origin.requests("/fixed/4321")), (1, 1));
    let (said, _) = chain.curl(&[
        "--write-out",
        "%{http_code}",
        "--output",
        "/dev/null",
        "http://10.77.0.2:8080/elsewhere",
    ]);
    assert_eq!(said, b"404");
    chain.places[0].ip("addr add 10.99.0.1/32 dev lo\n").unwrap();
    chain.places[1].ip("route add 10.99.0.1/32 via 10.77.0.1\n").unwrap();
    let (_, code) = chain.curl(&["--interface", "10.99.0.1", "http://10.77.0.2:8080/mirror/4321"]);
    assert_ne!(code, 0, "a stranger was served");
}

#[test]
fn one_client_does_not_take_all_connections() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all("connections_each = 2\n[transparent]\n");
    let (host, url) = (chain.host(), chain.url("/fixed/1000"));
    let hold = "exec 3<>/dev/tcp/$0/80 4<>/dev/tcp/$0/80; curl -sS -o /dev/null -m 10 $1; echo -n \"$? \"; \
                exec 3>&-; for i in $(seq 100); do curl -s -o /dev/null -m 10 $1 && echo served && break; sleep .1; done";
    let said = chain.at(0, "bash", &["-c", hold, &host, &url]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let (refused, served) = said.split_once(' ').unwrap();
    assert!(refused != "0" && served.trim() == "served", "{said}");
    assert!(chain.status(1)["counters"]["refused"]["connections"].as_u64() >= Some(1), "{}", chain.status(1));
}

#[test]
fn a_connection_that_is_under_way_when_the_cache_starts_goes_on() {
    let Some(mut chain) = Chain::of(1) else { return };
    let url = chain.url("/slow/200000");
    chain.configurations[0] = TRANSPARENT.to_owned();
    let place = chain.places[0].name().to_owned();
    let client = std::thread::spawn(move || {
        let args = ["netns", "exec", &place, "curl", "--silent", "--max-time", "20", &url];
        std::process::Command::new("ip").args(args).output().unwrap()
    });
    std::thread::sleep(Duration::from_millis(500));
    chain.start(1);
    let output = client.join().unwrap();
    assert!(output.status.success() && output.stdout == content("/slow/200000", 200_000));
}

#[test]
fn a_cache_that_is_killed_in_mid_transfer_never_serves_wrong_bytes_and_knows_what_it_had() {
    let Some(mut chain) = Chain::of(3) else { return };
    let lines = format!("{TRANSPARENT}[store]\ndirectory = \"kept\"\n");
    chain.start_all(&lines);
    let kept = "/fixed/1500000";
    chain.curl(&[&chain.url(kept)]);
    let kills = std::env::var("OVERHEARD_KILLS").map_or(6, |kills| kills.parse().unwrap());
    for round in 0..kills {
        let victim = 1 + round % 3;
        let path = format!("/slow/800000/{round}");
        let url = chain.url(&path);
        // For HTTP/1.0, the connection's end could be the content's end.
        let version = if round % 2 == 0 { "--http1.1" } else { "--http1.0" };
        let mut cache = chain.caches[victim - 1].take();
        let (body, code) = std::thread::scope(|scope| {
            // Status 502 is no content: the client waited for a head when its way failed.
            let client = scope.spawn(|| chain.curl(&["--fail", "--max-time", "20", version, &url]));
            std::thread::sleep(Duration::from_millis(200 + 150 * (round as u64 % 7)));
            // Dropping it kills it with SIGKILL.
            drop(cache.take());
            client.join().unwrap()
        });
        let whole = body == content(&path, 800_000);
        assert!(whole || code != 0, "round {round}: a part was presented as whole: {} bytes", body.len());
        assert!(content(&path, 800_000).starts_with(&body), "round {round}: wrong bytes");
        chain.start(victim);
        let (body, code) = chain.curl(&[&chain.url(&path)]);
        assert_eq!(
            (body == content(&path, 800_000), code),
            (true, 0),
            "round {round}\n{}",
            chain.log(victim)
        );
        let (body, _) = chain.curl(&[&chain.url(kept)]);
        assert!(body == content(kept, 1_500_000), "round {round}");
    }
    assert_eq!(chain.origin.requests(kept), 1, "what was kept is known after every kill");
}

#[test]
fn a_client_of_http_1_0_takes_the_end_of_a_killed_cache_for_no_end_of_a_content() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(TRANSPARENT);
    let (body, code) = chain.curl(&["--http1.0", &chain.url("/dripping/50000")]);
    assert_eq!((body == content("/dripping/50000", 50_000), code), (true, 0), "sent whole, it ends as usual");
    let (path, length) = ("/dripping/800000", 800_000);
    let url = chain.url(path);
    let mut cache = chain.caches[0].take();
    let (body, code) = std::thread::scope(|scope| {
        let client = scope.spawn(|| chain.curl(&["--max-time", "20", "--http1.0", &url]));
        asked_for(&chain, path);
        std::thread::sleep(Duration::from_millis(500));
        drop(cache.take());
        client.join().unwrap()
    });
    assert_ne!(code, 0, "a part was presented as whole: {} bytes", body.len());
    assert!(content(path, length).starts_with(&body) && !body.is_empty(), "{} bytes", body.len());
}

/// Waits until the origin got a request for `path`.
fn asked_for(chain: &Chain, path: &str) {
    let until = Instant::now() + Duration::from_secs(10);
    while chain.origin.requests(path) == 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_client_of_http_1_0_gets_what_is_too_large_to_be_kept_and_declares_no_length() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all("[transparent]\n[store]\nmemory_mib = 4\nobject_mib = 2\n");
    let (path, length) = ("/chunked/8000000", 8_000_000);
    let (body, code) = chain.curl(&["--max-time", "20", "--http1.0", &chain.url(path)]);
    assert_eq!((body == content(path, length), code), (true, 0), "{}\n{}", body.len(), chain.log(1));
}

#[test]
fn a_request_whose_connection_dies_before_the_answer_is_sent_again() {
    let Some(mut chain) = Chain::of(2) else { return };
    chain.start_all(TRANSPARENT);
    let (path, length) = ("/far/100000", 100_000);
    let url = chain.url(path);
    let mut cache = chain.caches[1].take();
    let (body, code) = std::thread::scope(|scope| {
        let client = scope.spawn(|| chain.curl(&["--fail", "--max-time", "20", &url]));
        // The request arrived, and is answered after half a second at the earliest.
        asked_for(&chain, path);
        drop(cache.take());
        client.join().unwrap()
    });
    assert_eq!((body.len(), code), (length, 0), "{}", chain.log(1));
    assert_eq!(chain.origin.requests(path), 2);
}

#[test]
fn the_page_the_counters_and_the_rules_are_shown() {
    let Some(mut chain) = Chain::of(1) else { return };
    let token = "0123456789abcdefgh";
    std::fs::write(chain.folder(1).join("token"), token).unwrap();
    chain.start_all(&format!(
        "{TRANSPARENT}[management]\nlisten = \"10.77.0.2:4784\"\ntoken_file = \"token\"\n"
    ));
    chain.curl(&[&chain.url("/fixed/1000")]);
    chain.curl(&[&chain.url("/fixed/1000")]);
    let (said, _) =
        chain.curl(&["--write-out", "%{http_code}", "--output", "/dev/null", "http://10.77.0.2:4784/"]);
    assert_eq!(said, b"401");
    let bearer = format!("Authorization: Bearer {token}");
    let ask = |path: &str| {
        let (said, code) = chain.curl(&["-H", &bearer, &format!("http://10.77.0.2:4784{path}")]);
        assert_eq!(code, 0);
        String::from_utf8(said).unwrap()
    };
    assert!(ask("/").contains("HTTPS passes untouched"));
    assert!(
        ask("/metrics").contains("overheard_cache_requests_total{outcome=\"local\"} 1"),
        "{}",
        ask("/metrics")
    );
    assert!(ask("/status.json").contains("\"local\":1"));
    // The page draws the last hour, in steps of a second.
    let of_history = |column: &str| {
        let series: serde_json::Value = serde_json::from_str(&ask("/history.json?step=1")).unwrap();
        series[column].as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).sum::<u64>()
    };
    let end = Instant::now() + Duration::from_secs(10);
    while of_history("requests") < 2 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(["requests", "local_bytes", "origin_bytes"].map(of_history), [2, 1000, 1000]);
    assert!(ask("/page.js").contains("history.json") && ask("/uPlot.js").contains("uPlot"));
    assert!(ask("/history.json?step=3").contains("step is 1 or 10"));
    let folder = chain.folder(1);
    let printed = std::process::Command::new(crate::support::PROGRAM)
        .args(["cache", "cache.toml", "--print-nft"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(String::from_utf8(printed.stdout).unwrap().contains("tproxy ip to :4782"));
}

#[test]
fn the_page_draws_in_a_browser_what_was_answered() {
    let Some(mut chain) = Chain::of(1) else { return };
    chain.start_all(&format!("{TRANSPARENT}[management]\n"));
    for _ in 0..3 {
        chain.curl(&[&chain.url("/fixed/3000000")]);
    }
    std::thread::sleep(Duration::from_secs(2)); // the history's next second
    let picture = chain.folder(1).join("page.png");
    let browsed = chain.places[1].enter(|| browsed("http://127.0.0.1:4784/", &picture)).unwrap();
    let Some((page, complaints)) = browsed else { return };
    assert_eq!(complaints, Vec::<String>::new());
    assert_eq!(page.matches("<canvas").count(), 2, "{page}");
    assert!(page.contains("<td>6.0 MB</td>") && page.contains("<td>3.0 MB</td>"), "{page}");
    assert!(!page.contains("does not answer"), "{page}");
    assert!(std::fs::metadata(&picture).unwrap().len() > 20_000, "a picture of it");
}

#[test]
fn a_directory_that_is_not_ours_or_in_use_is_refused_and_nothing_is_left_behind() {
    let Some(mut chain) = Chain::of(1) else { return };
    let lines = format!("{TRANSPARENT}[store]\ndirectory = \"kept\"\n");
    chain.start_all(&lines);
    let folder = chain.folder(1);
    let refused = |chain: &Chain| {
        let args = ["cache", "cache.toml", "--socket", "other"];
        let run = || {
            std::process::Command::new(crate::support::PROGRAM)
                .args(args)
                .current_dir(&folder)
                .output()
                .unwrap()
        };
        let output = chain.places[1].enter(run).unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = refused(&chain);
    assert!(code == Some(2) && said.contains("in use by another cache"), "{said}");
    chain.stop(1);
    std::fs::write(folder.join("kept/index"), "overheard cache 99\n").unwrap();
    let (code, said) = refused(&chain);
    assert!(code == Some(2) && said.contains("another version"), "{said}");
    assert!(chain.at(1, "nft", &["list", "ruleset"]).stdout.is_empty());
}
