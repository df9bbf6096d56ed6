//! Access control.

use super::{Answer, said};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{AUTHORIZATION, HOST, HeaderValue, WWW_AUTHENTICATE};
use hyper::{HeaderMap, StatusCode};
use std::net::IpAddr;

/// The answer to an unauthorized request.
pub fn refused(fields: &HeaderMap, token: Option<&str>) -> Option<Answer> {
    match token {
        Some(token) if !bears(fields, token) => {
            let mut refused = said(StatusCode::UNAUTHORIZED, "text/plain", "a token is needed\n");
            let ways = HeaderValue::from_static(
                "Basic realm=\"overheard: any user, the token as password\", Bearer",
            );
            refused.headers_mut().insert(WWW_AUTHENTICATE, ways);
            Some(refused)
        }
        None if !is_for_this_machine(fields) => {
            let why = "ask by address, or for localhost\n";
            Some(said(StatusCode::MISDIRECTED_REQUEST, "text/plain", why))
        }
        _ => None,
    }
}

/// Whether the token is present, in either form.
fn bears(fields: &HeaderMap, token: &str) -> bool {
    let Some(given) = fields.get(AUTHORIZATION).map(HeaderValue::as_bytes) else { return false };
    if let Some(given) = given.strip_prefix(b"Bearer ") {
        return is_same(given, token.as_bytes());
    }
    let decoded = given.strip_prefix(b"Basic ").and_then(|given| STANDARD.decode(given).ok());
    let Some(decoded) = decoded else { return false };
    let password = decoded.iter().position(|byte| *byte == b':').map(|colon| &decoded[colon + 1..]);
    password.is_some_and(|password| is_same(password, token.as_bytes()))
}

/// Compares in constant time.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    let differs = given.iter().zip(token).fold(0, |differs, (a, b)| differs | (a ^ b));
    given.len() == token.len() && differs == 0
}

/// Whether the request is for an address or for `localhost`, and not for a name that a third party could
/// point here.
fn is_for_this_machine(fields: &HeaderMap) -> bool {
    let Some(host) = fields.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}
