//! The requests that a stored response answers, beside its URL: RFC 9111 section 4.1.

use super::directives::members;
use hyper::header::{HeaderMap, HeaderName, VARY};

/// The most nominated fields; more count as `*`.
const MOST_FIELDS: usize = 16;

/// The nominated fields with the request's values, by name.
pub type Nominated = Vec<(HeaderName, String)>;

/// The fields that the response's Vary nominates, with the request's values; `None` if it answers no other
/// request.
#[must_use]
pub fn nominated(request: &HeaderMap, response: &HeaderMap) -> Option<Nominated> {
    let mut nominated = Nominated::new();
    for value in response.get_all(VARY) {
        for name in members(value.to_str().ok()?).map(str::trim).filter(|name| !name.is_empty()) {
            // `*` is not a valid name either.
            let name: HeaderName = name.parse().ok().filter(|_| name != "*")?;
            if nominated.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let said = value_of(request, &name);
            nominated.push((name, said));
        }
    }
    nominated.sort_by(|(a, _), (b, _)| a.as_str().cmp(b.as_str()));
    (nominated.len() <= MOST_FIELDS).then_some(nominated)
}

/// Whether a request has the same values.
#[must_use]
pub fn matches(nominated: &Nominated, request: &HeaderMap) -> bool {
    nominated.iter().all(|(name, value)| value_of(request, name) == *value)
}

/// The field's lines as one list, without whitespace around commas.
fn value_of(headers: &HeaderMap, name: &HeaderName) -> String {
    let lines = headers.get_all(name).iter().map(|line| String::from_utf8_lossy(line.as_bytes()));
    let members: Vec<String> = lines
        .flat_map(|line| members(&line).map(|member| member.trim().to_owned()).collect::<Vec<String>>())
        .filter(|member| !member.is_empty())
        .collect();
    members.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn fields(lines: &[(&str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn requests_match_by_what_was_nominated_however_it_was_written() {
        let first = fields(&[("accept-encoding", "gzip,br"), ("user-agent", "a")]);
        let nominated =
            nominated(&first, &fields(&[("vary", "Accept-Encoding"), ("vary", "Accept")])).unwrap();
        assert!(matches(&nominated, &fields(&[("accept-encoding", "gzip"), ("accept-encoding", " br")])));
        assert!(!matches(&nominated, &fields(&[("accept-encoding", "br")])));
        assert!(!matches(&nominated, &fields(&[("accept-encoding", "gzip,br"), ("accept", "text/html")])));
    }

    #[test]
    fn a_star_and_what_cannot_be_read_match_nothing() {
        for vary in ["*", "accept, *", "a b"] {
            assert_eq!(nominated(&HeaderMap::new(), &fields(&[("vary", vary)])), None, "{vary}");
        }
    }
}
