//! The ground that most experiments stand on: a gateway with a content server, a station, and the air between
//! them, either bare or under the tunnel.

use air::LinkConfig;
use anyhow::Context;
use lab::{Daemon, Link, Medium, Place, Ready, Topology};
use node::{NetworkKey, PrivateKey};
use rand::SeedableRng;
use rand_chacha::ChaCha12Rng;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// The place that serves.
pub const GATEWAY: &str = "gateway";
/// The place that fetches.
pub const STATION: &str = "station";
/// The link between them.
pub const AIR: &str = "air";

/// What carries packets over the air.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carrier {
    /// Nothing of ours: plain IP.
    Bare,
    /// The tunnel, with this `[reduce]` table.
    Tunnel {
        /// The reference policy's name.
        policy: String,
        /// Further lines of the table.
        settings: String,
    },
}

impl Carrier {
    /// The tunnel with a policy and the default settings.
    #[must_use]
    pub fn tunnel(policy: &str) -> Self {
        Carrier::Tunnel { policy: policy.to_owned(), settings: String::new() }
    }
}

/// Keys for a gateway and a station, in files that live as long as this.
pub struct Pair {
    folder: TempDir,
    keys: [PrivateKey; 2],
}

impl Pair {
    /// Keys from a seed: they are of no secret network, and the same run must use the same keys.
    pub fn new(seed: u64) -> anyhow::Result<Self> {
        let rng = &mut ChaCha12Rng::seed_from_u64(seed);
        let keys = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
        let folder = tempfile::Builder::new().prefix("overheard-keys-").tempdir().context("make a folder for keys")?;
        for (name, key) in [GATEWAY, STATION].into_iter().zip(&keys) {
            write(folder.path(), name, &key.to_string())?;
        }
        write(folder.path(), "network", &NetworkKey::generate(rng).to_string())?;
        Ok(Pair { folder, keys })
    }

    /// Both places and the air between them, `down` to the station and `up` to the gateway.
    #[must_use]
    pub fn topology(down: &LinkConfig, up: &LinkConfig) -> Topology {
        let place = |name: &str| Place { name: name.to_owned(), ..Place::default() };
        let link = Link {
            name: AIR.to_owned(),
            ends: [GATEWAY.to_owned(), STATION.to_owned()],
            medium: Medium::Air { forward: down.clone(), backward: up.clone() },
            mtu_bytes: 1500,
        };
        Topology { places: vec![place(GATEWAY), place(STATION)], links: vec![link] }
    }

    /// Where the station finds the gateway's content server.
    #[must_use]
    pub fn server(carrier: &Carrier) -> IpAddr {
        match carrier {
            Carrier::Bare => IpAddr::from([10, 77, 0, 1]),
            Carrier::Tunnel { .. } => IpAddr::from([10, 80, 0, 1]),
        }
    }

    /// Where the gateway reaches the station.
    #[must_use]
    pub fn station(carrier: &Carrier) -> IpAddr {
        match carrier {
            Carrier::Bare => IpAddr::from([10, 77, 0, 2]),
            Carrier::Tunnel { .. } => IpAddr::from([10, 80, 0, 2]),
        }
    }

    /// The nodes: none for the bare link.
    #[must_use]
    pub fn daemons(&self, carrier: &Carrier) -> Vec<Daemon> {
        let Carrier::Tunnel { policy, settings } = carrier else { return Vec::new() };
        let reduce = format!("[reduce]\npolicy = \"{policy}\"\n{settings}\n");
        let nodes = [(GATEWAY, 1, STATION, 2, ""), (STATION, 2, GATEWAY, 1, "endpoint = \"10.77.0.1:4780\"\n")];
        let daemon = |(name, own, other, others, endpoint): (&str, u8, &str, u8, &str)| {
            let (folder, public) = (self.folder.path().display(), self.keys[usize::from(others) - 1].public());
            Daemon {
                name: name.to_owned(),
                place: name.to_owned(),
                command: ["{exe}", "lab-node", "{config}"].map(str::to_owned).to_vec(),
                config: format!(
                    "[node]\nrole = \"{name}\"\nprivate_key_file = \"{folder}/{name}\"\n\
                     network_key_file = \"{folder}/network\"\nstatus_socket = \"{{socket}}\"\n\
                     [tunnel]\ninterface = \"oh0\"\naddresses = [\"10.80.0.{own}/24\", \"fd80::{own}/64\"]\n\
                     [[peer]]\nname = \"{other}\"\npublic_key = \"{public}\"\n{endpoint}\
                     allowed_ips = [\"10.80.0.{others}/32\", \"fd80::{others}/128\"]\n{reduce}"
                ),
                ready: Ready::Path("{socket}".to_owned()),
                status: ["{exe}", "status", "--socket", "{socket}", "--json"].map(str::to_owned).to_vec(),
                later: false,
            }
        };
        nodes.into_iter().map(daemon).collect()
    }
}

fn write(folder: &Path, name: &str, key: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    fs::write(&path, key)
        .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)))
        .with_context(|| format!("cannot write {}", path.display()))
}
