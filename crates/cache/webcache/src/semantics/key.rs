//! The key of a response: the target URI of its request (RFC 9110 section 7.1), normalised (RFC 3986 section
//! 6.2).

use hyper::Uri;
use hyper::header::{HOST, HeaderMap};
use hyper::http::uri::Authority;
use std::net::Ipv6Addr;
use std::sync::Arc;

/// The longest URI that is stored or searched for.
const LONGEST_BYTES: usize = 8192;

/// A normalised `http` URI: host in lower case, no port 80, a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

/// Reason why a request has no target (status 400).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTarget {
    /// No Host where one is required, several, or not a host.
    #[error("a request needs one valid Host")]
    Host,
    /// Not `http`.
    #[error("only http can be cached")]
    Scheme,
    /// Longer than the bound.
    #[error("the URI is too long")]
    Length,
}

impl Key {
    /// The key of a request. The URI's own authority outranks Host (RFC 9112 section 3.2.2).
    pub fn of(uri: &Uri, headers: &HeaderMap) -> Result<Self, NoTarget> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next();
        if hosts.next().is_some() {
            return Err(NoTarget::Host);
        }
        if let (Some(host), None, None) = (host, uri.authority(), uri.scheme())
            && let Some(key) =
                Self::plain(host.as_bytes(), uri.path_and_query().map_or("/", |path| path.as_str()))
        {
            return Ok(key);
        }
        let said = match host {
            Some(host) => Some(host.to_str().ok().and_then(authority).ok_or(NoTarget::Host)?),
            None => None,
        };
        if uri.scheme_str().is_some_and(|scheme| !scheme.eq_ignore_ascii_case("http")) {
            return Err(NoTarget::Scheme);
        }
        let authority = match uri.authority() {
            Some(own) => authority(own.as_str()).ok_or(NoTarget::Host)?,
            None => said.ok_or(NoTarget::Host)?,
        };
        Self::at(&authority, uri.path_and_query().map_or("/", |path| path.as_str()))
    }

    /// The common case without parsing an authority: a host in lower case, with no port or a numeric one.
    fn plain(host: &[u8], path: &str) -> Option<Self> {
        let host = std::str::from_utf8(host).ok()?;
        let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
        let port = match port {
            None => 80,
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.starts_with('0') => {
                port.parse::<u16>().ok()?
            }
            Some(_) => return None,
        };
        let host = if port == 80 { name } else { host };
        let length = "http://".len() + host.len() + path.len();
        let right = !name.is_empty() && name.bytes().all(plain) && path.starts_with('/');
        if !right || length > LONGEST_BYTES {
            return None;
        }
        let mut text = String::with_capacity(length);
        for part in ["http://", host, path] {
            text.push_str(part);
        }
        Some(Key(text.into()))
    }

    /// The key with `rest` appended, for another URI's path; `None` if it is too long.
    #[must_use]
    pub fn under(&self, rest: &str) -> Option<Self> {
        let text = [self.as_str(), rest].concat();
        (text.len() <= LONGEST_BYTES).then(|| Key(text.into()))
    }

    /// Parses a whole URI from a peer.
    pub fn parse(text: &str) -> Result<Self, NoTarget> {
        let uri: Uri = text.parse().map_err(|_| NoTarget::Host)?;
        if uri.scheme_str().is_none() {
            return Err(NoTarget::Scheme);
        }
        Self::of(&uri, &HeaderMap::new())
    }

    fn at(authority: &Authority, path: &str) -> Result<Self, NoTarget> {
        let host = authority.host().to_ascii_lowercase();
        let is_host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(address) => address.parse::<Ipv6Addr>().is_ok(),
            // reg-name, RFC 3986 section 3.2.2
            None => {
                let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte);
                !host.is_empty() && host.bytes().all(belongs)
            }
        };
        if !is_host || authority.port_u16() == Some(0) {
            return Err(NoTarget::Host);
        }
        let port = authority.port_u16().filter(|port| *port != 80);
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        let path = if path.starts_with('/') { path } else { "/" };
        let text = format!("http://{host}{port}{path}");
        if text.len() > LONGEST_BYTES { Err(NoTarget::Length) } else { Ok(Key(text.into())) }
    }

    /// The URI.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn after_scheme(&self) -> &str {
        self.0.get("http://".len()..).unwrap_or_default()
    }

    /// Host and port; the port only if it is not 80.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.after_scheme().split('/').next().unwrap_or_default()
    }

    /// The host, without the brackets of an IPv6 address.
    #[must_use]
    pub fn host(&self) -> &str {
        let authority = self.authority();
        match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address,
            None => authority.split(':').next().unwrap_or_default(),
        }
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        let authority = self.authority();
        let after = authority.rsplit_once(']').map_or(authority, |(_, after)| after);
        after.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(80)
    }

    /// The path with its query: the target in origin-form.
    #[must_use]
    pub fn path_and_query(&self) -> &str {
        let rest = self.after_scheme();
        rest.find('/').map_or("/", |at| rest.get(at..).unwrap_or("/"))
    }
}

/// An authority without user information and with a host.
fn authority(text: &str) -> Option<Authority> {
    let authority: Authority = text.parse().ok()?;
    let port_ok = match authority
        .as_str()
        .rsplit_once(']')
        .map_or(authority.as_str(), |(_, after)| after)
        .rsplit_once(':')
    {
        Some((_, port)) => port.parse::<u16>().is_ok_and(|port| port > 0),
        None => true,
    };
    (!authority.host().is_empty() && !text.contains('@') && port_ok).then_some(authority)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn key(uri: &str, hosts: &[&'static str]) -> Result<String, NoTarget> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, HeaderValue::from_static(host));
        }
        Key::of(&uri.parse().unwrap(), &headers).map(|key| key.as_str().to_owned())
    }

    #[test]
    fn one_resource_has_one_key() {
        for (uri, host) in
            [("/a?b", "Example.ORG"), ("/a?b", "example.org:80"), ("http://example.org/a?b", "x")]
        {
            assert_eq!(key(uri, &[host]).unwrap(), "http://example.org/a?b");
        }
        assert_eq!(key("/", &["[fd00::1]:8080"]).unwrap(), "http://[fd00::1]:8080/");
    }

    #[test]
    fn the_short_way_to_a_key_and_the_long_one_end_alike() {
        for host in [
            "a", "a.b-c.d1", "a:80", "a:8080", "a:", "a:080", "a:65536", "a:0", "a_b", "A", "", "a:b",
            "[::1]", "a%20", "-", "a.",
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).unwrap());
            let long =
                authority(host).ok_or(NoTarget::Host).and_then(|authority| Key::at(&authority, "/p?q"));
            let key = Key::of(&"/p?q".parse().unwrap(), &headers);
            assert_eq!(key, long, "{host:?}");
        }
    }

    #[test]
    fn a_request_without_one_clear_host_has_none() {
        assert_eq!(key("/", &[]), Err(NoTarget::Host));
        assert_eq!(key("/", &["a", "a"]), Err(NoTarget::Host));
        assert_eq!(key("http://a/", &["b", "c"]), Err(NoTarget::Host));
        for host in ["user@a", "a b", "", "a:0", "a:99999", "a/b"] {
            assert_eq!(key("/", &[host]), Err(NoTarget::Host), "{host:?}");
        }
        assert_eq!(key("https://a/", &["a"]), Err(NoTarget::Scheme));
    }

    #[test]
    fn the_parts_of_a_key_are_found_again() {
        let key = Key::parse("http://[fd00::1]:8080/p?q").unwrap();
        assert_eq!((key.host(), key.port(), key.path_and_query()), ("fd00::1", 8080, "/p?q"));
        let key = Key::parse("http://a").unwrap();
        assert_eq!((key.authority(), key.port(), key.path_and_query()), ("a", 80, "/"));
    }
}
