//! WebSocket over plain HTTP (RFC 6455), because an interceptor must not block another protocol. The request
//! is forwarded. If the origin agrees, octets then pass in both directions without inspection. Other
//! protocols are not requested (RFC 9110 section 7.8: an intermediary may ignore them), in particular not
//! HTTP/2, which would bypass the cache.

use super::answer::{Outcome, refusal};
use super::fetch::Answered;
use super::pass::without_hop_by_hop;
use super::request::{Asked, Door};
use super::upstream::NoResponse;
use super::{Outlet, Proxy, empty};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::sync::Arc;

const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// The client's end, if a request asks for WebSocket by a door that leads to origins.
pub(super) fn wanted(request: &mut Request<Incoming>, door: &Door) -> Option<OnUpgrade> {
    let asked = request.headers().get(UPGRADE)?.as_bytes().eq_ignore_ascii_case(WEBSOCKET.as_bytes());
    let leads = matches!(door, Door::Transparent(_) | Door::Forward);
    (asked && leads && request.method() == Method::GET).then(|| hyper::upgrade::on(request))
}

impl Proxy {
    /// Forwards a request for WebSocket.
    pub(super) async fn switch(
        self: &Arc<Self>,
        asked: &Arc<Asked>,
        client: OnUpgrade,
        outlet: &Outlet,
    ) -> Answered {
        let Ok(place) = self.tunnels.clone().try_acquire_owned() else {
            self.statistics.refuse("tunnels");
            return (refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many tunnels"), Outcome::Pass);
        };
        let ways = match self.ways_to_origin(asked).await {
            Ok(ways) => ways,
            Err(refused) => return self.failed(None, asked, &refused.into(), outlet),
        };
        let mut last = NoResponse::NoWay;
        for way in ways {
            let mut answer = match self.upstream.switch(way, &asked.key, &asked.headers, &WEBSOCKET).await {
                Ok(answer) => answer,
                Err(error) => {
                    last = error;
                    continue;
                }
            };
            if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
                return (self.relay(asked, answer, outlet), Outcome::Pass);
            }
            let origin = hyper::upgrade::on(&mut answer);
            tokio::spawn(async move {
                if let (Ok(client), Ok(origin)) = tokio::join!(client, origin) {
                    let ends = (&mut TokioIo::new(client), &mut TokioIo::new(origin));
                    let _ = tokio::io::copy_bidirectional(ends.0, ends.1).await;
                }
                drop(place);
            });
            let mut agreed = Response::new(empty());
            *agreed.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            *agreed.headers_mut() = without_hop_by_hop(answer.headers());
            agreed.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
            agreed.headers_mut().insert(UPGRADE, WEBSOCKET);
            return (agreed, Outcome::Pass);
        }
        self.failed(None, asked, &last, outlet)
    }
}
