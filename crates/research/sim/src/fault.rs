//! Faults and changes during a simulation.

use crate::addresses::GATEWAY;
use air::LinkConfig;
use std::net::SocketAddrV4;

/// A fault or change of a host or a link, by number ([`crate::down_link`], [`crate::up_link`]).
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// A node loses its state and restarts with another boot. No effect in the bare run.
    Reboot {
        /// Which host.
        host: usize,
    },
    /// A node loses its stores of one peer ([`node::Node::forget`]). No effect in the bare run.
    Forget {
        /// Which host.
        host: usize,
        /// The peer's host.
        peer: usize,
        /// Whether the store of sent packets is lost.
        sent: bool,
        /// Whether the store of received packets is lost.
        received: bool,
    },
    /// A host's outer address changes; datagrams to the old one are lost. No effect in the bare run.
    Move {
        /// Which host.
        host: usize,
        /// Its new address.
        to: SocketAddrV4,
    },
    /// A link refuses frames; those in flight arrive.
    LinkDown {
        /// Which link.
        link: usize,
    },
    /// A link takes frames again.
    LinkUp {
        /// Which link.
        link: usize,
    },
    /// A link's conditions change ([`air::Link::set_config`]).
    Conditions {
        /// Which link.
        link: usize,
        /// The new conditions.
        config: Box<LinkConfig>,
    },
}

/// Reason why a fault cannot be scheduled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FaultRefused {
    /// No such host.
    #[error("there is no host {0}")]
    NoHost(usize),
    /// No such link.
    #[error("there is no link {0}")]
    NoLink(usize),
    /// Hosts that do not talk to each other.
    #[error("host {0} stores nothing for host {1}: only a gateway and its stations talk to each other")]
    NoPeer(usize, usize),
    /// Conditions that no link can have.
    #[error(transparent)]
    Conditions(#[from] air::ConfigError),
}

impl Fault {
    pub(crate) fn validate(&self, hosts: usize, links: usize) -> Result<(), FaultRefused> {
        let host_exists = |host: usize| if host < hosts { Ok(()) } else { Err(FaultRefused::NoHost(host)) };
        let link_exists = |link: usize| if link < links { Ok(()) } else { Err(FaultRefused::NoLink(link)) };
        match *self {
            Fault::Reboot { host } | Fault::Move { host, .. } => host_exists(host),
            Fault::Forget { host, peer, .. } => {
                host_exists(host)?;
                host_exists(peer)?;
                let neighbours = (host == GATEWAY) != (peer == GATEWAY);
                if neighbours { Ok(()) } else { Err(FaultRefused::NoPeer(host, peer)) }
            }
            Fault::LinkDown { link } | Fault::LinkUp { link } => link_exists(link),
            Fault::Conditions { link, ref config } => {
                link_exists(link)?;
                Ok(config.validate()?)
            }
        }
    }
}
