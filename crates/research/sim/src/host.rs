//! A host: its node, or none in the bare run, and where it is.

use crate::report::{HostReport, Packets};
use crate::setup::host_name;
use node::{Config, Event, Node, Outcome, Status};
use rand::RngExt;
use rand_chacha::ChaCha12Rng;
use serde::Serialize;
use std::net::SocketAddrV4;
use std::time::Duration;

/// Fates of arrived packets at a node, by link sequence. A held packet counts as held, and again when it is
/// repaired.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Delivered at once.
    pub delivered: u64,
    /// Not restored, not delivered.
    pub undecodable: u64,
    /// Not restored at arrival; the missing packets were requested.
    pub held: u64,
    /// Held packets that were delivered later.
    pub repaired: u64,
}

impl Outcomes {
    /// Packets that arrived and were never delivered.
    #[must_use]
    pub fn never_delivered(&self) -> u64 {
        self.undecodable + self.held.saturating_sub(self.repaired)
    }
}

/// One host.
pub(crate) struct Host {
    pub number: usize,
    pub address: SocketAddrV4,
    pub tunnel: Option<Boot>,
    pub outcomes: Outcomes,
    pub not_sent: Packets,
    pub not_taken: Packets,
    pub most_queue_bytes: usize,
}

/// A host's node, and the state for its restart.
pub(crate) struct Boot {
    pub node: Node,
    config: Config,
    seeds: ChaCha12Rng,
    before: Vec<Status>,
}

impl Boot {
    pub fn new(config: Config, mut seeds: ChaCha12Rng) -> Result<Self, node::ConfigError> {
        let node = Node::new(config.clone(), seeds.random(), Duration::ZERO)?;
        Ok(Boot { node, config, seeds, before: Vec::new() })
    }

    pub fn reboot(&mut self, now: Duration) {
        // As the machine's clock would give it.
        let config = Config { handshakes_above: now.as_micros() as u64, ..self.config.clone() };
        let node = Node::new(config, self.seeds.random(), now);
        let node = node.expect("the configuration was accepted before");
        let last = std::mem::replace(&mut self.node, node);
        self.before.push(last.status(now));
    }
}

impl Host {
    pub fn new(number: usize, address: SocketAddrV4, tunnel: Option<Boot>) -> Self {
        Host {
            number,
            address,
            tunnel,
            outcomes: Outcomes::default(),
            not_sent: Packets::default(),
            not_taken: Packets::default(),
            most_queue_bytes: 0,
        }
    }

    pub fn note(&mut self, event: &Event) {
        if let Event::Arrived { outcome, .. } = event {
            match outcome {
                Outcome::Delivered => self.outcomes.delivered += 1,
                Outcome::Undecodable => self.outcomes.undecodable += 1,
                Outcome::Held => self.outcomes.held += 1,
                Outcome::Repaired => self.outcomes.repaired += 1,
            }
        }
    }

    /// Samples the queues.
    pub fn sample(&mut self, now: Duration) {
        if let Some(boot) = &self.tunnel {
            let waits = boot.node.status(now).peers.iter().map(|peer| peer.queue_bytes).max();
            self.most_queue_bytes = self.most_queue_bytes.max(waits.unwrap_or(0));
        }
    }

    pub fn report(&self, now: Duration) -> HostReport {
        let boots = self
            .tunnel
            .as_ref()
            .map_or(Vec::new(), |boot| boot.before.iter().cloned().chain([boot.node.status(now)]).collect());
        HostReport {
            name: host_name(self.number),
            boots,
            outcomes: self.outcomes,
            not_sent: self.not_sent,
            not_taken: self.not_taken,
            most_queue_bytes: self.most_queue_bytes,
        }
    }
}
