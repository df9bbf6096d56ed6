use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::WWW_AUTHENTICATE;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn echo(question: Question<'_>) -> Answer {
    said(StatusCode::OK, "text/plain", format!("{}?{}", question.path, question.value("step").unwrap_or("-")))
}

fn asked(fields: &[(&str, &str)], path: &str, token: Option<&str>) -> Answer {
    let mut request = Request::get(path);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    answered(&request.body(()).unwrap(), token, || {}, &echo)
}

#[test]
fn only_the_whole_token_opens_as_a_bearer_or_as_a_password() {
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
    let refused = answered(&post, None, || {}, &echo);
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
    stream.set_read_timeout(Some(QUESTION)).unwrap();
    write!(stream, "GET /history?since=1&step=10 HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("/history?10"), "{answer}");
}

const TOKEN: &str = "0123456789abcdef";
const STRANGERS: usize = 500;

/// Connects from an address of the loopback network.
fn connect(from: IpAddr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    socket.connect(&to.into())?;
    Ok(socket.into())
}

/// The answer to the operator, and its delay.
fn answer_to_operator(from: IpAddr, to: SocketAddr) -> (String, Duration) {
    let began = std::time::Instant::now();
    let mut stream = connect(from, to).unwrap();
    stream.set_read_timeout(Some(2 * QUESTION)).unwrap();
    write!(stream, "GET /operator HTTP/1.1\r\nHost: {to}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n").unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    (answer, began.elapsed())
}

/// Sends the operator's request while 500 strangers hold connections and return when they are closed.
fn asks_among_strangers(address_of: impl Fn(usize) -> IpAddr + Sync, operator: IpAddr) {
    let page = Page::open("127.0.0.1:0".parse().unwrap(), Some(TOKEN.to_owned())).unwrap();
    let to = page.address().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.spawn(page.serve(echo));
    let (ended, came) = (AtomicBool::new(false), AtomicUsize::new(0));
    let stranger = |number: usize| -> Option<TcpStream> {
        let mut stream = connect(address_of(number), to).ok()?;
        stream.set_nonblocking(true).ok()?;
        // Part of a request: some send nothing, some a line, some a field.
        let parts = ["", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "];
        stream.write_all(parts[number % parts.len()].as_bytes()).ok()?;
        came.fetch_add(1, Ordering::Relaxed);
        Some(stream)
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut strangers: Vec<Option<TcpStream>> = (0..STRANGERS).map(stranger).collect();
            while !ended.load(Ordering::Relaxed) {
                for (number, place) in strangers.iter_mut().enumerate() {
                    let is_gone = |stream: &mut TcpStream| match stream.read(&mut [0; 256]) {
                        Ok(bytes) => bytes == 0,
                        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
                    };
                    if place.as_mut().is_none_or(is_gone) {
                        *place = stranger(number);
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        while came.load(Ordering::Relaxed) < STRANGERS {
            std::thread::sleep(Duration::from_millis(5));
        }
        let answers: Vec<_> = (0..20).map(|_| answer_to_operator(operator, to)).collect();
        ended.store(true, Ordering::Relaxed);
        for (answer, after) in answers {
            assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer:?} after {after:?}");
            assert!(after < QUESTION, "{after:?}");
        }
    });
}

#[test]
fn an_operator_is_answered_while_500_slow_strangers_of_many_addresses_hold_connections() {
    let spread = |number: usize| IpAddr::from([127, 0, 1 + (number / 250) as u8, (number % 250) as u8]);
    asks_among_strangers(spread, [127, 0, 0, 1].into());
}

#[test]
fn an_operator_is_answered_behind_the_address_of_500_slow_strangers() {
    asks_among_strangers(|_| [127, 0, 0, 1].into(), [127, 0, 0, 1].into());
}

#[test]
fn a_question_for_steps_that_are_not_kept_is_refused() {
    let asked = |query| {
        let mut asked = None;
        let answer =
            steps(Question { path: "/history.json", query }, |step, since| asked = Some((step, since)));
        (answer.status(), asked)
    };
    assert_eq!(asked(""), (StatusCode::OK, Some((Step::Second, 0.0))));
    assert_eq!(asked("step=10&since=12.5"), (StatusCode::OK, Some((Step::TenSeconds, 12.5))));
    for query in ["step=2", "step=", "step=-1", "since=soon", "step=1&since="] {
        assert_eq!(asked(query), (StatusCode::BAD_REQUEST, None), "{query}");
    }
}
