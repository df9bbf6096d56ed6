//! Handling of an answer: it renews a stored response, is stored, or is forwarded.

use super::answer::Outcome;
use super::fetch::{Answered, Turn, chunks_of};
use super::pass::without_hop_by_hop;
use super::request::Asked;
use super::{Outlet, Proxy, empty, now};
use crate::semantics::fields::{self, Framing};
use crate::semantics::freshness::{Freshness, is_storable};
use crate::semantics::{UnixSeconds, packages, range, validators, vary};
use crate::store::{Head, Object, Reader};
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED, RANGE};
use hyper::{Method, Response, StatusCode};
use std::sync::Arc;

impl Proxy {
    /// Handles an answer. Other requests wait for the result while `turn` is held.
    pub(super) async fn learn(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        stored: Option<Arc<Object>>,
        answer: Response<Incoming>,
        (outcome, asked_at): (Outcome, UnixSeconds),
        turn: Turn,
        outlet: &Outlet,
    ) -> Answered {
        let (status, received) = (answer.status(), now());
        if let (StatusCode::NOT_MODIFIED, Some(object)) = (status, &stored) {
            self.renew(asked, object, answer.headers(), asked_at, received);
            drop(turn);
            return self.hit(object, asked, Some(Outcome::Validated), outlet).await;
        }
        if matches!(status.as_u16(), 500 | 502..=504)
            && let Some(object) = &stored
            && object.head().freshness.covers_failure(&asked.directives, 0, received)
        {
            drop(turn);
            return self.hit(object, asked, Some(Outcome::Stale), outlet).await;
        }
        if let Some(incoming) = self.to_store(asked, &answer, asked_at, received) {
            let kept = self.keep(asked, incoming, answer.into_body());
            drop(turn);
            if !asked.is_from_router() {
                kept.object.want_here();
            }
            self.wait_for_length(&kept.object, asked.version).await;
            return (self.serve(&kept.object, asked, outcome, outlet), outcome);
        }
        self.note_not_kept(asked, stored.as_ref(), &answer, asked_at, received);
        drop(turn);
        // The request was for whole chunks and not for the client's range. If they cannot be stored, the
        // client's own request must be sent.
        if status == StatusCode::PARTIAL_CONTENT && chunks_of(asked).is_some() {
            return self.pass(asked, empty(), outlet).await;
        }
        (self.relay(asked, answer, outlet), Outcome::Pass)
    }

    /// Renews the stored head from a 304 or from the answer to a HEAD.
    fn renew(
        &self,
        asked: &Asked,
        object: &Arc<Object>,
        said: &HeaderMap,
        asked_at: UnixSeconds,
        received: UnixSeconds,
    ) {
        let mut head = Head::clone(&object.head());
        validators::freshen(&mut head.headers, &without_hop_by_hop(said));
        head.freshness = self.freshness(asked, head.status, &head.headers, asked_at, received);
        self.store.freshen(object, head);
    }

    /// Updates the store and the list of uncacheable URIs by an answer that is not stored. A failure has no
    /// effect.
    fn note_not_kept(
        &self,
        asked: &Asked,
        stored: Option<&Arc<Object>>,
        answer: &Response<Incoming>,
        asked_at: UnixSeconds,
        received: UnixSeconds,
    ) {
        let (status, headers) = (answer.status(), answer.headers());
        let about_the_content =
            status.is_success() || status.is_redirection() || matches!(status.as_u16(), 404 | 410);
        if asked.method == Method::HEAD {
            let Some(object) = stored.filter(|_| about_the_content) else { return };
            let length = object.length();
            let same = status == object.head().status
                && validators::describes(&object.head().headers, length, headers);
            if same && is_storable(&Method::GET, &asked.headers, status, headers) {
                self.renew(asked, object, headers, asked_at, received);
            } else {
                self.store.remove(object);
            }
            return;
        }
        let passing = matches!(status.as_u16(), 408 | 416 | 429) || status.is_server_error();
        if status != StatusCode::NOT_MODIFIED && !passing {
            self.note_uncacheable(&asked.key);
        }
        if let Some(object) = stored.filter(|_| about_the_content && status != StatusCode::PARTIAL_CONTENT) {
            self.store.remove(object);
        }
    }

    /// The part of an answer to store; `None` if nothing is stored.
    fn to_store(
        &self,
        asked: &Asked,
        answer: &Response<Incoming>,
        asked_at: UnixSeconds,
        received: UnixSeconds,
    ) -> Option<ToStore> {
        let framing = fields::framing(answer.headers()).ok()?;
        let mut headers = without_hop_by_hop(answer.headers());
        let declared = if let Framing::Length(length) = framing { Some(length) } else { None };
        let (status, part, length) = if answer.status() == StatusCode::PARTIAL_CONTENT {
            let (part, length) = range::parse_content_range(headers.get(CONTENT_RANGE)?.as_bytes())?;
            // Parts are joined only by a validator that identifies their content.
            validators::strong_validator(&headers)?;
            let length =
                length.filter(|_| declared.is_none_or(|declared| declared == part.end - part.start))?;
            // An answer for another range than requested is not accepted.
            chunks_of(asked)?;
            (StatusCode::OK, (part.start, Some(part.end)), Some(length))
        } else {
            let empty = matches!(answer.status().as_u16(), 204 | 304);
            // Content that ends with its connection may be incomplete (RFC 9112 section 8).
            if framing == Framing::Close && !empty {
                return None;
            }
            let length = if empty { Some(0) } else { declared };
            (answer.status(), (0, length), length)
        };
        for of_the_message in [CONTENT_RANGE, CONTENT_LENGTH] {
            headers.remove(of_the_message);
        }
        let storable =
            is_storable(&asked.method, &asked.headers, status, &headers) && self.store.has_room_for(length);
        let nominated = vary::nominated(&asked.headers, &headers).filter(|_| storable)?;
        let freshness = self.freshness(asked, status, &headers, asked_at, received);
        let head = Head { status, headers, freshness };
        // A response that is stale at once and cannot be validated is useless.
        let useful = freshness.lifetime > 0
            || head.headers.contains_key(ETAG)
            || head.headers.contains_key(LAST_MODIFIED);
        let in_order = answer.status() == StatusCode::OK && asked.headers.contains_key(RANGE);
        useful.then_some(ToStore { nominated, head, length, part, in_order })
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
        if let Some(kind) = kind.filter(|_| self.live().packages && status == StatusCode::OK) {
            packages::apply(kind, &mut freshness);
        }
        freshness
    }

    /// Stores a response while its content arrives.
    fn keep(self: &Arc<Self>, asked: &Asked, incoming: ToStore, body: Incoming) -> Kept {
        let ToStore { nominated, head, length, part, in_order } = incoming;
        let fill = self.store.insert(asked.key.clone(), nominated, head, length, part);
        let object = fill.object().clone();
        if in_order {
            object.comes_in_order();
        }
        // Held until a client reads, so that the fill has a reader.
        let reader = Reader::new(self.store.clone(), object.clone(), None);
        tokio::spawn(super::mend::pump(self.clone(), body, fill));
        Kept { object, _reader: reader }
    }
}

/// A response to store.
struct ToStore {
    nominated: vary::Nominated,
    head: Head,
    length: Option<u64>,
    /// Start of the arriving content, and its end if known.
    part: (u64, Option<u64>),
    /// Whether its sender ignored a requested range.
    in_order: bool,
}

/// The stored object, and a reader that keeps the fill running until another one takes over.
struct Kept {
    object: Arc<Object>,
    _reader: Reader,
}
