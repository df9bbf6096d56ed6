use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::WWW_AUTHENTICATE;
use std::io::{Read, Write};
use std::net::TcpStream;

fn echo(question: Question<'_>) -> Answer {
    said(StatusCode::OK, "text/plain", format!("{}?{}", question.path, question.value("step").unwrap_or("-")))
}

fn asked(fields: &[(&str, &str)], path: &str, token: Option<&str>) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    answered(&request.body(()).unwrap(), token, &echo)
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
fn every_answer_bears_the_policy_and_only_get_is_answered() {
    let fields = asked(&[("host", "localhost")], "/nothing", None).headers().clone();
    assert!(fields[CONTENT_SECURITY_POLICY].to_str().unwrap().starts_with("default-src 'none'"));
    assert_eq!(fields[CACHE_CONTROL], "no-store");
    let post = Request::post("/").header("host", "localhost").body(()).unwrap();
    let refused = answered(&post, None, &echo);
    assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert!(refused.headers().contains_key(CONTENT_SECURITY_POLICY));
}

#[test]
fn who_asks_by_a_real_socket_is_answered() {
    let page = Page::open("127.0.0.1:0".parse().unwrap(), None).unwrap();
    let address = page.address().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.spawn(page.serve(echo));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /history?since=1&step=10 HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("/history?10"), "{answer}");
}
