//! Cache-Control (RFC 9111 section 5.2) and its form for shared caches, CDN-Cache-Control (RFC 9213).

use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderName, PRAGMA};

/// RFC 9111 section 1.2.2: replaces a number that is too large.
const FOREVER: u32 = 1 << 31;

/// The targeted field that a shared cache before clients obeys ahead of Cache-Control.
pub const CDN_CACHE_CONTROL: HeaderName = HeaderName::from_static("cdn-cache-control");

/// The directives of one message that affect a shared cache. Ages are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Directives {
    /// Nothing may be stored.
    pub no_store: bool,
    /// Nothing may be used without validation. A form that names fields counts as the one that names none.
    pub no_cache: bool,
    /// For one user only. A form that names fields counts as the one that names none.
    pub private: bool,
    /// For all users.
    pub public: bool,
    /// Never used stale.
    pub must_revalidate: bool,
    /// Never used stale by a shared cache.
    pub proxy_revalidate: bool,
    /// Stored only if the status is understood; `no-store` is then ignored.
    pub must_understand: bool,
    /// Only a stored response is wanted.
    pub only_if_cached: bool,
    /// Freshness lifetime, or largest age.
    pub max_age: Option<u32>,
    /// Freshness lifetime in a shared cache.
    pub s_maxage: Option<u32>,
    /// Least remaining freshness.
    pub min_fresh: Option<u32>,
    /// Largest staleness.
    pub max_stale: Option<u32>,
    /// Largest staleness during validation (RFC 5861 section 3).
    pub stale_while_revalidate: Option<u32>,
    /// Largest staleness if the origin fails (RFC 5861 section 4).
    pub stale_if_error: Option<u32>,
}

impl Directives {
    /// The directives of a request: Cache-Control, or Pragma in its absence (RFC 9111 section 5.4).
    #[must_use]
    pub fn of_request(headers: &HeaderMap) -> Self {
        if headers.contains_key(CACHE_CONTROL) {
            return Self::read(headers, &CACHE_CONTROL).unwrap_or_default();
        }
        let pragma = headers.get_all(PRAGMA).iter().filter_map(|value| value.to_str().ok());
        let no_cache = pragma.flat_map(members).any(|member| member.trim().eq_ignore_ascii_case("no-cache"));
        Directives { no_cache, ..Self::default() }
    }

    /// The directives of a response, and whether they are from the targeted field, which outranks
    /// Cache-Control and Expires.
    #[must_use]
    pub fn of_response(headers: &HeaderMap) -> (Self, bool) {
        match headers.contains_key(&CDN_CACHE_CONTROL).then(|| Self::read(headers, &CDN_CACHE_CONTROL)) {
            // RFC 9213 section 2.2: an empty or malformed field counts as absent.
            Some(Ok(directives)) if !is_empty(headers, &CDN_CACHE_CONTROL) => (directives, true),
            _ => (Self::read(headers, &CACHE_CONTROL).unwrap_or_else(|readable| readable), false),
        }
    }

    /// Parses the field. `Err` has the readable part, if some is not readable.
    fn read(headers: &HeaderMap, name: &HeaderName) -> Result<Self, Self> {
        let (mut read, mut well_formed) = (Self::default(), true);
        for value in headers.get_all(name) {
            let Ok(value) = value.to_str() else {
                well_formed = false;
                // An unreadable member may forbid anything.
                read.no_store = true;
                continue;
            };
            for member in members(value).map(str::trim).filter(|member| !member.is_empty()) {
                well_formed &= read.take(member);
            }
        }
        if well_formed { Ok(read) } else { Err(read) }
    }

    /// Adds one directive. Returns whether its form was valid. Unknown ones are ignored.
    fn take(&mut self, member: &str) -> bool {
        let (name, argument) = match member.split_once('=') {
            Some((name, argument)) => (name.trim_end(), Some(argument.trim())),
            None => (member, None),
        };
        let mut well_formed = true;
        let mut seconds = |slot: &mut Option<u32>, absent: u32| {
            let given = match argument {
                None => Some(absent),
                Some(text) => delta_seconds(text),
            };
            well_formed = given.is_some();
            // An unreadable age means stale; of two different ones the stricter applies (RFC 9111 section
            // 4.2.1).
            let given = given.unwrap_or(0);
            *slot = Some(slot.map_or(given, |before| before.min(given)));
        };
        match name.to_ascii_lowercase().as_str() {
            "no-store" => self.no_store = true,
            "no-cache" => self.no_cache = true,
            "private" => self.private = true,
            "public" => self.public = true,
            "must-revalidate" => self.must_revalidate = true,
            "proxy-revalidate" => self.proxy_revalidate = true,
            "must-understand" => self.must_understand = true,
            "only-if-cached" => self.only_if_cached = true,
            "max-age" => seconds(&mut self.max_age, 0),
            "s-maxage" => seconds(&mut self.s_maxage, 0),
            "min-fresh" => seconds(&mut self.min_fresh, 0),
            "max-stale" => seconds(&mut self.max_stale, FOREVER),
            "stale-while-revalidate" => seconds(&mut self.stale_while_revalidate, 0),
            "stale-if-error" => seconds(&mut self.stale_if_error, 0),
            other => well_formed = other.bytes().all(is_token_byte),
        }
        well_formed
    }
}

/// Whether a list field has no members.
fn is_empty(headers: &HeaderMap, name: &HeaderName) -> bool {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(members).all(|member| member.trim().is_empty())
}

/// Non-negative seconds, quoted or not, at most [`FOREVER`]; `None` if it is no number.
pub fn delta_seconds(text: &str) -> Option<u32> {
    let digits = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().map_or(FOREVER, |seconds: u32| seconds.min(FOREVER)))
}

/// The members of a list field, split at commas outside quoted strings.
pub fn members(value: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    value.split(move |character| {
        let separates = character == ',' && !quoted;
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        separates
    })
}

/// RFC 9110 section 5.6.2.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn response(lines: &[(&'static str, &'static str)]) -> (Directives, bool) {
        let lines =
            lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        Directives::of_response(&lines.collect())
    }

    #[test]
    fn names_are_of_any_case_and_numbers_may_be_quoted_or_huge() {
        let (read, _) = response(&[("cache-control", "Max-Age=\"60\" , S-MAXAGE=99999999999999,public")]);
        assert_eq!((read.max_age, read.s_maxage, read.public), (Some(60), Some(FOREVER), true));
    }

    #[test]
    fn what_stands_in_quotes_is_no_directive() {
        let (read, _) = response(&[("cache-control", r#"ext="no-store, \", private", max-age=5"#)]);
        assert_eq!((read.no_store, read.private, read.max_age), (false, false, Some(5)));
    }

    #[test]
    fn an_unreadable_age_is_stale_and_of_two_the_stricter_holds() {
        assert_eq!(response(&[("cache-control", "max-age=soon")]).0.max_age, Some(0));
        assert_eq!(response(&[("cache-control", "max-age=-1")]).0.max_age, Some(0));
        assert_eq!(response(&[("cache-control", "max-age=100, max-age=7")]).0.max_age, Some(7));
    }

    #[test]
    fn the_targeted_field_outranks_the_general_one_unless_it_is_malformed() {
        let general = ("cache-control", "no-store");
        let (read, targeted) = response(&[general, ("cdn-cache-control", "max-age=600")]);
        assert_eq!((read.no_store, read.max_age, targeted), (false, Some(600), true));
        let (read, targeted) = response(&[general, ("cdn-cache-control", "max-age=\"x")]);
        assert_eq!((read.no_store, read.max_age, targeted), (true, None, false));
        let (read, targeted) = response(&[general, ("cdn-cache-control", " ,")]);
        assert_eq!((read.no_store, targeted), (true, false), "an empty one says nothing");
    }

    #[test]
    fn pragma_speaks_only_where_cache_control_is_silent() {
        let of = |lines: &[(&str, &'static str)]| {
            let lines =
                lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            Directives::of_request(&lines.collect()).no_cache
        };
        assert!(of(&[("pragma", "No-Cache")]));
        assert!(!of(&[("pragma", "no-cache"), ("cache-control", "max-age=1")]));
    }
}
