//! Requests to the origin or other routers, one for all waiting clients. It stores what may be stored.

use super::answer::{Outcome, refusal, was_hit};
use super::request::{Asked, Door};
use super::upstream::{self, Kind, NoResponse, Way};
use super::{Body, Outlet, Proxy, now};
use crate::destinations::Refused;
use crate::semantics::freshness::Reuse;
use crate::semantics::{UnixSeconds, range, validators};
use crate::store::Object;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderValue, RANGE};
use hyper::{Method, Response, StatusCode};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OwnedMutexGuard;

/// Longest wait for another request's answer; then the request is sent itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// Timeout of an answer's head if a stale response can replace it.
const IMPATIENCE: Duration = Duration::from_secs(4);

/// A response and its source.
pub(super) type Answered = (Response<Body>, Outcome);

/// Held by the request that asks for a URI, until others can find the result.
pub(super) type Turn = Option<OwnedMutexGuard<()>>;

impl Proxy {
    /// Answers GET and HEAD.
    pub(super) async fn get(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        body: Incoming,
        outlet: &Outlet,
    ) -> Answered {
        if let Some(stored) = self.store.lookup(&asked.key, &asked.headers) {
            match stored.head().freshness.reuse(&asked.directives, now()) {
                Reuse::Fresh => return self.hit(&stored, asked, None, outlet).await,
                Reuse::WhileRevalidating => {
                    self.revalidate_meanwhile(asked);
                    return self.hit(&stored, asked, Some(Outcome::Stale), outlet).await;
                }
                Reuse::Validate => {}
            }
        }
        if asked.directives.only_if_cached {
            return (refusal(StatusCode::GATEWAY_TIMEOUT, "not stored here"), Outcome::Pass);
        }
        if self.is_known_uncacheable(&asked.key) || hyper::body::Body::size_hint(&body).exact() != Some(0) {
            return self.pass_content(asked, body, outlet).await;
        }
        self.ask(asked, outlet).await
    }

    fn revalidate_meanwhile(self: &Arc<Self>, asked: &Arc<Asked>) {
        if self.flight(&asked.key).try_lock().is_err() {
            // Another request is already under way.
            return;
        }
        let (proxy, asked) = (self.clone(), asked.clone());
        tokio::spawn(async move { drop(proxy.ask(&asked, &Outlet::default()).await) });
    }

    pub(super) async fn hit(
        self: &Arc<Self>,
        object: &Arc<Object>,
        asked: &Arc<Asked>,
        outcome: Option<Outcome>,
        outlet: &Outlet,
    ) -> Answered {
        let wanted_before = asked.is_from_router() || object.want_here();
        let usual = if wanted_before { Outcome::Local } else { Outcome::PhLocal };
        let outcome = outcome.unwrap_or(usual);
        self.wait_for_length(object, asked.version).await;
        (self.serve(object, asked, outcome, outlet), outcome)
    }

    /// Requests content that is missing or stale. Concurrent requests wait for the result.
    async fn ask(self: &Arc<Self>, asked: &Arc<Asked>, outlet: &Outlet) -> Answered {
        let before = self.store.lookup(&asked.key, &asked.headers);
        let waited = tokio::time::timeout(PATIENCE, self.flight(&asked.key).lock_owned()).await;
        let mut turn: Turn = waited.ok();
        let mut stored = self.store.lookup(&asked.key, &asked.headers);
        if let Some(object) = &stored {
            // The answer to another request, received while we waited, also answers ours.
            let renewed = before.as_ref().is_none_or(|before| {
                before.id != object.id || before.head().freshness.received < object.head().freshness.received
            });
            if renewed {
                drop(turn);
                return self.hit(object, asked, None, outlet).await;
            }
        }
        if self.is_known_uncacheable(&asked.key) {
            turn = None;
        }
        let (answer, asked_at) = loop {
            match self.request(asked, stored.as_deref()).await {
                Ok((answer, _)) if is_about_another(stored.as_deref(), &answer) => {
                    stored.take().inspect(|object| self.store.remove(object));
                }
                Ok(answered) => break answered,
                Err(error) => return self.failed(stored, asked, &error, outlet),
            }
        };
        let outcome = if was_hit(answer.headers()) { Outcome::Remote } else { Outcome::Miss };
        self.learn(asked, stored, answer, (outcome, asked_at), turn, outlet).await
    }

    /// Sends a request for the whole content, or for the chunks of a range, along the ways in turn.
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
        // A stale replacement shortens the wait.
        let stands_in = stored.is_some_and(|stored| {
            let otherwise = self.live().stale_if_unreachable;
            stored.head().freshness.covers_failure(&asked.directives, otherwise, now())
        });
        let patience = if stands_in { IMPATIENCE } else { upstream::HEAD };
        let mut last = NoResponse::NoWay;
        for way in self.ways(asked).await? {
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

    /// Counts a failed way. A presumed holder is not asked again.
    pub(super) fn note_failure(&self, way: Way, key: &crate::semantics::key::Key) {
        self.statistics.way_failed(way);
        if let (Kind::Holder | Kind::Towards | Kind::Peer, Some(selector)) =
            (way.kind, &self.settings.selector)
        {
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
            // In addition to the client's directives: no router may answer a reload from its store.
            headers.append(CACHE_CONTROL, HeaderValue::from_static("only-if-cached"));
        }
        let sent = self.upstream.send(way, asked.method.clone(), &asked.key, &headers);
        let answer =
            tokio::time::timeout(patience, sent).await.map_err(|_| NoResponse::Late(way.address))??;
        // A neighbour that lost or cannot get the content is not final.
        let helpless = [StatusCode::GATEWAY_TIMEOUT, StatusCode::BAD_GATEWAY, StatusCode::LOOP_DETECTED];
        if way.kind != Kind::Origin && helpless.contains(&answer.status()) {
            return Err(NoResponse::Failed(way.address, format!("answered {}", answer.status())));
        }
        Ok(answer)
    }

    /// Handles the failure of all ways: a stored response may replace the answer.
    pub(super) fn failed(
        self: &Arc<Self>,
        stored: Option<Arc<Object>>,
        asked: &Arc<Asked>,
        error: &NoResponse,
        outlet: &Outlet,
    ) -> Answered {
        let otherwise = self.live().stale_if_unreachable;
        let refused = matches!(error, NoResponse::Refused(Refused::Address(_) | Refused::Port));
        let covers = |object: &Arc<Object>| {
            !refused && object.head().freshness.covers_failure(&asked.directives, otherwise, now())
        };
        if let Some(object) = stored.filter(covers) {
            return (self.serve(&object, asked, Outcome::Stale, outlet), Outcome::Stale);
        }
        let status = match error {
            NoResponse::Late(_) => StatusCode::GATEWAY_TIMEOUT,
            // Another router gets a status that makes it try another way, because it may reach the origin
            // itself.
            NoResponse::Refused(refused) if asked.door != Door::Peer => refused.status(),
            _ => StatusCode::BAD_GATEWAY,
        };
        (refusal(status, &error.to_string()), Outcome::Pass)
    }
}

/// Whether a "not modified" answer is about another response than the stored one.
fn is_about_another(stored: Option<&Object>, answer: &Response<Incoming>) -> bool {
    let speaks_of = |stored: &Object| validators::speaks_of(&stored.head().headers, answer.headers());
    answer.status() == StatusCode::NOT_MODIFIED && stored.is_some_and(|stored| !speaks_of(stored))
}

/// The Range of the whole chunks that contain the requested range.
pub(super) fn chunks_of(asked: &Asked) -> Option<HeaderValue> {
    use crate::store::chunk::{number_of, start_of};
    let wanted = range::ByteRange::parse(asked.headers.get(RANGE)?.as_bytes())?;
    let range::ByteRange::From { first, last } = wanted else { return None };
    let start = start_of(number_of(first));
    match last {
        Some(last) => {
            let end = start_of(number_of(last).checked_add(1)?);
            Some(range::request_for(&(start..end)))
        }
        None => HeaderValue::try_from(format!("bytes={start}-")).ok(),
    }
}
