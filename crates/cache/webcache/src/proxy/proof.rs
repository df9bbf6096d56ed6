//! Proofs between routers, in each request to another router and in the head of its answer. Without the
//! network's key, the routers' door serves nobody, and a host that took a router's address is not believed.
//!
//! ```text
//! Overheard-Proof: NONCE MAC        of a request, over the nonce, the method and the URI
//! Overheard-Proof: MAC              of an answer, over the request's nonce, the URI, the status and what decides of keeping
//! ```
//!
//! A proof is hexadecimal. Its MAC is BLAKE2s of 16 octets under a key derived from the network's. A replayed
//! request gets only what its first answer revealed. The proof does not cover the content in transit; the
//! tunnel protects it.

use crate::selection::message::NetworkKey;
use crate::semantics::directives::CDN_CACHE_CONTROL;
use crate::semantics::fields::PROOF;
use blake2::digest::Mac as _;
use hyper::header::{
    AGE, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, EXPIRES, HeaderMap, HeaderName,
    HeaderValue, LAST_MODIFIED, LOCATION, VARY,
};
use hyper::{Method, StatusCode};

/// Fields covered by an answer's proof, beside its status.
const PROVEN: [HeaderName; 11] = [
    AGE,
    CACHE_CONTROL,
    CDN_CACHE_CONTROL,
    CONTENT_ENCODING,
    CONTENT_RANGE,
    CONTENT_TYPE,
    ETAG,
    EXPIRES,
    LAST_MODIFIED,
    LOCATION,
    VARY,
];

/// Identifies a request.
pub(crate) type Nonce = [u8; 8];

/// Makes proofs and checks them.
#[derive(Clone)]
pub struct Prover(NetworkKey);

impl std::fmt::Debug for Prover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prover").finish_non_exhaustive()
    }
}

impl Prover {
    /// A prover from the routers' shared bytes.
    #[must_use]
    pub fn new(shared: &[u8]) -> Self {
        Prover(NetworkKey::for_requests(shared))
    }

    /// The proof of a request.
    pub(crate) fn of_request(&self, nonce: Nonce, method: &Method, uri: &str) -> Option<HeaderValue> {
        let mac = self.mac_of_request(nonce, method, uri)?;
        HeaderValue::try_from(format!("{} {}", hex(&nonce), hex(&mac.finalize().into_bytes()))).ok()
    }

    /// The nonce of a request with a valid proof.
    pub(crate) fn read_request(&self, headers: &HeaderMap, method: &Method, uri: &str) -> Option<Nonce> {
        let (nonce, mac) = headers.get(PROOF)?.to_str().ok()?.split_once(' ')?;
        let nonce = unhex(nonce)?;
        let said: [u8; 16] = unhex(mac)?;
        self.mac_of_request(nonce, method, uri)?.verify_slice(&said).ok().map(|()| nonce)
    }

    /// The proof of an answer.
    pub(crate) fn of_answer(
        &self,
        nonce: Nonce,
        uri: &str,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<HeaderValue> {
        let mac = self.mac_of_answer(nonce, uri, status, headers)?;
        HeaderValue::try_from(hex(&mac.finalize().into_bytes())).ok()
    }

    /// Whether an answer to the request with this nonce has a valid proof.
    pub(crate) fn is_proven(&self, nonce: Nonce, uri: &str, status: StatusCode, headers: &HeaderMap) -> bool {
        let said = headers.get(PROOF).and_then(|said| unhex::<16>(said.to_str().ok()?));
        let mac = self.mac_of_answer(nonce, uri, status, headers);
        said.zip(mac).is_some_and(|(said, mac)| mac.verify_slice(&said).is_ok())
    }

    fn mac_of_request(
        &self,
        nonce: Nonce,
        method: &Method,
        uri: &str,
    ) -> Option<crate::selection::message::Check> {
        let mut mac = self.0.mac(b"request")?;
        for part in [&nonce[..], method.as_str().as_bytes(), b" ", uri.as_bytes()] {
            mac.update(part);
        }
        Some(mac)
    }

    fn mac_of_answer(
        &self,
        nonce: Nonce,
        uri: &str,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<crate::selection::message::Check> {
        let mut mac = self.0.mac(b"answer")?;
        for part in [&nonce[..], uri.as_bytes(), b" ", status.as_str().as_bytes()] {
            mac.update(part);
        }
        for name in &PROVEN {
            for value in headers.get_all(name) {
                // No field contains a line's end, so the encoding is unambiguous.
                for part in [b"\n", name.as_str().as_bytes(), b":", value.as_bytes()] {
                    mac.update(part);
                }
            }
        }
        Some(mac)
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(text.get(at..at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const URI: &str = "http://a/x";

    fn with_proof(proof: HeaderValue) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(PROOF, proof);
        headers
    }

    #[test]
    fn a_request_is_proven_by_the_networks_key_for_itself_alone() {
        let (ours, other) = (Prover::new(b"shared"), Prover::new(b"other"));
        let headers = with_proof(ours.of_request([7; 8], &Method::GET, URI).unwrap());
        assert_eq!(ours.read_request(&headers, &Method::GET, URI), Some([7; 8]));
        assert_eq!(other.read_request(&headers, &Method::GET, URI), None);
        assert_eq!(ours.read_request(&headers, &Method::GET, "http://a/y"), None);
        assert_eq!(ours.read_request(&headers, &Method::HEAD, URI), None);
        for bad in ["", "00", "zz 00", "0707070707070707 00", "0707070707070707", "é"] {
            let Ok(bad) = HeaderValue::from_bytes(bad.as_bytes()) else { continue };
            assert_eq!(ours.read_request(&with_proof(bad), &Method::GET, URI), None);
        }
    }

    #[test]
    fn an_answer_is_proven_for_its_request_and_its_fields() {
        let prover = Prover::new(b"shared");
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, HeaderValue::from_static("\"a\""));
        let proof = prover.of_answer([7; 8], URI, StatusCode::OK, &headers).unwrap();
        headers.insert(PROOF, proof);
        assert!(prover.is_proven([7; 8], URI, StatusCode::OK, &headers));
        assert!(!prover.is_proven([8; 8], URI, StatusCode::OK, &headers), "an answer to another request");
        assert!(!prover.is_proven([7; 8], URI, StatusCode::NOT_MODIFIED, &headers));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=9"));
        assert!(!prover.is_proven([7; 8], URI, StatusCode::OK, &headers));
        assert!(!prover.is_proven([7; 8], URI, StatusCode::OK, &HeaderMap::new()));
    }
}
