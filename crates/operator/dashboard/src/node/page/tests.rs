use super::*;
use crate::node::air_time::AirTime;
use crate::node::history::History;
use crate::node::report::tests::{peer, report};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

fn known() -> Arc<Known> {
    let known = Known::new(History::new(AirTime::at(24e6)));
    for second in 1..=12 {
        let mut roof = peer("roof");
        roof.counters.inner_sent_bytes = 1_000 * second;
        known.note(report(second as f64, vec![roof]));
    }
    known
}

fn here(path: &str) -> Answer {
    asked(path, &known())
}

fn asked(asked: &str, known: &Known) -> Answer {
    let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
    answer(Question { path, query }, known)
}

#[test]
fn every_file_that_the_page_names_is_served_and_none_is_elsewhere() {
    let page = FILES[0].2;
    for attribute in ["src=\"", "href=\""] {
        for named in page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
            assert_eq!(here(&format!("/{named}")).status(), StatusCode::OK, "{named}");
        }
    }
    for (path, _, text) in FILES
        .iter()
        .chain(files::FILES.iter().filter(|(path, ..)| *path == "/charts.js" || *path == "/page.css"))
    {
        assert!(!text.contains("://"), "{path} points elsewhere");
    }
    assert!(
        !page.contains("<style") && !page.contains("style=") && !page.contains("onclick"),
        "the policy forbids it"
    );
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    for path in ["/history.json?step=2", "/history.json?step=", "/history.json?since=soon"] {
        assert_eq!(here(path).status(), StatusCode::BAD_REQUEST, "{path}");
    }
    assert_eq!(here("/nothing").status(), StatusCode::NOT_FOUND);
    assert_eq!(here("/caches.json").status(), StatusCode::OK, "none is an answer, too");
    let early = Known::new(History::new(AirTime::at(24e6)));
    assert_eq!(asked("/metrics", &early).status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[test]
fn a_browser_gets_the_last_seconds_by_a_real_socket() {
    let page = Page::open("127.0.0.1:0".parse().unwrap(), None).unwrap();
    let address = page.address().unwrap();
    serve(page, known()).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    write!(stream, "GET /history.json?step=1&since=10 HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let series: crate::node::Series = serde_json::from_str(body).unwrap();
    assert_eq!(series.end_seconds, [11.0, 12.0]);
    assert_eq!(series.peers[0].columns.offered_bytes, [1_000, 1_000]);
}
