//! Whether a response may be stored, and whether a stored one may be used: RFC 9111 sections 3 and 4.

use super::UnixSeconds;
use super::directives::Directives;
use hyper::header::{AGE, AUTHORIZATION, DATE, EXPIRES, HeaderMap, LAST_MODIFIED, SET_COOKIE};
use hyper::{Method, StatusCode};
use serde::{Deserialize, Serialize};

/// Heuristic lifetime: a tenth of the time since the last change (RFC 9111 section 4.2.2), at most a day.
const HEURISTIC_PART: u64 = 10;
const HEURISTIC_SECONDS: u64 = 86_400;
/// Longest lifetime.
const LONGEST_SECONDS: u64 = 1 << 31;

/// Permitted uses of a stored response, decided when it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freshness {
    /// Time of its reception.
    pub received: UnixSeconds,
    /// Its age at reception (RFC 9111 section 4.2.3: corrected initial age), in seconds.
    pub initial_age: u32,
    /// Its freshness lifetime in seconds.
    pub lifetime: u32,
    /// Largest staleness during validation, in seconds.
    pub stale_while_revalidate: u32,
    /// Largest staleness if the origin answers 500, 502, 503 or 504, in seconds; `None` if the origin gives
    /// no limit.
    pub stale_if_error: Option<u32>,
    /// Never used stale.
    pub must_revalidate: bool,
    /// Never used without validation, fresh or not.
    pub always_validate: bool,
}

/// Use of a stored response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Serve it.
    Fresh,
    /// Serve it, and validate it in parallel.
    WhileRevalidating,
    /// Validate it first.
    Validate,
}

/// Whether a shared cache may store the response to a request of this method and these headers.
#[must_use]
pub fn is_storable(method: &Method, request: &HeaderMap, status: StatusCode, response: &HeaderMap) -> bool {
    let (says, targeted) = Directives::of_response(response);
    let understood = is_understood(status);
    let forbidden = says.no_store && !(says.must_understand && understood)
        || says.private
        || Directives::of_request(request).no_store;
    // RFC 9111 section 3.5.
    let for_all = says.public || says.s_maxage.is_some();
    let authorized = !request.contains_key(AUTHORIZATION) || for_all || says.must_revalidate;
    let shared = for_all || targeted && says.max_age.is_some();
    // A cookie for one user is not for another, whatever other directives are missing.
    let impersonal = !response.contains_key(SET_COOKIE) || shared;
    let explicit = says.public || says.max_age.is_some() || says.s_maxage.is_some();
    let explicit = explicit || !targeted && response.contains_key(EXPIRES);
    *method == Method::GET
        && understood
        && !forbidden
        && authorized
        && impersonal
        && (explicit || is_heuristically_cacheable(status))
}

/// Final statuses whose meaning a cache knows. The store keeps partial contents separately.
fn is_understood(status: StatusCode) -> bool {
    is_heuristically_cacheable(status) || matches!(status.as_u16(), 302 | 303 | 307 | 400 | 403 | 500..=504)
}

/// Heuristically cacheable statuses: RFC 9110 section 15.1, without 206.
fn is_heuristically_cacheable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

impl Freshness {
    /// The freshness of a response that was requested at `asked` and received at `received`.
    #[must_use]
    pub fn of(status: StatusCode, response: &HeaderMap, asked: UnixSeconds, received: UnixSeconds) -> Self {
        let (says, targeted) = Directives::of_response(response);
        let date = date_of(response, &DATE).unwrap_or(received);
        let age_value = response.get(AGE).and_then(|age| age.to_str().ok()).map_or(0, |age| {
            let first = age.split(',').next().unwrap_or_default().trim();
            super::directives::delta_seconds(first).map_or(0, u64::from)
        });
        let apparent_age = received.saturating_sub(date);
        let initial_age = apparent_age.max(age_value + received.saturating_sub(asked));
        let explicit = says.s_maxage.or(says.max_age).map(u64::from);
        let expires = || {
            // An invalid Expires is in the past (RFC 9111 section 5.3).
            let given = response.contains_key(EXPIRES) && !targeted;
            given.then(|| date_of(response, &EXPIRES).map_or(0, |expires| expires.saturating_sub(date)))
        };
        let heuristic = || {
            let usable = is_heuristically_cacheable(status) || says.public;
            let changed = date_of(response, &LAST_MODIFIED).filter(|_| usable)?;
            Some((date.saturating_sub(changed) / HEURISTIC_PART).min(HEURISTIC_SECONDS))
        };
        let lifetime = explicit.or_else(expires).or_else(heuristic).unwrap_or(0);
        let short = |seconds: u64| u32::try_from(seconds.min(LONGEST_SECONDS)).unwrap_or(u32::MAX);
        Freshness {
            received,
            initial_age: short(initial_age),
            lifetime: short(lifetime),
            stale_while_revalidate: says.stale_while_revalidate.unwrap_or(0),
            stale_if_error: says.stale_if_error,
            must_revalidate: says.must_revalidate || says.proxy_revalidate || says.s_maxage.is_some(),
            always_validate: says.no_cache,
        }
    }

    /// Its age in seconds (RFC 9111 section 4.2.3).
    #[must_use]
    pub fn age(&self, now: UnixSeconds) -> u64 {
        u64::from(self.initial_age) + now.saturating_sub(self.received)
    }

    fn staleness(&self, now: UnixSeconds) -> u64 {
        self.age(now).saturating_sub(u64::from(self.lifetime))
    }

    /// Whether it is fresh, for any request.
    #[must_use]
    pub fn is_fresh(&self, now: UnixSeconds) -> bool {
        self.age(now) < u64::from(self.lifetime)
    }

    /// Its use for a request with these directives.
    #[must_use]
    pub fn reuse(&self, request: &Directives, now: UnixSeconds) -> Reuse {
        let age = self.age(now);
        if self.always_validate
            || request.no_cache
            || request.max_age.is_some_and(|most| age > u64::from(most))
        {
            return Reuse::Validate;
        }
        let wanted_until = age + u64::from(request.min_fresh.unwrap_or(0));
        if self.is_fresh(now) && wanted_until < u64::from(self.lifetime) {
            return Reuse::Fresh;
        }
        if self.must_revalidate || request.min_fresh.is_some() {
            return Reuse::Validate;
        }
        let staleness = self.staleness(now);
        if request.max_stale.is_some_and(|most| staleness <= u64::from(most)) {
            return Reuse::Fresh;
        }
        if staleness <= u64::from(self.stale_while_revalidate) && self.stale_while_revalidate > 0 {
            return Reuse::WhileRevalidating;
        }
        Reuse::Validate
    }

    /// Whether it may replace the answer of a failed origin. `otherwise` is the limit in seconds if the
    /// origin gave none (RFC 5861 section 4, RFC 9111 section 4.2.4). The request may lower it.
    #[must_use]
    pub fn covers_failure(&self, request: &Directives, otherwise: u32, now: UnixSeconds) -> bool {
        if self.must_revalidate || self.always_validate || request.no_cache {
            return false;
        }
        let allowed = self.stale_if_error.unwrap_or(otherwise);
        let allowed = request.stale_if_error.map_or(allowed, |request| request.min(allowed));
        let young = request.max_age.is_none_or(|most| self.age(now) <= u64::from(most));
        young && self.staleness(now) <= u64::from(allowed)
    }
}

/// The date in a field; `None` if it is absent or invalid.
pub fn date_of(headers: &HeaderMap, name: &hyper::header::HeaderName) -> Option<UnixSeconds> {
    let text = headers.get(name)?.to_str().ok()?;
    let date = httpdate::parse_http_date(text).ok()?;
    date.duration_since(std::time::UNIX_EPOCH).ok().map(|since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    /// 1994-11-06 08:49:37.
    const NOON: UnixSeconds = 784_111_777;
    const NOON_DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");

    fn fields(lines: &[(&str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    fn freshness(lines: &[(&str, &'static str)]) -> Freshness {
        Freshness::of(StatusCode::OK, &fields(lines), NOON, NOON)
    }

    fn storable(request: &[(&str, &'static str)], response: &[(&str, &'static str)]) -> bool {
        is_storable(&Method::GET, &fields(request), StatusCode::OK, &fields(response))
    }

    #[test]
    fn a_shared_cache_stores_what_is_for_all_and_nothing_else() {
        assert!(storable(&[], &[]), "heuristically");
        assert!(!storable(&[], &[("cache-control", "private, max-age=60")]));
        assert!(!storable(&[], &[("cache-control", "no-store")]));
        assert!(storable(&[], &[("cache-control", "no-store, must-understand, max-age=60")]));
        assert!(!storable(&[("cache-control", "no-store")], &[("cache-control", "max-age=60")]));
        assert!(!storable(&[("authorization", "Basic eA==")], &[("cache-control", "max-age=60")]));
        assert!(storable(&[("authorization", "Basic eA==")], &[("cache-control", "s-maxage=60")]));
        assert!(!storable(&[("authorization", "Basic eA==")], &[("cdn-cache-control", "max-age=60")]));
        assert!(!storable(&[], &[("set-cookie", "a=b"), ("cache-control", "max-age=60")]));
        assert!(storable(&[], &[("set-cookie", "a=b"), ("cache-control", "public, max-age=60")]));
    }

    #[test]
    fn a_status_that_needs_a_lifetime_is_stored_only_with_one() {
        let of = |status: u16, lines: &[(&str, &'static str)]| {
            is_storable(
                &Method::GET,
                &HeaderMap::new(),
                StatusCode::from_u16(status).unwrap(),
                &fields(lines),
            )
        };
        assert!(of(404, &[]));
        assert!(!of(302, &[]));
        assert!(of(302, &[("cache-control", "max-age=5")]));
        assert!(!of(418, &[("cache-control", "max-age=5")]), "not understood");
        assert!(!of(206, &[("cache-control", "max-age=5")]));
        assert!(!is_storable(&Method::POST, &HeaderMap::new(), StatusCode::OK, &HeaderMap::new()));
    }

    #[test]
    fn the_lifetime_is_of_the_most_specific_field() {
        let expires = ("expires", "Sun, 06 Nov 1994 08:50:07 GMT");
        assert_eq!(freshness(&[NOON_DATE, expires]).lifetime, 30);
        assert_eq!(freshness(&[NOON_DATE, expires, ("cache-control", "max-age=9")]).lifetime, 9);
        assert_eq!(freshness(&[NOON_DATE, ("cache-control", "max-age=9, s-maxage=8")]).lifetime, 8);
        assert_eq!(freshness(&[NOON_DATE, expires, ("cdn-cache-control", "max-age=7")]).lifetime, 7);
        assert_eq!(freshness(&[NOON_DATE, ("expires", "0")]).lifetime, 0);
        let changed = ("last-modified", "Sun, 06 Nov 1994 08:32:57 GMT");
        assert_eq!(freshness(&[NOON_DATE, changed]).lifetime, 100);
    }

    #[test]
    fn age_counts_what_other_caches_and_the_way_took() {
        let lines = [NOON_DATE, ("age", "20"), ("cache-control", "max-age=60")];
        let stored = Freshness::of(StatusCode::OK, &fields(&lines), NOON, NOON + 5);
        assert_eq!(stored.age(NOON + 5), 25);
        assert!(stored.is_fresh(NOON + 39));
        assert!(!stored.is_fresh(NOON + 40));
    }

    #[test]
    fn no_request_makes_a_cache_serve_stale_what_must_be_validated() {
        let greedy = Directives { max_stale: Some(1 << 31), ..Directives::default() };
        let later = NOON + 1000;
        assert_eq!(
            freshness(&[NOON_DATE, ("cache-control", "max-age=1")]).reuse(&greedy, later),
            Reuse::Fresh
        );
        for strict in ["must-revalidate, max-age=1", "proxy-revalidate, max-age=1", "s-maxage=1"] {
            let stored = freshness(&[NOON_DATE, ("cache-control", strict)]);
            assert_eq!(stored.reuse(&greedy, later), Reuse::Validate, "{strict}");
            assert!(!stored.covers_failure(&greedy, u32::MAX, later), "{strict}");
        }
        let stored = freshness(&[NOON_DATE, ("cache-control", "no-cache, max-age=5000")]);
        assert_eq!(stored.reuse(&greedy, later), Reuse::Validate);
    }

    #[test]
    fn a_client_may_ask_for_more_than_fresh() {
        let stored = freshness(&[NOON_DATE, ("cache-control", "max-age=100")]);
        let ask = |directives: Directives| stored.reuse(&directives, NOON + 50);
        let usual = Directives::default();
        assert_eq!(ask(usual), Reuse::Fresh);
        assert_eq!(ask(Directives { max_age: Some(49), ..usual }), Reuse::Validate);
        assert_eq!(ask(Directives { min_fresh: Some(60), ..usual }), Reuse::Validate);
        assert_eq!(ask(Directives { no_cache: true, ..usual }), Reuse::Validate);
    }

    #[test]
    fn stale_content_bridges_revalidation_and_failure_for_as_long_as_was_said() {
        let lines = "max-age=10, stale-while-revalidate=20, stale-if-error=50";
        let stored = freshness(&[NOON_DATE, ("cache-control", lines)]);
        let usual = Directives::default();
        assert_eq!(stored.reuse(&usual, NOON + 30), Reuse::WhileRevalidating);
        assert_eq!(stored.reuse(&usual, NOON + 31), Reuse::Validate);
        assert!(stored.covers_failure(&usual, 0, NOON + 60));
        assert!(!stored.covers_failure(&usual, 1000, NOON + 61), "the origin's word outranks the operator's");
    }
}
