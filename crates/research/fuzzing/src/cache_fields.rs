//! Fields of HTTP messages that a cache acts on.

use crate::Seed;
use webcache::semantics::directives::{Directives, delta_seconds, members};
use webcache::semantics::key::Key;
use webcache::semantics::packages;
use webcache::semantics::range::{ByteRange, content_range, parse_content_range, request_for};

/// Each line is taken for a Range, a Content-Range, a URI and a list. Ranges stay within their content and
/// are written as they were read; a URI's key is the key of itself.
pub fn check(bytes: &[u8]) -> bool {
    let mut accepted = false;
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(range) = ByteRange::parse(line) {
            accepted = true;
            for length in [0, 1, 1000, u64::MAX] {
                let Some(bytes) = range.of(length) else { continue };
                assert!(bytes.start < bytes.end && bytes.end <= length);
                assert!(ByteRange::parse(request_for(&bytes).as_bytes()).is_some());
                let written = content_range(&bytes, length);
                assert_eq!(parse_content_range(written.as_bytes()), Some((bytes, Some(length))));
            }
        }
        if let Some((part, length)) = parse_content_range(line) {
            accepted = true;
            assert!(part.start < part.end && length.is_none_or(|length| part.end <= length));
        }
        let Ok(text) = std::str::from_utf8(line) else { continue };
        if let Ok(key) = Key::parse(text) {
            accepted = true;
            assert_eq!(Key::parse(key.as_str()).as_ref(), Ok(&key));
            assert!(key.path_and_query().starts_with('/') && !key.host().is_empty() && key.port() > 0);
            assert_eq!(format!("http://{}{}", key.authority(), key.path_and_query()), key.as_str());
            let _ = packages::kind_of(key.path_and_query());
        }
        let parts: Vec<&str> = members(text).collect();
        assert_eq!(parts.join(","), text);
        assert!(delta_seconds(text).is_none_or(|seconds| seconds <= 1 << 31));
        if let Ok(value) = text.parse() {
            let headers = [(webcache::semantics::directives::CDN_CACHE_CONTROL, value)].into_iter().collect();
            let (said, targeted) = Directives::of_response(&headers);
            assert!(targeted || said == Directives::default(), "what is malformed is not there");
            accepted |= targeted;
        }
    }
    accepted
}

/// Usual ones.
pub fn seeds() -> Vec<Seed> {
    let text = |name, text: &str| Seed { name, bytes: text.as_bytes().to_vec() };
    vec![
        text("ranges", "bytes=0-99\nbytes=5-\nbytes=-5"),
        text("content-range", "bytes 5-9/10\nbytes 5-9/*"),
        text("uris", "http://Example.org:80/a?b\nhttp://[fd00::1]:8080/"),
        text("directives", "max-age=60, private=\"a, b\", stale-while-revalidate=5"),
    ]
}
