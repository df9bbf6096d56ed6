//! An origin that behaves by its paths, correctly or not, and counts requests.
//!
//! `/KIND/BYTES[/NAME]`, with these kinds. `fixed` serves ranges and validates, fresh for an hour. `stale` is
//! fresh for a second. `renewed` is `stale` the first time and fresh for an hour afterwards. `chunked`
//! declares no length. `slow` sends slowly. `short` declares twice its length. `broken` sends half and
//! resets, the first time. `private` is for one user. `vary` varies by Accept-Language. `failing` is `stale`
//! the first time and answers 503 afterwards. `weak` has no validator. `changed` is `broken`, with another
//! content afterwards. `whole` is `broken` and serves no ranges. `endless` does not end. `coded` has an
//! unrequested transfer coding. `socket` speaks WebSocket's handshake and echoes. `folded` and `split` have
//! malformed fields. `far` has any length without being stored, and a slow head. `dripping` sends slowly in
//! chunks, for one user.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Number of requests for each path, and the last one's head.
#[derive(Default)]
pub struct Seen {
    pub requests: HashMap<String, usize>,
    pub conditional: usize,
    pub bytes: u64,
    pub heads: Vec<String>,
}

#[derive(Clone, Default)]
pub struct Origin {
    pub seen: Arc<Mutex<Seen>>,
}

impl Origin {
    /// Listens on a port of every address in the calling thread's namespace, as long as the process lives.
    pub fn start(port: u16) -> Self {
        let origin = Origin::default();
        let any: IpAddr = Ipv6Addr::UNSPECIFIED.into();
        let listener = TcpListener::bind(SocketAddr::new(any, port)).unwrap();
        let serving = origin.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.converse(stream));
            }
        });
        origin
    }

    /// Number of requests for `path`.
    pub fn requests(&self, path: &str) -> usize {
        self.seen.lock().unwrap().requests.get(path).copied().unwrap_or(0)
    }

    fn converse(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(head) = read_head(&mut reader) {
            if self.answer(&stream, &head).is_none() {
                return;
            }
        }
    }

    fn answer_from_afar(&self, mut stream: &TcpStream, length: usize, fields: &str) -> Option<()> {
        std::thread::sleep(FAR);
        write!(stream, "HTTP/1.1 200 OK\r\n{fields}\r\n").ok()?;
        let mut sent = 0;
        for number in 0.. {
            let piece = far_piece(number);
            let piece = &piece[..piece.len().min(length - sent)];
            if piece.is_empty() {
                return Some(());
            }
            stream.write_all(piece).ok()?;
            sent += piece.len();
            self.seen.lock().unwrap().bytes += piece.len() as u64;
        }
        None
    }

    /// Answers a request; `None` ends the connection.
    fn answer(&self, mut stream: &TcpStream, head: &str) -> Option<()> {
        let path = head.split_whitespace().nth(1)?.to_owned();
        let path = path
            .strip_prefix("http://")
            .map_or(path.clone(), |rest| rest[rest.find('/').unwrap()..].to_owned());
        let field = |name: &str| {
            let line =
                head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        let nth = {
            let mut seen = self.seen.lock().unwrap();
            seen.heads.push(head.to_owned());
            seen.conditional += usize::from(field("if-none-match").is_some());
            let count = seen.requests.entry(path.clone()).or_default();
            *count += 1;
            *count
        };
        let mut parts = path.trim_start_matches('/').split('/');
        let (kind, length) =
            (parts.next()?, parts.next().and_then(|bytes| bytes.parse().ok()).unwrap_or(0_usize));
        let version = if kind == "changed" { nth.min(2) } else { 1 };
        let etag = format!("\"{}\"", path.len() * 31 + length + version);
        let ages = matches!(kind, "stale" | "failing") || (kind == "renewed" && nth == 1);
        let lifetime = if ages { 1 } else { 3600 };
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        let mut fields = format!("Date: {date}\r\nETag: {etag}\r\nCache-Control: max-age={lifetime}\r\n");
        if kind == "weak" {
            fields = format!("Date: {date}\r\nCache-Control: max-age={lifetime}\r\n");
        }
        if matches!(kind, "private" | "dripping") {
            fields = "Cache-Control: private\r\n".to_owned();
        }
        if kind == "vary" {
            fields += "Vary: Accept-Language\r\n";
        }
        if kind == "failing" && nth > 1 {
            write!(stream, "HTTP/1.1 503 Broken\r\nContent-Length: 0\r\n\r\n").ok()?;
            return Some(());
        }
        if field("if-none-match").as_deref() == Some(&etag) {
            write!(stream, "HTTP/1.1 304 Not Modified\r\n{fields}\r\n").ok()?;
            return Some(());
        }
        if kind == "socket" && field("upgrade").is_some_and(|protocol| protocol == "websocket") {
            let agreed = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n";
            stream.write_all(agreed.as_bytes()).ok()?;
            let mut said = [0; 1024];
            while let Ok(length @ 1..) = stream.read(&mut said) {
                stream.write_all(&said[..length]).ok()?;
            }
            return None;
        }
        if kind == "far" {
            return self.answer_from_afar(stream, length, &format!("{fields}Content-Length: {length}\r\n"));
        }
        let mut body = content(&path, length);
        if version > 1 {
            body.reverse();
        }
        match kind {
            "coded" => {
                write!(stream, "HTTP/1.1 200 OK\r\n{fields}Transfer-Encoding: gzip\r\n\r\n").ok()?;
                stream.write_all(&body).ok()?;
                return None;
            }
            "folded" => fields += "X-Folded: a\r\n b\r\n",
            "split" => fields += "X-Split: a\rSet-Cookie: b=c\r\n",
            _ => {}
        }
        if head.starts_with("HEAD ") {
            write!(stream, "HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n").ok()?;
            return Some(());
        }
        if kind == "vary" {
            body = field("accept-language").unwrap_or_default().into_bytes();
        }
        let asked = field("range").filter(|_| {
            !matches!(kind, "private" | "whole") && field("if-range").is_none_or(|tag| tag == etag)
        });
        let mut status = "200 OK".to_owned();
        if let Some((first, last)) =
            asked.as_deref().and_then(|range| range.strip_prefix("bytes=")?.split_once('-'))
        {
            let first: usize = first.parse().ok()?;
            let last = last.parse().unwrap_or(usize::MAX).min(length - 1);
            status = "206 Part".to_owned();
            fields += &format!("Content-Range: bytes {first}-{last}/{length}\r\n");
            body = body[first..=last].to_vec();
        }
        self.seen.lock().unwrap().bytes += body.len() as u64;
        let declared = if kind == "short" { 2 * body.len() } else { body.len() };
        match kind {
            "endless" => {
                write!(stream, "HTTP/1.1 200 OK\r\n{fields}Transfer-Encoding: chunked\r\n\r\n").ok()?;
                loop {
                    write!(stream, "10000\r\n").ok()?;
                    stream.write_all(&[b'e'; 0x10000]).ok()?;
                    stream.write_all(b"\r\n").ok()?;
                    self.seen.lock().unwrap().bytes += 0x10000;
                }
            }
            "chunked" | "dripping" => {
                write!(stream, "HTTP/1.1 {status}\r\n{fields}Transfer-Encoding: chunked\r\n\r\n").ok()?;
                for piece in body.chunks(10_000) {
                    write!(stream, "{:x}\r\n", piece.len()).ok()?;
                    stream.write_all(piece).ok()?;
                    stream.write_all(b"\r\n").ok()?;
                    if kind == "dripping" {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                }
                stream.write_all(b"0\r\n\r\n").ok()?;
            }
            _ => {
                write!(stream, "HTTP/1.1 {status}\r\n{fields}Content-Length: {declared}\r\n\r\n").ok()?;
                match kind {
                    "slow" => {
                        for piece in body.chunks(body.len().div_ceil(20).max(1)) {
                            stream.write_all(piece).ok()?;
                            std::thread::sleep(Duration::from_millis(100));
                        }
                    }
                    "broken" | "changed" | "whole" if nth == 1 => {
                        stream.write_all(&body[..body.len() / 2]).ok()?;
                        std::thread::sleep(Duration::from_millis(100));
                        return None;
                    }
                    "short" => {
                        stream.write_all(&body).ok()?;
                        return None;
                    }
                    _ => stream.write_all(&body).ok()?,
                }
            }
        }
        Some(())
    }
}

/// Delay of a `far` content's head.
pub const FAR: Duration = Duration::from_millis(500);

/// A piece of a `far` content, by its number.
pub fn far_piece(number: u64) -> Vec<u8> {
    content("/far", FAR_PIECE_BYTES)
        .iter()
        .map(|byte| byte ^ (number.wrapping_mul(0x9e37_79b9) >> 7) as u8)
        .collect()
}

/// Octets of such a piece; the last one is shorter.
pub const FAR_PIECE_BYTES: usize = 64 << 10;

/// The content of a path.
pub fn content(path: &str, length: usize) -> Vec<u8> {
    let mut state = path.bytes().fold(0x9e37_79b9_7f4a_7c15_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(state ^ (state >> 29)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn read_head(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if head[before..].trim().is_empty() {
            break;
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(head)
}
