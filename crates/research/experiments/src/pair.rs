//! The environment of most experiments: a gateway with a content server, a station, and the air between them,
//! bare or under the tunnel.

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
/// The place that serves when there is a long wire between it and the gateway.
pub const SERVER: &str = "server";

/// The table of nodes without forward error correction and without control of the queue: the papers'
/// mechanisms are measured beside ARQ alone.
pub const WITHOUT_REPAIRS: &str = "[link]\nfec = \"off\"\ncontrol = \"off\"\n";

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

/// The program that runs a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The shipped one.
    Shipped,
    /// The laboratory's, for what the papers have and the product has not.
    Laboratory,
}

impl Program {
    /// The command of a daemon that runs a node with this configuration.
    #[must_use]
    pub fn runs(self, config: &str) -> Vec<String> {
        let program = match self {
            Program::Shipped => ["{overheard}", "up"],
            Program::Laboratory => ["{lab}", "node"],
        };
        program.into_iter().chain([config]).map(str::to_owned).collect()
    }
}

impl Carrier {
    /// The program of its nodes: the shipped one if it can run them.
    #[must_use]
    pub fn program(&self) -> Program {
        match self {
            Carrier::Tunnel { policy, settings }
                if policy.parse::<re::Policy>().is_err() || settings.contains("form =") =>
            {
                Program::Laboratory
            }
            Carrier::Tunnel { .. } | Carrier::Bare => Program::Shipped,
        }
    }

    /// The tunnel with a policy and the default settings.
    #[must_use]
    pub fn tunnel(policy: &str) -> Self {
        Carrier::Tunnel { policy: policy.to_owned(), settings: String::new() }
    }
}

/// Keys of a gateway and a station.
pub struct Keys {
    private: [PrivateKey; 2],
    network: NetworkKey,
}

/// Where the nodes of a tunnel are, and what the station reaches through it.
#[derive(Debug, Clone, Copy)]
pub struct Ends<'a> {
    /// The gateway's place.
    pub gateway: &'a str,
    /// The station's place.
    pub station: &'a str,
    /// Address and port of the gateway's node.
    pub endpoint: &'a str,
    /// Networks beyond the gateway.
    pub beyond: &'a [String],
}

impl Keys {
    /// Keys from a seed: they are of no secret network, and the same run must use the same keys.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let rng = &mut ChaCha12Rng::seed_from_u64(seed);
        let private = [PrivateKey::generate(rng), PrivateKey::generate(rng)];
        Keys { private, network: NetworkKey::generate(rng) }
    }

    /// The files that nodes read, by their names.
    #[must_use]
    pub fn files(&self) -> [(&'static str, String); 3] {
        let [gateway, station] = &self.private;
        let network = self.network.to_string();
        [(GATEWAY, gateway.to_string()), (STATION, station.to_string()), ("network", network)]
    }

    /// The nodes, with the key files in `folder`: none for the bare link. They are without repairs.
    #[must_use]
    pub fn daemons(&self, folder: &str, carrier: &Carrier, ends: &Ends<'_>) -> Vec<Daemon> {
        let Carrier::Tunnel { policy, settings } = carrier else { return Vec::new() };
        let reduce = format!("policy = \"{policy}\"\n{settings}");
        let node = |role, place, own: u8, other: u8| {
            let is_station = role == Role::Station;
            let beyond = if is_station { ends.beyond } else { &[] };
            let beyond: String = beyond.iter().map(|network| format!("\"{network}\", ")).collect();
            self.node(
                folder,
                &Node {
                    role,
                    place,
                    tunnel: &format!(
                        "interface = \"oh0\"\naddresses = [\"10.80.0.{own}/24\", \"fd80::{own}/64\"]"
                    ),
                    endpoint: is_station.then_some(ends.endpoint),
                    allowed_ips: &format!("{beyond}\"10.80.0.{other}/32\", \"fd80::{other}/128\""),
                    reduce: &reduce,
                    program: carrier.program(),
                },
            )
        };
        vec![node(Role::Gateway, ends.gateway, 1, 2), node(Role::Station, ends.station, 2, 1)]
    }

    /// One of the two nodes as a daemon, which is called after its place and role.
    fn node(&self, folder: &str, node: &Node<'_>) -> Daemon {
        let [gateway, station] = &self.private;
        let (name, other, key) = match node.role {
            Role::Gateway => (GATEWAY, STATION, station),
            Role::Station => (STATION, GATEWAY, gateway),
        };
        let public = key.public();
        let endpoint =
            node.endpoint.map(|endpoint| format!("endpoint = \"{endpoint}\"\n")).unwrap_or_default();
        let Node { tunnel, allowed_ips, reduce, place, .. } = node;
        Daemon {
            name: if *place == name { name.to_owned() } else { format!("{place}-{name}") },
            place: (*place).to_owned(),
            command: node.program.runs("{config}"),
            config: format!(
                "{WITHOUT_REPAIRS}[node]\nrole = \"{name}\"\nprivate_key_file = \"{folder}/{name}\"\n\
                 network_key_file = \"{folder}/network\"\nrevoked_file = \"{folder}/{name}.revoked\"\n\
                 status_socket = \"{{socket}}\"\n\
                 [tunnel]\n{tunnel}\n\
                 [[peer]]\nname = \"{other}\"\npublic_key = \"{public}\"\n{endpoint}\
                 allowed_ips = [{allowed_ips}]\n[reduce]\n{reduce}\n"
            ),
            ready: Ready::Path("{socket}".to_owned()),
            status: ["{overheard}", "status", "--socket", "{socket}", "--json"].map(str::to_owned).to_vec(),
            later: false,
            within_seconds: None,
        }
    }
}

/// A node with forward error correction and control of the hop, as by default.
#[must_use]
pub fn with_repairs(daemon: Daemon) -> Daemon {
    Daemon { config: daemon.config.replacen(WITHOUT_REPAIRS, "", 1), ..daemon }
}

/// Keys for a gateway and a station, in files that live as long as this.
pub struct Pair {
    folder: TempDir,
    keys: Keys,
}

impl Pair {
    /// Keys from a seed.
    pub fn new(seed: u64) -> anyhow::Result<Self> {
        let keys = Keys::new(seed);
        let folder =
            tempfile::Builder::new().prefix("overheard-keys-").tempdir().context("make a folder for keys")?;
        for (name, key) in keys.files() {
            write(folder.path(), name, &key)?;
        }
        Ok(Pair { folder, keys })
    }

    /// The folder of the key files, which configurations name.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
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
        Topology { places: vec![place(GATEWAY), place(STATION)], links: vec![link], ..Topology::default() }
    }

    /// The same with a server at the other end of a wire, which does the same in both directions.
    #[must_use]
    pub fn topology_with_wire(down: &LinkConfig, up: &LinkConfig, wire: &LinkConfig) -> Topology {
        let wire = Medium::Air { forward: wire.clone(), backward: wire.clone() };
        Topology::behind_gateway(down.clone(), up.clone(), wire)
    }

    /// Address of the server at the other end of the wire, for the station, with or without a tunnel.
    #[must_use]
    pub fn far_server() -> IpAddr {
        IpAddr::from([10, 77, 1, 1])
    }

    /// Address of the gateway's content server, for the station.
    #[must_use]
    pub fn server(carrier: &Carrier) -> IpAddr {
        match carrier {
            Carrier::Bare => IpAddr::from([10, 77, 0, 1]),
            Carrier::Tunnel { .. } => IpAddr::from([10, 80, 0, 1]),
        }
    }

    /// Address of the station, for the gateway.
    #[must_use]
    pub fn station(carrier: &Carrier) -> IpAddr {
        match carrier {
            Carrier::Bare => IpAddr::from([10, 77, 0, 2]),
            Carrier::Tunnel { .. } => IpAddr::from([10, 80, 0, 2]),
        }
    }

    /// The nodes with forward error correction, as by default.
    #[must_use]
    pub fn daemons_with_repairs(&self, carrier: &Carrier) -> Vec<Daemon> {
        self.daemons(carrier).into_iter().map(with_repairs).collect()
    }

    /// The nodes: none for the bare link. The station reaches the far server, also where there is none.
    #[must_use]
    pub fn daemons(&self, carrier: &Carrier) -> Vec<Daemon> {
        let ends = Ends {
            gateway: GATEWAY,
            station: STATION,
            endpoint: "10.77.0.1:4780",
            beyond: &[format!("{}/32", Self::far_server())],
        };
        self.keys.daemons(&self.folder.path().to_string_lossy(), carrier, &ends)
    }

    /// One of the two nodes as a daemon, which is called after its place and role.
    #[must_use]
    pub fn node(&self, node: &Node<'_>) -> Daemon {
        self.keys.node(&self.folder.path().to_string_lossy(), node)
    }
}

/// The role of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It waits for the station.
    Gateway,
    /// It connects to the gateway.
    Station,
}

/// The individual settings of a node.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// The node's role.
    pub role: Role,
    /// Its place.
    pub place: &'a str,
    /// The lines of its `[tunnel]` table.
    pub tunnel: &'a str,
    /// Address of the other node, if this one connects to it.
    pub endpoint: Option<&'a str>,
    /// The elements of its peer's `allowed_ips`.
    pub allowed_ips: &'a str,
    /// The lines of its `[reduce]` table.
    pub reduce: &'a str,
    /// The program that runs it.
    pub program: Program,
}

fn write(folder: &Path, name: &str, key: &str) -> anyhow::Result<()> {
    let path = folder.join(name);
    fs::write(&path, key)
        .and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o600)))
        .with_context(|| format!("cannot write {}", path.display()))
}
