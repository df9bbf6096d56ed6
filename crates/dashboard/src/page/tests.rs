use super::*;
use crate::air_time::AirTime;
use crate::report::tests::{peer, report};
use std::io::{Read, Write};
use std::net::TcpStream;

fn known() -> Arc<Known> {
    let known = Known::new(History::new(AirTime::at(24e6)));
    for second in 1..=12 {
        let mut roof = peer("roof");
        roof.counters.inner_sent_bytes = 1_000 * second;
        known.note(report(second as f64, vec![roof]));
    }
    known
}

fn asked(fields: &[(&str, &str)], path: &str, token: Option<&str>) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    answer(&request.body(()).unwrap(), token, &known())
}

fn here(path: &str) -> Answer {
    asked(&[("host", "127.0.0.1:4785")], path, None)
}

#[test]
fn only_the_whole_token_opens_as_a_bearer_or_as_a_password() {
    const TOKEN: &str = "0123456789abcdef";
    let with = |given: &str| {
        asked(&[("authorization", given), ("host", "router.example")], "/metrics", Some(TOKEN)).status()
    };
    let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
    assert_eq!(with("Bearer 0123456789abcdef"), StatusCode::OK);
    assert_eq!(with(&basic("me:0123456789abcdef")), StatusCode::OK);
    let wrong =
        ["Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "Bearer ", "0123456789abcdef", "Basic !", ""];
    for wrong in wrong.map(str::to_owned).into_iter().chain([basic("0123456789abcdef"), basic("me:")]) {
        assert_eq!(with(&wrong), StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let refused = asked(&[], "/", Some(TOKEN));
    assert!(refused.headers()[WWW_AUTHENTICATE].to_str().unwrap().starts_with("Basic"));
}

#[test]
fn a_name_that_leads_here_is_not_answered_without_a_token() {
    for host in ["127.0.0.1:4785", "localhost:4785", "LOCALHOST", "[::1]:4785", "[::1]", "127.0.0.1"] {
        assert_eq!(asked(&[("host", host)], "/", None).status(), StatusCode::OK, "{host}");
    }
    for host in ["elsewhere.example:4785", "localhost.example", "", "127.0.0.1.example", "[::1].example"] {
        let status = asked(&[("host", host)], "/", None).status();
        assert_eq!(status, StatusCode::MISDIRECTED_REQUEST, "{host}");
    }
    assert_eq!(asked(&[], "/", None).status(), StatusCode::MISDIRECTED_REQUEST);
}

#[test]
fn every_file_that_the_page_names_is_served_and_none_is_elsewhere() {
    let page = FILES[0].2;
    for attribute in ["src=\"", "href=\""] {
        for named in page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next()) {
            assert_eq!(here(&format!("/{named}")).status(), StatusCode::OK, "{named}");
        }
    }
    for (path, _, text) in
        FILES.iter().filter(|(path, _, _)| !path.starts_with("/uPlot") && *path != "/icon.svg")
    {
        assert!(!text.contains("://"), "{path} points elsewhere");
    }
    assert!(
        !page.contains("<style") && !page.contains("style=") && !page.contains("onclick"),
        "the policy forbids it"
    );
}

#[test]
fn every_answer_bears_the_policy() {
    for path in ["/", "/history.json", "/nothing"] {
        let fields = here(path).headers().clone();
        assert!(
            fields[CONTENT_SECURITY_POLICY].to_str().unwrap().starts_with("default-src 'none'"),
            "{path}"
        );
        assert_eq!(fields[CACHE_CONTROL], "no-store", "{path}");
    }
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    for path in ["/history.json?step=2", "/history.json?step=", "/history.json?since=soon"] {
        assert_eq!(here(path).status(), StatusCode::BAD_REQUEST, "{path}");
    }
    assert_eq!(here("/nothing").status(), StatusCode::NOT_FOUND);
    let post = Request::post("/").header("host", "localhost").body(()).unwrap();
    assert_eq!(answer(&post, None, &known()).status(), StatusCode::METHOD_NOT_ALLOWED);
    let early = Known::new(History::new(AirTime::at(24e6)));
    let request = Request::get("/metrics").header("host", "localhost").body(()).unwrap();
    assert_eq!(answer(&request, None, &early).status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[test]
fn a_browser_gets_the_last_seconds_by_a_real_socket() {
    let page = Page::open("127.0.0.1:0".parse().unwrap(), None).unwrap();
    let address = page.address().unwrap();
    page.serve(known()).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /history.json?step=1&since=10 HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    let series: crate::Series = serde_json::from_str(body).unwrap();
    assert_eq!(series.end_seconds, [11.0, 12.0]);
    assert_eq!(series.peers[0].columns.offered_bytes, [1_000, 1_000]);
}
