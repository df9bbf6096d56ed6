//! CONNECT: a forward proxy's clients reach HTTPS through it, unchanged and without inspection.

use super::answer::refusal;
use super::upstream::connect;
use super::{Body, Door, Proxy, full};
use crate::destinations::By;
use crate::resolution::Asker;
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::net::IpAddr;
use std::sync::Arc;

impl Proxy {
    pub(super) async fn tunnel(
        self: &Arc<Self>,
        mut request: Request<Incoming>,
        door: &Door,
        client: IpAddr,
    ) -> Response<Body> {
        let target = request.uri().authority().cloned();
        let Some(target) = target.filter(|_| *door == Door::Forward) else {
            return refusal(StatusCode::METHOD_NOT_ALLOWED, "this is no forward proxy");
        };
        let Some(port) = target.port_u16() else {
            return refusal(StatusCode::BAD_REQUEST, "CONNECT needs a port");
        };
        let Ok(place) = self.tunnels.clone().try_acquire_owned() else {
            self.statistics.refuse("tunnels");
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "there are too many tunnels");
        };
        let host = target.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let led = match self.led_to(&host, port, By::Connect, Asker { client, is_router: false }).await {
            Ok(led) => led,
            Err(refused) => return refusal(refused.status(), &refused.to_string()),
        };
        let mut stream = None;
        for address in led {
            if let Ok(open) = connect(address).await {
                stream = Some(open);
                break;
            }
        }
        let Some(mut stream) = stream else {
            return refusal(StatusCode::BAD_GATEWAY, "cannot be reached");
        };
        let upgrade = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            if let Ok(client) = upgrade.await {
                let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut stream).await;
            }
            drop(place);
        });
        Response::new(full(Bytes::new()))
    }
}
