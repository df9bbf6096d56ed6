//! Ways for a request, best first.

use super::Proxy;
use super::request::{Asked, Door};
use super::upstream::{Kind, Way};
use crate::destinations::{By, Refused};
use crate::resolution::Asker;
use std::net::{IpAddr, SocketAddr};

impl Proxy {
    /// Whether Host names the client's destination. Otherwise a client could store its own content under
    /// another name. The request is then forwarded to its destination, and nothing is stored.
    pub(super) async fn is_host_right(&self, asked: &Asked) -> bool {
        let Door::Transparent(destination) = &asked.door else { return true };
        if !self.live().verify_host || asked.names_address(destination.ip()) {
            return asked.key.port() == destination.port();
        }
        let addresses = self.names.resolve(asked.key.host(), asked.asker()).await.unwrap_or_default();
        asked.key.port() == destination.port() && addresses.contains(&destination.ip())
    }

    async fn look_up(&self, host: &str, asker: Asker) -> Result<Vec<IpAddr>, Refused> {
        let found = self.names.resolve(host, asker).await.ok_or(Refused::Names);
        found.inspect_err(|refused| self.statistics.refuse(refused.name()))
    }

    /// The permitted addresses of a host; empty if the host has no addresses.
    ///
    /// # Errors
    ///
    /// [`Refused`] if it has addresses and none is permitted.
    pub(super) async fn led_to(
        &self,
        host: &str,
        port: u16,
        by: By,
        asker: Asker,
    ) -> Result<Vec<SocketAddr>, Refused> {
        let live = self.live();
        let rules = &live.destinations;
        rules.judge_port(port, by).inspect_err(|refused| self.statistics.refuse(refused.name()))?;
        let (mut led, mut refused) = (Vec::new(), None);
        for address in self.look_up(host, asker).await? {
            let destination = (address, port).into();
            match rules.judge(destination, by).await {
                Ok(()) => led.push(destination),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        if let Some(why) = refused {
            self.statistics.refuse(why.name());
        }
        match refused.filter(|_| led.is_empty()) {
            Some(why) => Err(why),
            None => Ok(led),
        }
    }

    /// The ways for content that another router's cache may supply.
    ///
    /// # Errors
    ///
    /// [`Refused`] if the origin is forbidden and no other cache is asked.
    pub(super) async fn ways(&self, asked: &Asked) -> Result<Vec<Way>, Refused> {
        let to_origin = self.ways_to_origin(asked).await?;
        let mut ways = match &self.settings.selector {
            Some(selector) if asked.trusted => selector.ways(&asked.key, asked.door == Door::Peer).await,
            _ => Vec::new(),
        };
        if let Some(icp) = self.settings.icp.as_ref().filter(|_| asked.trusted && !asked.is_from_router()) {
            ways.extend(icp.ways(&asked.key).await);
        }
        // Routers whose caches fail may still route.
        ways.extend(to_origin);
        Ok(ways)
    }

    /// The ways for content that only the origin can supply.
    ///
    /// # Errors
    ///
    /// [`Refused`].
    pub(super) async fn ways_to_origin(&self, asked: &Asked) -> Result<Vec<Way>, Refused> {
        let (host, port) = (asked.key.host(), asked.key.port());
        let addresses = match asked.door {
            Door::Transparent(destination) => {
                let judged = self.live().destinations.judge(destination, By::Taken).await;
                judged.inspect_err(|refused| self.statistics.refuse(refused.name()))?;
                vec![destination]
            }
            // The operator configures a reverse proxy's upstreams.
            Door::Reverse => {
                let found = self.look_up(host, asked.asker()).await?;
                found.into_iter().map(|address| (address, port).into()).collect()
            }
            Door::Forward | Door::Peer => self.led_to(host, port, By::Http, asked.asker()).await?,
        };
        Ok(addresses.into_iter().map(|address| Way { address, kind: Kind::Origin }).collect())
    }
}
