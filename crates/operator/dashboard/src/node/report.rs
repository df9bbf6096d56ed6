//! A node's report: its constant and its changing parts.

use io::Snapshot;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The constant part of a node's report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct About {
    /// The version of the program.
    pub version: String,
    /// The configuration file.
    pub config: PathBuf,
    /// The role: `gateway`, `station` or `relay`.
    pub role: String,
    /// The name of the TUN device.
    pub interface: String,
    /// The MTU of the TUN device, in bytes.
    pub mtu: u16,
    /// The address and port of the node.
    pub listen: String,
    /// The congestion control that boosts TCP senders here, or the reason against it. None without `boost`.
    #[serde(default)]
    pub boost: Option<String>,
}

impl About {
    /// The constant part of a node that has been set up.
    pub fn new(config: &Path, role: impl Display, settings: &io::Settings, listen: SocketAddr) -> Self {
        About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            config: config.to_owned(),
            role: role.to_string(),
            interface: settings.interface.clone(),
            mtu: settings.mtu,
            listen: listen.to_string(),
            boost: None,
        }
    }
}

/// A node's report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The constant part.
    #[serde(flatten)]
    pub about: About,
    /// The changing part.
    #[serde(flatten)]
    pub snapshot: Snapshot,
    /// Counters of split connections. None without `split`.
    #[serde(default)]
    pub split: Option<split::Counts>,
    /// The peers with an `endpoint` in the configuration that have not answered for four seconds or more.
    #[serde(default)]
    pub silent: Vec<Silent>,
}

/// A peer that does not answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Silent {
    /// The name of the peer in the configuration.
    pub peer: String,
    /// The time since the node began to wait for an answer, in seconds.
    pub seconds: f64,
    /// The known reason, and what to do.
    pub reason: String,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use node::{PeerCounters, PeerStatus, Refused, Status};

    /// A peer without any data.
    pub fn peer(name: &str) -> PeerStatus {
        PeerStatus {
            name: name.to_owned(),
            public_key: format!("key of {name}"),
            endpoint: Some("192.0.2.2:4780".parse().unwrap()),
            allowed_ips: Vec::new(),
            reachable: true,
            previous_network_key: false,
            revoked: false,
            session_age_seconds: Some(30.0),
            version: Some(1),
            cipher: None,
            store_bytes: Some(1 << 24),
            stores: None,
            srtt_seconds: Some(0.04),
            source_ports: 1,
            heard_ports: 1,
            path_mtu_bytes: Some(1500),
            path_mtu_confirmed: true,
            loss: Some(0.012),
            queueing_seconds: Some(0.021),
            window_bytes: Some(60_000),
            paced_bits_per_second: Some(20_000_000),
            radio_bits_per_second: None,
            overheard_share: None,
            overheard_by_rate: Vec::new(),
            overheard_by: None,
            associated: None,
            associated_with: None,
            queue_bytes: 0,
            recover: None,
            streams: None,
            boosted_flows: 0,
            boost_ratio: None,
            counters: PeerCounters::default(),
        }
    }

    /// A node with these peers.
    pub fn status(uptime_seconds: f64, peers: Vec<PeerStatus>) -> Status {
        Status {
            public_key: "BBBB".to_owned(),
            boot: 1,
            uptime_seconds,
            policy: "adaptive".to_owned(),
            peers,
            memory: None,
            destinations: Vec::new(),
            sharing: None,
            collisions: 0,
            refused: Refused::default(),
        }
    }

    /// A gateway with these peers.
    pub fn report(uptime_seconds: f64, peers: Vec<PeerStatus>) -> Report {
        Report {
            split: None,
            silent: Vec::new(),
            about: About {
                version: "0.1.0".to_owned(),
                config: "gateway.toml".into(),
                role: "gateway".to_owned(),
                interface: "overheard0".to_owned(),
                mtu: 1420,
                listen: "[::]:4780".to_owned(),
                boost: None,
            },
            snapshot: Snapshot {
                node: status(uptime_seconds, peers),
                io: io::Counters::default(),
                overheard: None,
            },
        }
    }
}
