//! `overheard peer`: the peers of a running node.

mod change;

use anyhow::bail;
use console::{Table, duration, say};
use daemon::config::{self, Change, Mistake, NewPeer};
use daemon::sockets::{self, Kind, SOCKET_DIRECTORY};
use daemon::status_socket::{Revoked, ask, revoke};
use dashboard::node::Report;
use node::PeerStatus;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// List the peers of local nodes; add or remove one on a running node; revoke the key of a peer
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List peers, their keys, addresses and sessions
    List {
        /// Print one JSON object in a line for each node
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        which: Which,
    },
    /// Add a peer to a running node: the sessions of all others stay
    Add {
        #[command(flatten)]
        peer: NewPeerArgs,
        /// Write the peer into the configuration, too; without it, a reload or restart undoes the change
        #[arg(long)]
        write: bool,
        #[command(flatten)]
        which: WhichOne,
    },
    /// Remove a peer from a running node: its session ends at once, and the sessions of all others stay
    Remove {
        /// The name of the peer, or its public key
        peer: String,
        /// Remove the peer from the configuration, too; without it, a reload or restart undoes the change
        #[arg(long)]
        write: bool,
        #[command(flatten)]
        which: WhichOne,
    },
    /// Revoke the key of a peer: its sessions end at once, and the node refuses its handshakes, also after
    /// a restart
    Revoke {
        /// The name of the peer, or its public key
        peer: String,
        #[command(flatten)]
        which: Which,
    },
}

#[derive(clap::Args)]
struct NewPeerArgs {
    /// The name of the new peer
    name: String,
    /// Its public key
    #[arg(long, value_name = "KEY")]
    public_key: String,
    /// The inner addresses behind it, with commas between them
    #[arg(long, value_name = "PREFIXES", value_delimiter = ',', required = true)]
    allowed_ips: Vec<String>,
    /// Its address or name, and its port; without it, the peer connects to this node
    #[arg(long)]
    endpoint: Option<String>,
    /// The file with a key that only this node and the peer have, relative to the configuration
    #[arg(long, value_name = "FILE")]
    preshared_key_file: Option<PathBuf>,
    /// The time without a packet after which a keepalive is sent; 0: never
    #[arg(long, value_name = "SECONDS")]
    keepalive_seconds: Option<u16>,
}

impl NewPeerArgs {
    fn change(&self) -> Change {
        Change::Add(NewPeer {
            name: self.name.clone(),
            public_key: self.public_key.clone(),
            endpoint: self.endpoint.clone(),
            allowed_ips: self.allowed_ips.clone(),
            preshared_key_file: self.preshared_key_file.clone(),
            keepalive_seconds: self.keepalive_seconds,
        })
    }
}

#[derive(clap::Args)]
struct WhichOne {
    /// The configuration of the node; without it, the local node
    config: Option<PathBuf>,
    /// The node's status socket
    #[arg(long, conflicts_with = "config")]
    socket: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Which {
    /// The configuration of the node; without it, all local nodes
    config: Option<PathBuf>,
    /// The node's status socket
    #[arg(long, conflicts_with = "config")]
    socket: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.action {
        Action::List { json, which } => list_all(&which.sockets()?, *json),
        Action::Add { peer, write, which } => change::make(&peer.change(), which, *write),
        Action::Remove { peer, write, which } => change::make(&Change::Remove(peer.clone()), which, *write),
        Action::Revoke { peer, which } => revoke_at_all(peer, &which.sockets()?),
    }
}

impl Which {
    fn sockets(&self) -> anyhow::Result<Vec<PathBuf>> {
        let sockets = match (&self.socket, &self.config) {
            (Some(socket), _) => vec![socket.clone()],
            (None, Some(config)) => vec![config::status_socket(config)?],
            (None, None) => sockets::here(Kind::Node),
        };
        if sockets.is_empty() {
            bail!(
                "no node runs here: there is no socket in {SOCKET_DIRECTORY}; start one with `overheard up`"
            );
        }
        Ok(sockets)
    }
}

fn list_all(sockets: &[PathBuf], json: bool) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for socket in sockets {
        let report = ask(socket)?;
        match json {
            true => writeln!(out, "{}", Listed::of(&report).line()?)?,
            false => table(&report).write(&mut out)?,
        }
    }
    Ok(())
}

fn table(report: &Report) -> Table {
    let mut table = Table::new(&["peer", "public key", "endpoint", "allowed ips", "session"]);
    for peer in &report.snapshot.node.peers {
        let endpoint = peer.endpoint.map_or_else(|| "-".to_owned(), |endpoint| endpoint.to_string());
        let allowed_ips = peer.allowed_ips.join(" ");
        table.row([peer.name.clone(), peer.public_key.clone(), endpoint, allowed_ips, session(peer)]);
    }
    table
}

/// The peers of a node, as JSON.
#[derive(serde::Serialize)]
struct Listed<'a> {
    interface: &'a str,
    peers: Vec<ListedPeer<'a>>,
}

#[derive(serde::Serialize)]
struct ListedPeer<'a> {
    name: &'a str,
    public_key: &'a str,
    endpoint: Option<SocketAddr>,
    allowed_ips: &'a [String],
    session_age_seconds: Option<f64>,
    reachable: bool,
    revoked: bool,
}

impl<'a> Listed<'a> {
    fn of(report: &'a Report) -> Self {
        let listed = |peer: &'a PeerStatus| ListedPeer {
            name: &peer.name,
            public_key: &peer.public_key,
            endpoint: peer.endpoint,
            allowed_ips: &peer.allowed_ips,
            session_age_seconds: peer.session_age_seconds,
            reachable: peer.reachable,
            revoked: peer.revoked,
        };
        let peers = report.snapshot.node.peers.iter().map(listed).collect();
        Listed { interface: &report.about.interface, peers }
    }

    fn line(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

fn session(peer: &PeerStatus) -> String {
    let age = peer.session_age_seconds.map(|age| duration(Duration::from_secs_f64(age.max(0.0))));
    match age {
        _ if peer.revoked => "revoked".to_owned(),
        Some(age) if peer.previous_network_key => format!("{age}, previous network key"),
        Some(age) => age,
        None => "-".to_owned(),
    }
}

fn revoke_at_all(wanted: &str, sockets: &[PathBuf]) -> anyhow::Result<()> {
    let mut found = Vec::new();
    let mut names = Vec::new();
    for socket in sockets {
        let report = ask(socket)?;
        for peer in report.snapshot.node.peers {
            if peer.name == wanted || peer.public_key == wanted {
                found.push((socket, report.about.interface.clone(), peer));
            } else {
                names.push(peer.name);
            }
        }
    }
    if found.is_empty() {
        let names = names.join(", ");
        bail!(Mistake::new(format!("no peer has the name or the public key {wanted:?}; there are {names}")));
    }
    let mut unsaved = Vec::new();
    for (socket, interface, peer) in found {
        let Revoked { file, not_saved } = revoke(socket, &peer.public_key)?;
        let had =
            if peer.session_age_seconds.is_some() { "its session is over" } else { "it had no session" };
        say!("{interface}: the key of {} is revoked; {had}, and its handshakes are refused", peer.name)?;
        match not_saved {
            None => say!("{}: the key is kept here; take its line out to undo this", file.display())?,
            Some(why) => unsaved.push(why),
        }
    }
    if !unsaved.is_empty() {
        let why = unsaved.join("; ");
        bail!(
            "the key is refused until the node ends and not longer: {why}; take the peer out of the configuration"
        );
    }
    Ok(())
}
