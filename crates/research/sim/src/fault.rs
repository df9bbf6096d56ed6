//! What may go wrong, or change, while a simulation runs.

use crate::addresses::GATEWAY;
use air::LinkConfig;
use std::net::SocketAddrV4;

/// One thing that happens to a host or a link. Hosts and links are named by their numbers
/// ([`crate::down_link`], [`crate::up_link`]).
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// A node forgets everything and starts again, as another boot. Nothing in the bare run.
    Reboot {
        /// Which host.
        host: usize,
    },
    /// A node loses what it stores for one peer ([`node::Node::forget`]). Nothing in the bare run.
    Forget {
        /// Which host.
        host: usize,
        /// The host that it is stored for.
        peer: usize,
        /// What was sent.
        sent: bool,
        /// What was received.
        received: bool,
    },
    /// A host's outer address changes; what is sent to the old one is lost. Nothing in the bare run.
    Move {
        /// Which host.
        host: usize,
        /// Where it is from now on.
        to: SocketAddrV4,
    },
    /// A link takes nothing any more; what is on it arrives.
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
        /// What they are from now on.
        config: Box<LinkConfig>,
    },
}

/// Why a mishap cannot be scheduled.
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
