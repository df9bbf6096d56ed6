//! The cache's own answers, and its additions to others' answers.

use super::{Body, Proxy, full};
use crate::semantics::UnixSeconds;
use crate::store::Head;
use bytes::Bytes;
use hyper::header::{AGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, VIA};
use hyper::{Response, StatusCode};

/// The field Cache-Status (RFC 9211).
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Our own parameter in Cache-Status. Origins also have caches before them, whose hits do not relieve the
/// gateway.
const ROUTER: &str = "overheard";

/// Number of fields added to a stored response at sending.
const ADDED_FIELDS: usize = 6;

/// Source of an answer; each is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The store, for content that a client of this router requested before.
    Local,
    /// The store, for content that was kept on its way to another router (the paper's ph-local hit).
    PhLocal,
    /// The store, after validation at the origin.
    Validated,
    /// The store, stale, because the origin is unreachable or slow to validate.
    Stale,
    /// Another router that had it.
    Remote,
    /// The origin.
    Miss,
    /// The origin; the response is not stored.
    Pass,
}

impl Outcome {
    /// All outcomes, by number.
    pub(super) const ALL: [Outcome; 7] = [
        Outcome::Local,
        Outcome::PhLocal,
        Outcome::Validated,
        Outcome::Stale,
        Outcome::Remote,
        Outcome::Miss,
        Outcome::Pass,
    ];

    /// Its value in Cache-Status.
    fn status(self) -> &'static str {
        match self {
            Outcome::Local => "hit; detail=local",
            Outcome::PhLocal => "hit; detail=ph-local",
            Outcome::Validated => "hit; detail=validated",
            Outcome::Stale => "hit; detail=stale",
            Outcome::Remote => "fwd=uri-miss; stored; detail=remote",
            Outcome::Miss => "fwd=uri-miss; stored; detail=miss",
            Outcome::Pass => "fwd=bypass; detail=pass",
        }
    }
}

/// A short text.
pub fn refusal(status: StatusCode, why: &str) -> Response<Body> {
    let mut response = Response::new(full(Bytes::from(format!("{why}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// This router's own fields in responses, made once.
pub(super) struct Signature {
    via: Option<HeaderValue>,
    statuses: [Option<HeaderValue>; Outcome::ALL.len()],
}

impl Signature {
    /// The fields of the router with this name.
    pub fn of(name: &str) -> Self {
        let status =
            |outcome: Outcome| HeaderValue::try_from(format!("{name}; {}; {ROUTER}", outcome.status())).ok();
        let via = HeaderValue::try_from(format!("1.1 {name}")).ok();
        Signature { via, statuses: Outcome::ALL.map(status) }
    }
}

impl Proxy {
    /// Adds Via and Cache-Status to a forwarded response.
    pub(super) fn sign(&self, headers: &mut HeaderMap, outcome: Outcome) {
        let said = self.signature.statuses.get(outcome as usize).cloned().flatten();
        for (name, value) in [(VIA, self.signature.via.clone()), (CACHE_STATUS, said)] {
            value.map(|value| headers.append(name, value));
        }
    }

    /// The fields of a stored response at sending.
    pub(super) fn fields_of(&self, head: &Head, outcome: Outcome, now: UnixSeconds) -> HeaderMap {
        let mut headers = head.headers.clone();
        headers.reserve(ADDED_FIELDS);
        headers.insert(AGE, HeaderValue::from(head.freshness.age(now)));
        self.sign(&mut headers, outcome);
        headers
    }
}

/// Whether a response came from another router's cache.
pub(super) fn was_hit(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(CACHE_STATUS).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(crate::semantics::directives::members).any(|member| {
        let says = |wanted: &str| member.split(';').skip(1).any(|parameter| parameter.trim() == wanted);
        says("hit") && says(ROUTER)
    })
}
