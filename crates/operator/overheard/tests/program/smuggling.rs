//! Ambiguous requests through the cache to several kinds of origins. All origins get the same requests, and
//! an attacker's bytes never answer another client's request.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::support::{PROGRAM, has};
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/smuggling");
/// Time without an answer after which an attacker's connection counts as silent.
const SILENCE: Duration = Duration::from_millis(150);
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that is killed at the end.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An attacker's input.
struct Case {
    name: String,
    text: String,
    is_refused: bool,
}

/// An origin that records its requests.
struct Origin {
    make: &'static str,
    port: u16,
    seen: PathBuf,
    _program: Running,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn start(mut command: Command, port: u16) -> Running {
    let program = Running(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < until, "{command:?} does not come to listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    program
}

/// The cases of some folders.
fn cases(folders: &[&str]) -> Vec<Case> {
    let mut cases = Vec::new();
    for folder in folders {
        for file in fs::read_dir(Path::new(FOLDER).join(folder)).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            cases.push(Case {
                name,
                text: fs::read_to_string(path).unwrap(),
                is_refused: *folder == "refused",
            });
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// A cache whose clients may reach this machine's loopback; returns its port.
fn cache(folder: &Path) -> (Running, u16) {
    let port = free_port();
    let config = format!(
        "[cache]\nname = \"r\"\nclients = [\"127.0.0.0/8\"]\nallow_destinations = [\"127.0.0.0/8\"]\n\
         [forward]\nlisten = \"127.0.0.1:{port}\"\n"
    );
    fs::write(folder.join("cache.toml"), config).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["cache", "cache.toml", "--socket", "status"]).current_dir(folder);
    (start(command, port), port)
}

impl Case {
    /// The input for an origin at `host`.
    fn for_host(&self, host: &str) -> Vec<u8> {
        let text = self.text.replace("{host}", host).replace("{case}", &self.name);
        let text = text.replace("\\\n", "").replace('\n', "\r\n");
        let mut parts = text.split("\\x");
        let mut bytes = parts.next().unwrap().as_bytes().to_vec();
        for part in parts {
            let (octet, rest) = part.split_at(2);
            bytes.push(u8::from_str_radix(octet, 16).unwrap());
            bytes.extend_from_slice(rest.as_bytes());
        }
        bytes
    }
}

/// Every origin whose program this machine has.
fn origins(folder: &Path) -> Vec<Origin> {
    let of = |make: &'static str, command: &dyn Fn(u16, &Path) -> Command| {
        let (port, seen) = (free_port(), folder.join(make));
        fs::write(&seen, "").unwrap();
        let program = start(command(port, &seen), port);
        Origin { make, port, seen, _program: program }
    };
    let mut origins = Vec::new();
    let script = Path::new(FOLDER).join("origins/origin.js");
    let node = |options: &[&str], port: u16, seen: &Path| {
        let mut command = Command::new("node");
        command.args(options).arg(&script).arg(port.to_string()).arg(seen);
        command
    };
    if has("node", "nodejs") {
        origins.push(of("node", &|port, seen| node(&[], port, seen)));
        origins.push(of("node-lenient", &|port, seen| node(&["--insecure-http-parser"], port, seen)));
    }
    if has("nginx", "nginx-light") {
        origins.push(of("nginx", &|port, seen| {
            let text = fs::read_to_string(Path::new(FOLDER).join("origins/nginx.conf")).unwrap();
            let own = folder.join("nginx.d");
            fs::create_dir_all(&own).unwrap();
            let text = text.replace("FOLDER/seen", seen.to_str().unwrap());
            let text = text.replace("FOLDER", own.to_str().unwrap()).replace("PORT", &port.to_string());
            fs::write(own.join("nginx.conf"), text).unwrap();
            let mut command = Command::new("nginx");
            command.args(["-p", ".", "-c", "nginx.conf", "-e", "nginx.log"]).current_dir(&own);
            command
        }));
    }
    if has("go", "golang-go") {
        // The compiled Go program is kept for the next run.
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let program = kept.join("origin-of-go");
        let mut build = Command::new("go");
        build.arg("build").arg("-o").arg(&program).arg(Path::new(FOLDER).join("origins/origin.go"));
        build.env("GOCACHE", kept.join("go-cache")).env("GOPATH", kept.join("go"));
        build.envs([("CGO_ENABLED", "0"), ("GOTOOLCHAIN", "local"), ("GOFLAGS", "-buildvcs=false")]);
        assert!(build.status().unwrap().success(), "Go does not compile the origin");
        origins.push(of("go", &|port, seen| {
            let mut command = Command::new(&program);
            command.arg(port.to_string()).arg(seen);
            command
        }));
    }
    origins
}

/// The answer on a connection until it ends or is silent.
fn answered(stream: &mut TcpStream, silence: Duration) -> String {
    stream.set_read_timeout(Some(silence)).unwrap();
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut part) {
            Ok(length @ 1..) => answer.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            _ => return String::from_utf8_lossy(&answer).into_owned(),
        }
    }
}

/// Checks that another client's request gets its own answer.
fn is_served(cache: u16, host: &str, case: &str, make: &str) {
    let mut stream = TcpStream::connect(("127.0.0.1", cache)).unwrap();
    let target = format!("/{case}/victim");
    write!(stream, "GET http://{host}{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
        .unwrap();
    let answer = answered(&mut stream, PATIENCE);
    let own = answer.starts_with("HTTP/1.1 200") && answer.ends_with(&format!("\r\n\r\nGET {target}\n"));
    let framed = answer.contains(&format!("GET {target}\n")) && answer.matches("HTTP/1.1 ").count() == 1;
    assert!(own || framed && answer.starts_with("HTTP/1.1 200"), "{make}, {case}: a victim got {answer:?}");
}

/// The requests of each case that an origin got, without the victims' requests.
fn seen_by(origin: &Origin, cases: &[Case]) -> BTreeMap<String, Vec<String>> {
    let host = format!("127.0.0.1:{}", origin.port);
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in fs::read_to_string(&origin.seen).unwrap().lines() {
        let case = line.split(['/', ' ']).nth(2).unwrap_or_default().to_owned();
        seen.entry(case).or_default().push(line.replace(&host, "HOST"));
    }
    for case in cases {
        let lines = seen.entry(case.name.clone()).or_default();
        let before = lines.len();
        lines.retain(|line| *line != format!("GET /{}/victim", case.name));
        assert_eq!(before - lines.len(), 2, "{}, {}: {lines:?}", origin.make, case.name);
    }
    seen
}

#[test]
fn origins_of_all_makes_see_the_same_requests_and_victims_get_their_own_answers() {
    let folder = tempfile::tempdir().unwrap();
    let origins = origins(folder.path());
    let (_cache, port) = cache(folder.path());
    let cases = cases(&["refused", "passed"]);
    std::thread::scope(|scope| {
        for origin in &origins {
            let cases = &cases;
            scope.spawn(move || {
                let host = format!("127.0.0.1:{}", origin.port);
                for case in cases {
                    let mut attacker = TcpStream::connect(("127.0.0.1", port)).unwrap();
                    // It may be refused before everything is sent.
                    let _ = attacker.write_all(&case.for_host(&host));
                    let answer = answered(&mut attacker, SILENCE);
                    let smuggled = answer.contains("/smuggled\n");
                    assert!(!smuggled, "{}, {}: {answer}", origin.make, case.name);
                    is_served(port, &host, &case.name, origin.make);
                    drop(attacker);
                    is_served(port, &host, &case.name, origin.make);
                }
            });
        }
    });
    // nginx logs a request after its answer.
    std::thread::sleep(SILENCE);
    let all: Vec<_> = origins.iter().map(|origin| (origin.make, seen_by(origin, &cases))).collect();
    for (make, seen) in &all {
        for case in &cases {
            let lines = &seen[&case.name];
            let first = lines.first().is_some_and(|line| line.contains("/first"));
            assert_eq!(first, !case.is_refused, "{make}, {}: {lines:?}", case.name);
            assert!(!case.is_refused || lines.is_empty(), "{make}, {}: {lines:?}", case.name);
            assert!(lines.iter().all(|line| !line.contains("smuggled")), "{make}, {}: {lines:?}", case.name);
        }
        assert_eq!(seen.len(), cases.len(), "{make}: of no case: {:?}", seen.keys());
    }
    for pair in all.windows(2) {
        let [(one, seen), (other, seen_there)] = pair else { continue };
        assert_eq!(seen, seen_there, "{one} and {other} saw different requests");
    }
}

/// An origin that answers `/CASE/first` by the cases, and everything else normally.
fn malicious_origin(answers: BTreeMap<String, Vec<u8>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answers = answers.clone();
            std::thread::spawn(move || {
                let mut stream = stream;
                while let Some(target) = asked_for(&mut stream) {
                    let case = target.strip_suffix("/first").map(|rest| rest.trim_start_matches('/'));
                    let own = format!("GET {target}\n");
                    let own = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{own}", own.len());
                    let answer = case.map_or(own.as_bytes(), |case| answers[case].as_slice());
                    if stream.write_all(answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

/// The target of the next request without content.
fn asked_for(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).split(' ').nth(1).map(str::to_owned)
}

#[test]
fn what_an_origin_says_behind_its_answer_is_nobodys_answer() {
    let folder = tempfile::tempdir().unwrap();
    let (_cache, port) = cache(folder.path());
    let cases = cases(&["answers"]);
    let answers = cases.iter().map(|case| (case.name.clone(), case.for_host("")));
    let origin = malicious_origin(answers.collect());
    let host = format!("127.0.0.1:{origin}");
    for case in &cases {
        for method in ["GET", "HEAD"] {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (target, close) = (format!("/{}/first", case.name), "Connection: close");
            write!(client, "{method} http://{host}{target} HTTP/1.1\r\nHost: {host}\r\n{close}\r\n\r\n")
                .unwrap();
            let answer = answered(&mut client, PATIENCE);
            assert!(!answer.contains("poison!"), "{}: {answer}", case.name);
            for _ in 0..3 {
                is_served(port, &host, &case.name, "a malicious origin");
            }
        }
    }
}
