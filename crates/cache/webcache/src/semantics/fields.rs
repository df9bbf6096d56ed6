//! Hop-by-hop fields, and the field that each hop adds: RFC 9110 section 7.6.

use super::directives::members;
use hyper::Version;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, MAX_FORWARDS, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA,
};

/// The most hops of a request; more count as a loop, whatever the names in Via.
const MOST_HOPS: usize = 64;

/// A router's proof to the next router, and to no other node.
pub const PROOF: HeaderName = HeaderName::from_static("overheard-proof");

const HOP_BY_HOP: [HeaderName; 10] = [
    PROOF,
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Removes hop-by-hop fields, with those that Connection names. The sender frames the message anew.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let lines = headers.get_all(CONNECTION).iter().filter_map(|line| line.to_str().ok());
    let named: Vec<HeaderName> =
        lines.flat_map(members).filter_map(|name| name.trim().parse().ok()).collect();
    for name in named {
        // A sender may not remove the framing (RFC 9110 section 7.6.1 forbids naming end-to-end fields).
        if name != CONTENT_LENGTH && name != hyper::header::HOST {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Adds this hop's name to Via.
pub fn add_via(headers: &mut HeaderMap, version: Version, pseudonym: &str) {
    let version = if version == Version::HTTP_10 { "1.0" } else { "1.1" };
    if let Ok(value) = HeaderValue::try_from(format!("{version} {pseudonym}")) {
        headers.append(VIA, value);
    }
}

/// Whether a request passed this router before, or has too many hops.
#[must_use]
pub fn is_loop(headers: &HeaderMap, pseudonym: &str) -> bool {
    let lines = headers.get_all(VIA).iter().map(|line| String::from_utf8_lossy(line.as_bytes()));
    let mut hops = 0;
    for line in lines {
        for member in members(&line) {
            hops += 1;
            if hops > MOST_HOPS || member.split_whitespace().nth(1) == Some(pseudonym) {
                return true;
            }
        }
    }
    false
}

/// The framing of a content (RFC 9112 section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Chunks; a Content-Length beside them is ignored.
    Chunked,
    /// The declared length.
    Length(u64),
    /// The end of the connection, which may be premature.
    Close,
}

/// The framing of a response. `Err` if its length is malformed, or it has an unrequested coding.
pub fn framing(headers: &HeaderMap) -> Result<Framing, MalformedLength> {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(content_length(headers)?.map_or(Framing::Close, Framing::Length)),
        (Some(coding), None) if coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked") => {
            Ok(Framing::Chunked)
        }
        _ => Err(MalformedLength),
    }
}

/// Decrements Max-Forwards (RFC 9110 section 7.6.2). Returns `false` if the request ends here. A value that
/// is no number stays unchanged.
pub fn count_forward(headers: &mut HeaderMap) -> bool {
    let Some(value) = headers.get(MAX_FORWARDS).and_then(|value| value.to_str().ok()) else { return true };
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    // A number too large to parse exceeds any number of hops.
    let left = value.parse().unwrap_or(u64::MAX);
    if left > 0 {
        headers.insert(MAX_FORWARDS, HeaderValue::from(left - 1));
    }
    left > 0
}

/// The declared length of a content. `Err` for several different ones, or for no number (RFC 9110 section
/// 8.6).
pub fn content_length(headers: &HeaderMap) -> Result<Option<u64>, MalformedLength> {
    let mut length = None;
    for line in headers.get_all(CONTENT_LENGTH) {
        for member in line.to_str().map_err(|_| MalformedLength)?.split(',').map(str::trim) {
            if member.is_empty() || !member.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(MalformedLength);
            }
            let given = member.parse().map_err(|_| MalformedLength)?;
            if length.replace(given).is_some_and(|before: u64| before != given) {
                return Err(MalformedLength);
            }
        }
    }
    Ok(length)
}

/// An invalid Content-Length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed or conflicting Content-Length")]
pub struct MalformedLength;

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn what_concerns_one_connection_stays_there() {
        let mut headers = fields(&[
            ("connection", "close, X-Secret"),
            ("x-secret", "1"),
            ("keep-alive", "5"),
            ("transfer-encoding", "chunked"),
            ("content-type", "a/b"),
        ]);
        remove_hop_by_hop(&mut headers);
        assert_eq!(headers, fields(&[("content-type", "a/b")]));
    }

    #[test]
    fn a_request_that_was_here_is_known_again() {
        let mut headers = fields(&[("via", "1.1 a, 1.0 b (comment)")]);
        assert!(!is_loop(&headers, "c"));
        assert!(is_loop(&headers, "b"));
        add_via(&mut headers, Version::HTTP_11, "c");
        assert!(is_loop(&headers, "c"));
        assert!(!is_loop(&headers, "comment"));
    }

    #[test]
    fn lengths_that_differ_are_malformed() {
        assert_eq!(content_length(&fields(&[("content-length", "5, 5")])), Ok(Some(5)));
        for bad in ["5, 6", "+5", "", "0x5", "99999999999999999999"] {
            let headers = [(CONTENT_LENGTH, HeaderValue::from_str(bad).unwrap())].into_iter().collect();
            assert_eq!(content_length(&headers), Err(MalformedLength), "{bad:?}");
        }
        assert_eq!(content_length(&fields(&[])), Ok(None));
    }

    #[test]
    fn chunks_outrank_a_length_and_no_other_coding_is_understood() {
        let chunked = ("transfer-encoding", " Chunked");
        assert_eq!(framing(&fields(&[chunked, ("content-length", "5")])), Ok(Framing::Chunked));
        assert_eq!(framing(&fields(&[("content-length", "5")])), Ok(Framing::Length(5)));
        assert_eq!(framing(&fields(&[])), Ok(Framing::Close));
        for coding in ["gzip", "gzip, chunked", "chunked, chunked", "identity", ""] {
            assert!(framing(&fields(&[("transfer-encoding", coding)])).is_err(), "{coding:?}");
        }
        assert!(framing(&fields(&[("content-length", "5"), ("content-length", "6")])).is_err());
    }

    #[test]
    fn forwards_are_counted_down_to_none() {
        let mut headers = fields(&[("max-forwards", "1")]);
        assert!(count_forward(&mut headers));
        assert_eq!(headers[MAX_FORWARDS], "0");
        assert!(!count_forward(&mut headers));
        assert!(count_forward(&mut fields(&[])) && count_forward(&mut fields(&[("max-forwards", "-1")])));
    }
}
