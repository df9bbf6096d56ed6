//! Changes of a peer's configuration while the node runs.

use super::Peer;
use crate::config::{Config, PeerConfig};
use crate::context::Context;
use crate::keys::PublicKey;
use std::time::Duration;

impl Peer {
    /// No peer: nothing comes from it, and nothing goes there.
    pub(crate) fn vacant(index: usize, node: &Config) -> Self {
        let config = PeerConfig {
            name: String::new(),
            public_key: PublicKey::from_bytes([0; 32]),
            endpoint: None,
            allowed_ips: Vec::new(),
            keepalive: None,
            bits_a_second: None,
        };
        Peer { vacant: true, ..Peer::new(index, config, node, 0, [0; 4]) }
    }

    /// Whether there is no peer at this place.
    pub(crate) fn is_vacant(&self) -> bool {
        self.vacant
    }

    /// The configuration of this peer is `next` from now on. Its key is the same.
    pub(crate) fn reconfigure(&mut self, now: Duration, next: &PeerConfig, ctx: &mut Context) {
        let before = std::mem::replace(&mut self.config, next.clone());
        if self.revoked {
            return;
        }
        if before.keepalive != next.keepalive {
            self.ping_at = next.keepalive.map(|keepalive| now + keepalive);
        }
        if before.bits_a_second != next.bits_a_second
            && let Some(controller) = self.link.as_mut().and_then(|link| link.hop.as_mut())
        {
            controller.set_told(next.bytes_a_second());
        }
        if before.endpoint == next.endpoint || self.endpoint.address() == next.endpoint {
            return;
        }
        // without an endpoint, the peer stays where it is until it says something else
        if let Some(to) = next.endpoint {
            let from = self.endpoint.address();
            self.endpoint.configure(next.endpoint);
            self.move_to((from, to), ctx);
            self.ping_at = Some(now);
        }
    }

    /// The pre-shared key is another one: the session ends, and the next begins at once.
    pub(crate) fn begin_under_other_key(&mut self, now: Duration, ctx: &mut Context) {
        self.sessions.initiator_mut().stop(&mut ctx.keyring);
        if self.link.is_some() || self.sessions.established().is_some() {
            self.end(now, ctx);
        }
        self.sessions.end(&mut ctx.keyring);
        self.wants_handshake = true;
    }
}
