//! Requests and answers that bypass the cache.

use super::answer::Outcome;
use super::fetch::Answered;
use super::request::Asked;
use super::upload::{Moved, Upload};
use super::upstream::NoResponse;
use super::{Body, Outlet, Proxy, empty};
use crate::semantics::{fields, key::Key};
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LOCATION, HeaderMap, HeaderName, LOCATION};
use std::sync::Arc;

impl Proxy {
    /// Forwards a request with its content.
    pub(super) async fn pass_content(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        body: Incoming,
        outlet: &Outlet,
    ) -> Answered {
        if body.is_end_stream() {
            return self.pass(asked, empty(), outlet).await;
        }
        let upload = Upload::new(body);
        let moved = upload.moved();
        self.pass_along(asked, upload.boxed_unsync(), &moved, outlet).await
    }

    /// Forwards a request unchanged, and returns its answer.
    pub(super) async fn pass(self: &Arc<Self>, asked: &Arc<Asked>, body: Body, outlet: &Outlet) -> Answered {
        self.pass_along(asked, body, &Moved::default(), outlet).await
    }

    async fn pass_along(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        body: Body,
        moved: &Moved,
        outlet: &Outlet,
    ) -> Answered {
        let again = asked.method.is_idempotent() && body.is_end_stream();
        let ways = match self.ways_to_origin(asked).await {
            Ok(ways) => ways,
            Err(refused) => return self.failed(None, asked, &refused.into(), outlet),
        };
        let (mut body, mut last) = (Some(body), NoResponse::NoWay);
        for way in ways {
            let Some(content) = body.take().or_else(|| again.then(empty)) else { break };
            let method = asked.method.clone();
            let sent = match again {
                true => self.upstream.send(way, method, &asked.key, &asked.headers).await,
                false => {
                    let moved = moved.clone();
                    self.upstream.upload(way, method, &asked.key, &asked.headers, content, moved).await
                }
            };
            match sent {
                Ok(answer) => {
                    let changed = answer.status().is_success() || answer.status().is_redirection();
                    if changed && !asked.method.is_safe() && asked.trusted {
                        self.invalidate(asked, answer.headers());
                    }
                    return (self.relay(asked, answer, outlet), Outcome::Pass);
                }
                Err(error) => last = error,
            }
        }
        self.failed(None, asked, &last, outlet)
    }

    /// RFC 9111 section 4.4: drops the changed URI, and URIs of the same host that the answer names.
    fn invalidate(&self, asked: &Asked, answer: &HeaderMap) {
        self.store.invalidate(&asked.key);
        for name in [LOCATION, CONTENT_LOCATION] {
            let Some(named) = answer.get(&name).and_then(|value| value.to_str().ok()) else { continue };
            let absolute = if named.starts_with('/') && !named.starts_with("//") {
                format!("http://{}{named}", asked.key.authority())
            } else {
                named.to_owned()
            };
            if let Ok(key) = Key::parse(&absolute)
                && key.authority() == asked.key.authority()
            {
                self.store.invalidate(&key);
            }
        }
    }

    pub(super) fn relay(&self, asked: &Asked, answer: Response<Incoming>, outlet: &Outlet) -> Response<Body> {
        let unframed = asked.version == hyper::Version::HTTP_10;
        let outlet = outlet.clone();
        let mut answer = answer.map(move |body| {
            let body = body.map_err(move |error| -> Box<dyn std::error::Error + Send + Sync> {
                if unframed {
                    outlet.abort();
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

/// The end-to-end fields of a message.
pub(super) fn without_hop_by_hop(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    fields::remove_hop_by_hop(&mut headers);
    // An incoming name of ours would be taken for a hop.
    headers.remove(HeaderName::from_static("proxy-authentication-info"));
    headers
}
