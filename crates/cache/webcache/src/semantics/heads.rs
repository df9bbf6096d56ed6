//! Checks the heads of a client's requests before parsing: the boundaries of requests must be unambiguous
//! (RFC 9112 section 11.2, request smuggling).
//!
//! A parser drops overruled fields, so a request with both Content-Length and Transfer-Encoding looks normal
//! afterwards. It also accepts a lone line feed as a line's end. This check detects both.

/// The longest head; the parser refuses a longer one earlier.
const LONGEST_BYTES: usize = 64 << 10;

/// The fault of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Both framings (RFC 9112 section 6.1), or one of them twice.
    #[error("a request is framed once: by one Content-Length, or by one Transfer-Encoding")]
    Framing,
    /// A length that is not a number of octets (RFC 9110 section 8.6).
    #[error("Content-Length is one decimal number")]
    Length,
    /// A coding other than "chunked" alone (RFC 9112 section 6.1).
    #[error("no transfer coding but chunked is understood here")]
    Coding,
    /// A line that does not end with CR LF (RFC 9112 section 2.2), is folded (section 5.2), or is not a field
    /// (section 5.1).
    #[error("a line of the head is malformed")]
    Line,
}

/// The state of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before a request line.
    Start,
    /// In the fields of a head.
    Fields,
    /// In a content with this many octets left.
    Content(u64),
    /// Beyond the check: in chunks, after which the connection ends, or behind a fault.
    Over,
}

/// The heads of one connection, in order.
#[derive(Debug)]
pub struct Heads {
    at: At,
    /// The beginning of an incomplete line.
    begun: Vec<u8>,
    head_bytes: usize,
    length: Option<u64>,
    is_chunked: bool,
    /// Number of complete heads.
    count: u64,
}

impl Default for Heads {
    fn default() -> Self {
        Heads { at: At::Start, begun: Vec::new(), head_bytes: 0, length: None, is_chunked: false, count: 0 }
    }
}

impl Heads {
    /// Checks the next bytes. `Some` is the number, from 0, of a malformed head; nothing behind it is
    /// checked.
    pub fn look(&mut self, mut bytes: &[u8]) -> Option<(u64, Wrong)> {
        while !bytes.is_empty() {
            match self.at {
                At::Over => return None,
                At::Content(left) => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = bytes.get(here..).unwrap_or_default();
                    let left = left - here as u64;
                    self.at = if left > 0 { At::Content(left) } else { At::Start };
                }
                At::Start | At::Fields => {
                    let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
                    let (line, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
                    bytes = rest;
                    if let Err(wrong) = self.take(line, end.is_some()) {
                        self.at = At::Over;
                        return Some((self.count, wrong));
                    }
                }
            }
        }
        None
    }

    /// Takes a line or a part of one.
    fn take(&mut self, part: &[u8], ends: bool) -> Result<(), Wrong> {
        self.head_bytes += part.len();
        if self.head_bytes > LONGEST_BYTES {
            self.at = At::Over;
            self.begun = Vec::new();
            return Ok(());
        }
        if !ends {
            self.begun.extend_from_slice(part);
            return Ok(());
        }
        if self.begun.is_empty() {
            return self.line(part);
        }
        let mut line = std::mem::take(&mut self.begun);
        line.extend_from_slice(part);
        self.line(&line)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Wrong> {
        let line = line.strip_suffix(b"\r\n").ok_or(Wrong::Line)?;
        match (self.at, line.is_empty()) {
            // A client may send this behind a content (RFC 9112 section 2.2).
            (At::Start, true) => {}
            (At::Start, false) => self.at = At::Fields,
            (_, true) => self.end(),
            (_, false) => self.field(line)?,
        }
        Ok(())
    }

    fn field(&mut self, line: &[u8]) -> Result<(), Wrong> {
        let colon = line.iter().position(|byte| *byte == b':').ok_or(Wrong::Line)?;
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default();
        if name.is_empty() || name.iter().any(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control()) {
            return Err(Wrong::Line);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = length_of(value).ok_or(Wrong::Length)?;
            if self.is_chunked || self.length.replace(length).is_some() {
                return Err(Wrong::Framing);
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            if !without_blanks(value).eq_ignore_ascii_case(b"chunked") {
                return Err(Wrong::Coding);
            }
            if self.length.is_some() || std::mem::replace(&mut self.is_chunked, true) {
                return Err(Wrong::Framing);
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        self.count += 1;
        self.head_bytes = 0;
        let length = self.length.take().filter(|length| *length > 0);
        self.at = match length {
            _ if self.is_chunked => At::Over,
            Some(length) => At::Content(length),
            None => At::Start,
        };
    }
}

/// Optional whitespace around a value is blanks and tabs (RFC 9110 section 5.6.3).
fn without_blanks(value: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !is_blank(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last + 1);
    value.get(start..end).unwrap_or_default()
}

fn length_of(value: &[u8]) -> Option<u64> {
    let digits = without_blanks(value);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn look(text: &str) -> Option<(u64, Wrong)> {
        Heads::default().look(text.as_bytes())
    }

    fn post(fields: &str) -> Option<(u64, Wrong)> {
        look(&format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"))
    }

    #[test]
    fn a_request_is_framed_once() {
        for both in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "transfer-encoding: Chunked\r\nX: y\r\ncontent-length: 5",
            "Content-Length: 5\r\nContent-Length: 5",
            "Content-Length: 5\r\nContent-Length: 6",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        ] {
            assert_eq!(post(both), Some((0, Wrong::Framing)), "{both:?}");
        }
        for once in ["Content-Length: 5", "Content-Length:\t5 ", "Transfer-Encoding: chunked", "X: y"] {
            assert_eq!(post(once), None, "{once:?}");
        }
    }

    #[test]
    fn lengths_and_codings_that_read_differently_elsewhere_are_wrong() {
        for bad in ["", "+5", "-5", "5,5", "5 5", "0x5", "5\u{b}", "99999999999999999999", "\u{663}"] {
            assert_eq!(post(&format!("Content-Length: {bad}")), Some((0, Wrong::Length)), "{bad:?}");
        }
        for bad in ["", "xchunked", "chunked, identity", "gzip, chunked", "\u{b}chunked", "chunked;a=b"] {
            assert_eq!(post(&format!("Transfer-Encoding: {bad}")), Some((0, Wrong::Coding)), "{bad:?}");
        }
    }

    #[test]
    fn lines_end_with_both_and_are_fields() {
        for bad in ["X: y\nY: z", "X : y", "X: y\r\n z", "X: y\r\n\tz", "no field", ": y", "X\u{0}: y"] {
            assert_eq!(post(bad), Some((0, Wrong::Line)), "{bad:?}");
        }
        assert_eq!(look("GET / HTTP/1.1\nHost: a\n\n"), Some((0, Wrong::Line)));
        assert_eq!(look("\nGET / HTTP/1.1\r\n\r\n"), Some((0, Wrong::Line)));
    }

    #[test]
    fn the_request_behind_a_content_is_looked_at_and_nothing_behind_chunks() {
        let first = "POST / HTTP/1.1\r\nContent-Length: 30\r\n\r\nContent-Length: x\nX\r\n\r\n1234567";
        assert_eq!(look(first), None);
        let bad = "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n";
        assert_eq!(look(&format!("{first}\r\n{bad}")), Some((1, Wrong::Length)));
        let none = "GET / HTTP/1.1\r\n\r\n";
        assert_eq!(look(&format!("{none}{none}{bad}{bad}")), Some((2, Wrong::Length)));
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(look(&format!("{chunked}{bad}")), None);
    }

    proptest! {
        #[test]
        fn pieces_read_as_the_whole_does(
            lines in proptest::collection::vec(
                prop_oneof![
                    Just("GET / HTTP/1.1\r\n"), Just("\r\n"), Just("Content-Length: 3\r\n"), Just("abc"),
                    Just("Transfer-Encoding: chunked\r\n"), Just("X: y\r\n"), Just("X: y\n"), Just("Content-Length: +3\r\n"),
                ],
                0..24,
            ),
            cuts in proptest::collection::vec(1_usize..9, 0..64),
        ) {
            let whole = lines.concat();
            let mut pieces = Heads::default();
            let (mut rest, mut found) = (whole.as_bytes(), None);
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                found = found.or(pieces.look(piece));
                rest = more;
            }
            found = found.or(pieces.look(rest));
            prop_assert_eq!(found, look(&whole));
        }
    }
}
