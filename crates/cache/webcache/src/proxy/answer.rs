//! Answers that the cache makes itself, and what it adds to those of others.

use super::{Body, Proxy, full};
use crate::semantics::UnixSeconds;
use crate::store::Head;
use bytes::Bytes;
use hyper::header::{AGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, VIA};
use hyper::{Response, StatusCode};

/// RFC 9211.
pub const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// A parameter of our own in Cache-Status: origins have caches before them too, whose hits do not relieve the
/// gateway.
const ROUTER: &str = "overheard";

/// Fields that a stored response gets when it is sent.
const ADDED_FIELDS: usize = 6;

/// How a request was answered; each is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// From here, where a client of this router had asked for it before.
    Local,
    /// From here, where it was kept on its way to another router (the paper's ph-local hit).
    PhLocal,
    /// From here, after the origin said that it is still good.
    Validated,
    /// From here, stale, because the origin is out of reach or slow to validate.
    Stale,
    /// From another router that had it.
    Remote,
    /// From the origin.
    Miss,
    /// From the origin, and not to be kept.
    Pass,
}

impl Outcome {
    /// Each, by its number.
    pub(super) const ALL: [Outcome; 7] = [
        Outcome::Local,
        Outcome::PhLocal,
        Outcome::Validated,
        Outcome::Stale,
        Outcome::Remote,
        Outcome::Miss,
        Outcome::Pass,
    ];

    /// What Cache-Status says of it.
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

/// What a router says of itself in the responses that it sends, made once.
pub(super) struct Signature {
    via: Option<HeaderValue>,
    statuses: [Option<HeaderValue>; Outcome::ALL.len()],
}

impl Signature {
    /// Of the router of this name.
    pub fn of(name: &str) -> Self {
        let status =
            |outcome: Outcome| HeaderValue::try_from(format!("{name}; {}; {ROUTER}", outcome.status())).ok();
        let via = HeaderValue::try_from(format!("1.1 {name}")).ok();
        Signature { via, statuses: Outcome::ALL.map(status) }
    }
}

impl Proxy {
    /// Adds Via and Cache-Status to the fields of a response that is passed on.
    pub(super) fn sign(&self, headers: &mut HeaderMap, outcome: Outcome) {
        let said = self.signature.statuses.get(outcome as usize).cloned().flatten();
        for (name, value) in [(VIA, self.signature.via.clone()), (CACHE_STATUS, said)] {
            value.map(|value| headers.append(name, value));
        }
    }

    /// The fields of a stored response as they are sent.
    pub(super) fn fields_of(&self, head: &Head, outcome: Outcome, now: UnixSeconds) -> HeaderMap {
        let mut headers = head.headers.clone();
        headers.reserve(ADDED_FIELDS);
        headers.insert(AGE, HeaderValue::from(head.freshness.age(now)));
        self.sign(&mut headers, outcome);
        headers
    }
}

/// Whether a response came out of another router's cache.
pub(super) fn was_hit(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(CACHE_STATUS).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(crate::semantics::directives::members).any(|member| {
        let says = |wanted: &str| member.split(';').skip(1).any(|parameter| parameter.trim() == wanted);
        says("hit") && says(ROUTER)
    })
}
