//! Serves stored responses: whole, in part, or as "not modified".

use super::answer::{Outcome, refusal};
use super::mend::Stream;
use super::parts::Parts;
use super::request::Asked;
use super::{Body, Outlet, Proxy, full, now};
use crate::semantics::range::{self, Wanted};
use crate::semantics::validators;
use crate::store::{Object, Reader};
use bytes::Bytes;
use http_body_util::{BodyExt, StreamBody};
use hyper::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RANGE,
};
use hyper::{Method, Response, StatusCode, Version};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// Longest wait of an HTTP/1.0 client for the length of a content.
const LENGTH: Duration = Duration::from_secs(5);

/// Fields that describe the content, which a 304 does not carry.
const OF_THE_CONTENT: [HeaderName; 2] = [CONTENT_LENGTH, CONTENT_TYPE];

impl Proxy {
    /// Serves `object`.
    pub(super) fn serve(
        self: &Arc<Self>,
        object: &Arc<Object>,
        asked: &Arc<Asked>,
        outcome: Outcome,
        outlet: &Outlet,
    ) -> Response<Body> {
        let (head, now) = (object.head(), now());
        let mut headers = self.fields_of(&head, outcome, now);
        let length = object.length();
        if head.status == StatusCode::OK {
            if validators::is_not_modified(&asked.headers, &head.headers, head.freshness.received) {
                OF_THE_CONTENT.iter().for_each(|name| drop(headers.remove(name)));
                return with(StatusCode::NOT_MODIFIED, headers, full(Bytes::new()));
            }
            headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
            let wanted = length.and_then(|length| Some((wanted_of(asked, &head.headers, length)?, length)));
            match wanted {
                Some((Wanted::Nothing, length)) => {
                    let mut refused = refusal(StatusCode::RANGE_NOT_SATISFIABLE, "there are no such bytes");
                    if let Ok(all) = HeaderValue::try_from(format!("bytes */{length}")) {
                        refused.headers_mut().insert(CONTENT_RANGE, all);
                    }
                    return refused;
                }
                Some((Wanted::Parts(parts), length)) => {
                    let body = match parts.as_slice() {
                        [range] => {
                            headers.insert(CONTENT_RANGE, range::content_range(range, length));
                            headers.insert(CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
                            self.body_of(object, asked, Some(range.clone()), outlet)
                        }
                        _ => {
                            let (proxy, object) = (self.clone(), object.clone());
                            let (asked, outlet) = (asked.clone(), outlet.clone());
                            Parts::of(&parts, length, &mut headers)
                                .into_body(move |range| proxy.body_of(&object, &asked, Some(range), &outlet))
                        }
                    };
                    return with(StatusCode::PARTIAL_CONTENT, headers, body);
                }
                None => {}
            }
        }
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        let body = self.body_of(object, asked, None, outlet);
        with(head.status, headers, body)
    }

    fn body_of(
        self: &Arc<Self>,
        object: &Arc<Object>,
        asked: &Arc<Asked>,
        range: Option<Range<u64>>,
        outlet: &Outlet,
    ) -> Body {
        if asked.method == Method::HEAD {
            return full(Bytes::new());
        }
        if let Some(bytes) = self.store.small(object) {
            let part = range.map_or(0..bytes.len(), |range| range.start as usize..range.end as usize);
            return full(bytes.slice(part));
        }
        let reader = Reader::new(self.store.clone(), object.clone(), range);
        let stream = Stream::new(self.clone(), asked.clone(), reader, outlet.clone());
        StreamBody::new(stream.into_frames()).boxed_unsync()
    }

    /// Waits until the content's length is known, for an HTTP/1.0 client that would otherwise see only the
    /// connection's end. A content that takes longer is sent as it arrives.
    pub(super) async fn wait_for_length(&self, object: &Arc<Object>, version: Version) {
        if version == Version::HTTP_10 {
            let _ = tokio::time::timeout(LENGTH, object.settled()).await;
        }
    }
}

/// The range that a request wants of a stored content of this length; `None` for the whole.
fn wanted_of(asked: &Asked, stored: &HeaderMap, length: u64) -> Option<Wanted> {
    let wanted = asked.headers.get(RANGE).filter(|_| asked.method == Method::GET)?;
    let wanted = range::wanted(wanted.as_bytes(), length)?;
    validators::range_applies(&asked.headers, stored).then_some(wanted)
}

fn with(status: StatusCode, headers: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
