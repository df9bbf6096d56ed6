//! Asks the origin or other routers, once for all who wait, and keeps what may be kept.

use super::answer::{Outcome, refusal, was_hit};
use super::request::Asked;
use super::upstream::{self, Kind, NoResponse, Way};
use super::{Abort, Body, Proxy, full, now};
use crate::semantics::freshness::{Freshness, Reuse, is_storable};
use crate::semantics::{UnixSeconds, fields, packages, range, validators, vary};
use crate::store::{Fill, Head, Object, Reader};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    CONTENT_LENGTH, CONTENT_LOCATION, CONTENT_RANGE, HeaderMap, HeaderName, LOCATION, RANGE,
};
use hyper::{Method, Response, StatusCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one request waits for another's answer before it asks by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long the head of an answer may take where something stale can stand in for it.
const IMPATIENCE: Duration = Duration::from_secs(4);

/// A response, and how it came about.
pub(super) type Answered = (Response<Body>, Outcome);

impl Proxy {
    /// Answers GET and HEAD.
    pub(super) async fn get(self: &Arc<Self>, asked: &Arc<Asked>, body: Incoming, abort: &Abort) -> Answered {
        if let Some(stored) = self.store.lookup(&asked.key, &asked.headers) {
            match stored.head().freshness.reuse(&asked.directives, now()) {
                Reuse::Fresh => return self.hit(&stored, asked, None, abort).await,
                Reuse::WhileRevalidating => {
                    let (proxy, meanwhile) = (self.clone(), asked.clone());
                    tokio::spawn(async move { drop(proxy.ask(&meanwhile, &Abort::default()).await) });
                    return self.hit(&stored, asked, Some(Outcome::Stale), abort).await;
                }
                Reuse::Validate => {}
            }
        }
        if asked.directives.only_if_cached {
            return (refusal(StatusCode::GATEWAY_TIMEOUT, "not stored here"), Outcome::Pass);
        }
        if self.is_known_uncacheable(&asked.key) || hyper::body::Body::size_hint(&body).exact() != Some(0) {
            return self.pass(asked, body, abort).await;
        }
        self.ask(asked, abort).await
    }

    async fn hit(
        self: &Arc<Self>,
        object: &Arc<Object>,
        asked: &Arc<Asked>,
        outcome: Option<Outcome>,
        abort: &Abort,
    ) -> Answered {
        let wanted_before = asked.is_from_router() || object.want_here();
        let usual = if wanted_before { Outcome::Local } else { Outcome::PhLocal };
        let outcome = outcome.unwrap_or(usual);
        self.wait_for_length(object, asked.version).await;
        (self.serve(object, asked, outcome, abort), outcome)
    }

    /// Asks for what is not stored, or not fresh. Whoever comes meanwhile waits for what is learnt.
    async fn ask(self: &Arc<Self>, asked: &Arc<Asked>, abort: &Abort) -> Answered {
        let before = self.store.lookup(&asked.key, &asked.headers);
        let flight = self.flight(&asked.key);
        let turn = tokio::time::timeout(PATIENCE, flight.lock()).await;
        let stored = self.store.lookup(&asked.key, &asked.headers);
        if let Some(object) = &stored {
            // Somebody else was answered while we waited, which answers us.
            let renewed = before.as_ref().is_none_or(|before| {
                before.id != object.id || before.head().freshness.received < object.head().freshness.received
            });
            if renewed {
                drop(turn);
                return self.hit(object, asked, None, abort).await;
            }
        }
        if self.is_known_uncacheable(&asked.key) {
            drop(turn);
        }
        let (answer, asked_at) = match self.request(asked, stored.as_deref()).await {
            Ok(answered) => answered,
            Err(error) => return self.failed(stored, asked, &error, abort),
        };
        let outcome = if was_hit(answer.headers()) { Outcome::Remote } else { Outcome::Miss };
        self.learn(asked, stored, answer, outcome, asked_at, abort).await
    }

    /// Sends a request for the whole content, or for the chunks that a range is in; along the ways in turn.
    async fn request(
        self: &Arc<Self>,
        asked: &Asked,
        stored: Option<&Object>,
    ) -> Result<(Response<Incoming>, UnixSeconds), NoResponse> {
        let mut headers = asked.headers.clone();
        validators::remove_conditions(&mut headers);
        let whole = stored.is_some() || asked.method == Method::HEAD;
        match chunks_of(asked).filter(|_| !whole) {
            Some(chunks) => drop(headers.insert(RANGE, chunks)),
            None => drop(headers.remove(RANGE)),
        }
        if let Some(stored) = stored {
            validators::make_conditional(&mut headers, &stored.head().headers);
        }
        // What may stand in need not be waited for long.
        let stands_in = stored.is_some_and(|stored| {
            let otherwise = self.settings.stale_if_unreachable;
            stored.head().freshness.covers_failure(&asked.directives, otherwise, now())
        });
        let patience = if stands_in { IMPATIENCE } else { upstream::HEAD };
        let mut last = NoResponse::NoWay;
        for way in self.ways(asked).await {
            let (asked_at, began) = (now(), Instant::now());
            match self.ask_along(way, asked, &headers, patience).await {
                Ok(answer) => {
                    if let Some(selector) = &self.settings.selector {
                        selector.took(way, began.elapsed());
                    }
                    return Ok((answer, asked_at));
                }
                Err(error) => {
                    self.note_failure(way, &asked.key);
                    tracing::debug!("{} by {way:?}: {error}", asked.key.as_str());
                    last = error;
                }
            }
        }
        Err(last)
    }

    /// Counts a way that did not answer; who was to have the content is not asked again.
    pub(super) fn note_failure(&self, way: Way, key: &crate::semantics::key::Key) {
        self.statistics.way_failed(way);
        if let (Kind::Holder | Kind::Peer, Some(selector)) = (way.kind, &self.settings.selector) {
            selector.forget(key);
        }
    }

    async fn ask_along(
        &self,
        way: Way,
        asked: &Asked,
        headers: &HeaderMap,
        patience: Duration,
    ) -> Result<Response<Incoming>, NoResponse> {
        let mut headers = headers.clone();
        if way.kind.holds() {
            headers.insert(
                hyper::header::CACHE_CONTROL,
                hyper::header::HeaderValue::from_static("only-if-cached"),
            );
        }
        let sent = self.upstream.send(way, asked.method.clone(), &asked.key, &headers, full(Bytes::new()));
        let answer =
            tokio::time::timeout(patience, sent).await.map_err(|_| NoResponse::Late(way.address))??;
        // A neighbour that no longer has it, or cannot get it, is not the last word.
        let helpless = [StatusCode::GATEWAY_TIMEOUT, StatusCode::BAD_GATEWAY, StatusCode::LOOP_DETECTED];
        if way.kind != Kind::Origin && helpless.contains(&answer.status()) {
            return Err(NoResponse::Failed(way.address, format!("answered {}", answer.status())));
        }
        Ok(answer)
    }

    /// Makes of an answer what can be made: renews, stores, or passes on.
    async fn learn(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        stored: Option<Arc<Object>>,
        answer: Response<Incoming>,
        outcome: Outcome,
        asked_at: UnixSeconds,
        abort: &Abort,
    ) -> Answered {
        let (status, received) = (answer.status(), now());
        if let (StatusCode::NOT_MODIFIED, Some(object)) = (status, &stored) {
            let mut head = Head::clone(&object.head());
            validators::freshen(&mut head.headers, &without_hop_by_hop(answer.headers()));
            head.freshness = self.freshness(asked, head.status, &head.headers, asked_at, received);
            self.store.freshen(object, head);
            return self.hit(object, asked, Some(Outcome::Validated), abort).await;
        }
        if matches!(status.as_u16(), 500 | 502..=504)
            && let Some(object) = &stored
            && object.head().freshness.covers_failure(&asked.directives, 0, received)
        {
            return self.hit(object, asked, Some(Outcome::Stale), abort).await;
        }
        match self.to_store(asked, &answer, asked_at, received) {
            Some(incoming) => {
                let object = self.keep(asked, incoming, answer.into_body());
                if !asked.is_from_router() {
                    object.want_here();
                }
                self.wait_for_length(&object.object, asked.version).await;
                (self.serve(&object.object, asked, outcome, abort), outcome)
            }
            None => {
                if asked.method == Method::GET && status != StatusCode::NOT_MODIFIED {
                    self.note_uncacheable(&asked.key);
                    stored.inspect(|object| self.store.remove(object));
                }
                (self.relay(asked, answer, abort), Outcome::Pass)
            }
        }
    }

    /// What is to be stored of an answer; `None`: nothing.
    fn to_store(
        &self,
        asked: &Asked,
        answer: &Response<Incoming>,
        asked_at: UnixSeconds,
        received: UnixSeconds,
    ) -> Option<ToStore> {
        let mut headers = without_hop_by_hop(answer.headers());
        let declared = fields::content_length(answer.headers()).ok()?;
        let (status, start, end, length) = if answer.status() == StatusCode::PARTIAL_CONTENT {
            let (part, length) = range::parse_content_range(headers.get(CONTENT_RANGE)?.as_bytes())?;
            // Parts can only be joined by what names their content.
            validators::strong_validator(&headers)?;
            let length =
                length.filter(|_| declared.is_none_or(|declared| declared == part.end - part.start))?;
            // Somebody who was asked for this range and answers another is not believed.
            asked.headers.get(RANGE)?;
            (StatusCode::OK, part.start, Some(part.end), Some(length))
        } else {
            // What ends with its connection may have ended early (RFC 9112 section 8).
            let framed =
                declared.is_some() || answer.headers().contains_key(hyper::header::TRANSFER_ENCODING);
            let empty = matches!(answer.status().as_u16(), 204 | 304);
            if !framed && !empty {
                return None;
            }
            let length = if empty { Some(0) } else { declared };
            (answer.status(), 0, length, length)
        };
        for of_the_message in [CONTENT_RANGE, CONTENT_LENGTH] {
            headers.remove(of_the_message);
        }
        let storable =
            is_storable(&asked.method, &asked.headers, status, &headers) && self.store.has_room_for(length);
        let nominated = vary::nominated(&asked.headers, &headers).filter(|_| storable)?;
        let freshness = self.freshness(asked, status, &headers, asked_at, received);
        let head = Head { status, headers, freshness };
        // What is stale at once and cannot be validated is never of use.
        let useful = freshness.lifetime > 0
            || head.headers.contains_key(hyper::header::ETAG)
            || head.headers.contains_key(hyper::header::LAST_MODIFIED);
        useful.then_some(ToStore { nominated, head, length, start, end })
    }

    fn freshness(
        &self,
        asked: &Asked,
        status: StatusCode,
        headers: &HeaderMap,
        asked_at: UnixSeconds,
        received: UnixSeconds,
    ) -> Freshness {
        let mut freshness = Freshness::of(status, headers, asked_at, received);
        let kind = packages::kind_of(asked.key.path_and_query());
        if let Some(kind) = kind.filter(|_| self.settings.packages && status == StatusCode::OK) {
            packages::apply(kind, &mut freshness);
        }
        freshness
    }

    /// Stores a response while its content comes in.
    fn keep(self: &Arc<Self>, asked: &Asked, incoming: ToStore, body: Incoming) -> Kept {
        let ToStore { nominated, head, length, start, end } = incoming;
        let object = self.store.insert(asked.key.clone(), nominated, head, length);
        let fill = Fill::begin(self.store.clone(), object.clone(), start, end);
        // Held until somebody reads, so that the fill knows it is wanted.
        let reader = Reader::new(self.store.clone(), object.clone(), None);
        tokio::spawn(super::mend::pump(self.clone(), body, fill));
        Kept { object, _reader: reader }
    }

    /// Nobody answered: what is stored may stand in.
    fn failed(
        self: &Arc<Self>,
        stored: Option<Arc<Object>>,
        asked: &Arc<Asked>,
        error: &NoResponse,
        abort: &Abort,
    ) -> Answered {
        let otherwise = self.settings.stale_if_unreachable;
        let covers = |object: &Arc<Object>| {
            object.head().freshness.covers_failure(&asked.directives, otherwise, now())
        };
        if let Some(object) = stored.filter(covers) {
            return (self.serve(&object, asked, Outcome::Stale, abort), Outcome::Stale);
        }
        let status = match error {
            NoResponse::Late(_) => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        };
        (refusal(status, &error.to_string()), Outcome::Pass)
    }

    /// Passes a request on as it is, and its answer back.
    pub(super) async fn pass(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        body: Incoming,
        abort: &Abort,
    ) -> Answered {
        let body = body.map_err(|error| -> Box<dyn std::error::Error + Send + Sync> { error.into() });
        let Some(way) = self.ways_to_origin(asked).await.into_iter().next() else {
            return self.failed(None, asked, &NoResponse::NoWay, abort);
        };
        let sent = self
            .upstream
            .send(way, asked.method.clone(), &asked.key, &asked.headers, body.boxed_unsync())
            .await;
        match sent {
            Ok(answer) => {
                if !asked.method.is_safe()
                    && (answer.status().is_success() || answer.status().is_redirection())
                {
                    self.invalidate(asked, answer.headers());
                }
                (self.relay(asked, answer, abort), Outcome::Pass)
            }
            Err(error) => self.failed(None, asked, &error, abort),
        }
    }

    /// RFC 9111 section 4.4: what was changed is stored no more, nor what the answer says was, on the same host.
    fn invalidate(&self, asked: &Asked, answer: &HeaderMap) {
        self.store.invalidate(&asked.key);
        for name in [LOCATION, CONTENT_LOCATION] {
            let Some(named) = answer.get(&name).and_then(|value| value.to_str().ok()) else { continue };
            let absolute = if named.starts_with('/') && !named.starts_with("//") {
                format!("http://{}{named}", asked.key.authority())
            } else {
                named.to_owned()
            };
            if let Ok(key) = crate::semantics::key::Key::parse(&absolute)
                && key.authority() == asked.key.authority()
            {
                self.store.invalidate(&key);
            }
        }
    }

    fn relay(&self, asked: &Asked, answer: Response<Incoming>, abort: &Abort) -> Response<Body> {
        let unframed = asked.version == hyper::Version::HTTP_10;
        let abort = abort.clone();
        let mut answer = answer.map(move |body| {
            let body = body.map_err(move |error| -> Box<dyn std::error::Error + Send + Sync> {
                if unframed {
                    abort.set();
                }
                error.into()
            });
            body.boxed_unsync()
        });
        let headers = answer.headers_mut();
        *headers = without_hop_by_hop(headers);
        self.sign(headers, Outcome::Pass);
        answer
    }
}

/// What is to be stored.
struct ToStore {
    nominated: vary::Nominated,
    head: Head,
    length: Option<u64>,
    /// Where the content that comes begins, and ends if that is known.
    start: u64,
    end: Option<u64>,
}

/// What is stored now, and a reader that keeps it coming until another takes over.
struct Kept {
    object: Arc<Object>,
    _reader: Reader,
}

impl Kept {
    fn want_here(&self) {
        self.object.want_here();
    }
}

/// The Range that brings whole chunks.
fn chunks_of(asked: &Asked) -> Option<hyper::header::HeaderValue> {
    use crate::store::chunk::{number_of, start_of};
    let wanted = range::ByteRange::parse(asked.headers.get(RANGE)?.as_bytes())?;
    let range::ByteRange::From { first, last } = wanted else { return None };
    let start = start_of(number_of(first));
    match last {
        Some(last) => {
            let end = start_of(number_of(last).checked_add(1)?);
            Some(range::request_for(&(start..end)))
        }
        None => hyper::header::HeaderValue::try_from(format!("bytes={start}-")).ok(),
    }
}

fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    fields::remove_hop_by_hop(&mut headers);
    // a name of ours that came along would be taken for a hop that it is not
    headers.remove(HeaderName::from_static("proxy-authentication-info"));
    headers
}
