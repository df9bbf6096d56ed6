//! Heads of a client's requests, looked at as they come in.

use crate::Seed;
use webcache::semantics::heads::Heads;

/// Parsing octet by octet gives the same result as in one piece, and nothing behind a fault is parsed.
pub fn check(bytes: &[u8]) -> bool {
    let mut whole = Heads::default();
    let found = whole.look(bytes);
    let mut pieces = Heads::default();
    let found_in_pieces = bytes.iter().find_map(|byte| pieces.look(std::slice::from_ref(byte)));
    assert_eq!(found, found_in_pieces);
    if found.is_some() {
        assert_eq!(whole.look(b"\nContent-Length: x\r\n\r\n"), None);
    }
    found.is_none() && bytes.ends_with(b"\r\n\r\n")
}

/// Usual ones.
pub fn seeds() -> Vec<Seed> {
    let text = |name, text: &str| Seed { name, bytes: text.as_bytes().to_vec() };
    vec![
        text("get", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        text("post", "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcdGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        text("chunks", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ]
}
