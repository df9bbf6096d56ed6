//! Validators and conditional requests: RFC 9110 sections 8.8 and 13, RFC 9111 section 4.3.

use super::UnixSeconds;
use super::directives::members;
use super::freshness::date_of;
use hyper::header::{
    AGE, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, HeaderMap, HeaderName,
    HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, LAST_MODIFIED, TRAILER, TRANSFER_ENCODING,
};

/// RFC 9110 section 8.8.2.2: time after the last change from which its date is a strong validator.
const STRONG_DATE_SECONDS: u64 = 60;
/// Fields that a 304 does not update, because they describe the stored content (RFC 9111 section 3.2).
const OF_THE_CONTENT: [HeaderName; 6] =
    [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_TYPE, CONTENT_RANGE, TRANSFER_ENCODING, TRAILER];

/// A validator that identifies the content exactly, so that parts may be joined.
#[must_use]
pub fn strong_validator(response: &HeaderMap) -> Option<HeaderValue> {
    if let Some(etag) = response.get(ETAG) {
        return is_strong(etag.as_bytes()).then(|| etag.clone());
    }
    let (date, changed) = (date_of(response, &DATE)?, date_of(response, &LAST_MODIFIED)?);
    (date >= changed + STRONG_DATE_SECONDS).then(|| response.get(LAST_MODIFIED).cloned()).flatten()
}

fn is_strong(etag: &[u8]) -> bool {
    etag.len() >= 2 && etag.starts_with(b"\"") && etag.ends_with(b"\"")
}

/// Makes a request conditional on the stored response. Returns `false` without a validator.
pub fn make_conditional(request: &mut HeaderMap, stored: &HeaderMap) -> bool {
    remove_conditions(request);
    let etag = stored.get(ETAG).cloned();
    let changed = stored.get(LAST_MODIFIED).cloned();
    let asks = etag.is_some() || changed.is_some();
    etag.map(|etag| request.insert(IF_NONE_MATCH, etag));
    changed.map(|changed| request.insert(IF_MODIFIED_SINCE, changed));
    asks
}

/// Removes the conditions that a cache evaluates itself.
pub fn remove_conditions(request: &mut HeaderMap) {
    for condition in [IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_RANGE] {
        request.remove(condition);
    }
}

/// Whether the client already has the stored content (RFC 9110 section 13.2.2), so that 304 is the answer.
#[must_use]
pub fn is_not_modified(request: &HeaderMap, stored: &HeaderMap, received: UnixSeconds) -> bool {
    if request.contains_key(IF_NONE_MATCH) {
        let wanted = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let etag = stored.get(ETAG).and_then(|etag| etag.to_str().ok());
        return wanted
            .flat_map(members)
            .map(str::trim)
            .any(|wanted| wanted == "*" || etag.is_some_and(|etag| opaque(etag) == opaque(wanted)));
    }
    let Some(since) = date_of(request, &IF_MODIFIED_SINCE) else { return false };
    let changed = date_of(stored, &LAST_MODIFIED).or_else(|| date_of(stored, &DATE));
    changed.unwrap_or(received) <= since
}

/// The opaque tag, for the weak comparison (RFC 9110 section 8.8.3.2).
fn opaque(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}

/// Whether a Range applies despite an If-Range (RFC 9110 section 13.1.5).
#[must_use]
pub fn range_applies(request: &HeaderMap, stored: &HeaderMap) -> bool {
    let Some(condition) = request.get(IF_RANGE) else { return true };
    strong_validator(stored).is_some_and(|validator| validator == *condition)
}

/// Whether `answer` (a 206 to be joined) has the same content as `stored`.
#[must_use]
pub fn is_same_content(stored: &HeaderMap, answer: &HeaderMap) -> bool {
    let known = strong_validator(stored);
    known.is_some() && known == strong_validator(answer)
}

/// Whether a 304 is about the stored response (RFC 9111 section 4.3.4): it has no other tag, or without a tag
/// no other date.
#[must_use]
pub fn speaks_of(stored: &HeaderMap, not_modified: &HeaderMap) -> bool {
    let tag = |headers: &HeaderMap| Some(opaque(headers.get(ETAG)?.to_str().ok()?).to_owned());
    if let (Some(stored), Some(said)) = (tag(stored), tag(not_modified)) {
        return stored == said;
    }
    let changed = (stored.get(LAST_MODIFIED), not_modified.get(LAST_MODIFIED));
    !matches!(changed, (Some(stored), Some(said)) if stored != said)
}

/// Whether the answer to a HEAD matches the stored response (RFC 9111 section 4.3.5): the same validators,
/// and the same length if given. Otherwise the stored response is outdated.
#[must_use]
pub fn describes(stored: &HeaderMap, length: Option<u64>, answer: &HeaderMap) -> bool {
    let agrees = |name: &HeaderName| answer.get(name).is_none_or(|said| stored.get(name) == Some(said));
    let said = super::fields::content_length(answer);
    let long = matches!((said, length), (Ok(Some(said)), Some(length)) if said != length);
    agrees(&ETAG) && agrees(&LAST_MODIFIED) && said.is_ok() && !long
}

/// Updates a stored head from a 304, or from the answer to a HEAD (RFC 9111 section 3.2).
pub fn freshen(stored: &mut HeaderMap, not_modified: &HeaderMap) {
    // They gave the age of the renewed answer.
    stored.remove(AGE);
    stored.remove(DATE);
    for name in not_modified.keys().filter(|name| !OF_THE_CONTENT.contains(name)) {
        stored.remove(name);
        for value in not_modified.get_all(name) {
            stored.append(name, value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_what_names_a_content_exactly_joins_parts() {
        assert_eq!(strong_validator(&fields(&[("etag", "\"a\"")])).unwrap(), "\"a\"");
        assert_eq!(strong_validator(&fields(&[("etag", "W/\"a\"")])), None);
        let changed = ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(strong_validator(&fields(&[changed])), None);
        assert!(strong_validator(&fields(&[changed, ("date", "Sun, 06 Nov 1994 08:50:37 GMT")])).is_some());
        assert_eq!(strong_validator(&fields(&[changed, ("date", "Sun, 06 Nov 1994 08:50:36 GMT")])), None);
        assert!(!is_same_content(&fields(&[]), &fields(&[])), "nothing names nothing");
    }

    #[test]
    fn a_tag_outranks_a_date_and_weak_tags_match() {
        let stored = fields(&[("etag", "W/\"a\""), ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")]);
        let has = |lines: &[(&str, &'static str)]| is_not_modified(&fields(lines), &stored, 0);
        assert!(has(&[("if-none-match", "\"x\", \"a\"")]));
        assert!(has(&[("if-none-match", "*")]));
        let since = ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT");
        assert!(!has(&[("if-none-match", "\"x\""), since]));
        assert!(has(&[since]));
        assert!(!has(&[("if-modified-since", "Sun, 06 Nov 1994 08:49:36 GMT")]));
        assert!(!has(&[("if-modified-since", "yesterday")]));
    }

    #[test]
    fn a_304_renews_the_head_but_not_what_describes_the_content() {
        let mut stored = fields(&[("etag", "\"a\""), ("content-length", "5"), ("x", "1"), ("x", "2")]);
        freshen(&mut stored, &fields(&[("x", "3"), ("content-length", "0"), ("cache-control", "max-age=9")]));
        assert_eq!(
            stored,
            fields(&[("etag", "\"a\""), ("content-length", "5"), ("x", "3"), ("cache-control", "max-age=9")])
        );
    }

    #[test]
    fn age_and_date_are_those_of_the_answer_that_renewed() {
        let old = [("age", "900"), ("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("etag", "\"a\"")];
        let mut stored = fields(&old);
        freshen(&mut stored, &fields(&[("etag", "\"a\"")]));
        assert_eq!(stored, fields(&[("etag", "\"a\"")]));
    }

    #[test]
    fn a_304_or_a_head_about_something_else_is_known() {
        let date = ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT");
        let stored = fields(&[("etag", "\"a\""), date]);
        assert!(speaks_of(&stored, &fields(&[])) && speaks_of(&stored, &fields(&[("etag", "W/\"a\"")])));
        assert!(!speaks_of(&stored, &fields(&[("etag", "\"b\"")])));
        assert!(!speaks_of(&stored, &fields(&[("last-modified", "Sun, 06 Nov 1994 08:49:38 GMT")])));
        assert!(describes(&stored, Some(5), &fields(&[date, ("content-length", "5")])));
        assert!(!describes(&stored, Some(5), &fields(&[date, ("content-length", "6")])));
        assert!(!describes(&stored, Some(5), &fields(&[("etag", "\"b\"")])));
        assert!(!describes(&fields(&[]), None, &fields(&[("etag", "\"b\"")])), "it has a validator now");
    }

    #[test]
    fn a_range_counts_only_of_the_content_that_was_meant() {
        let stored = fields(&[("etag", "\"a\"")]);
        assert!(range_applies(&fields(&[]), &stored));
        assert!(range_applies(&fields(&[("if-range", "\"a\"")]), &stored));
        assert!(!range_applies(&fields(&[("if-range", "\"b\"")]), &stored));
        assert!(!range_applies(&fields(&[("if-range", "W/\"a\"")]), &fields(&[("etag", "W/\"a\"")])));
    }
}
