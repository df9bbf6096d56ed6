//! `overheard peer`: actions on one peer of a running node.

use anyhow::bail;
use console::{Table, duration, say};
use daemon::config::{self, Mistake};
use daemon::sockets::{self, Kind, SOCKET_DIRECTORY};
use daemon::status_socket::{Revoked, ask, revoke};
use dashboard::node::Report;
use node::PeerStatus;
use std::path::PathBuf;
use std::time::Duration;

/// List the peers of local nodes, or revoke the key of a peer
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List peers, their keys, and revoked keys
    List(Which),
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
struct Which {
    /// The configuration of the node; without it, all local nodes
    config: Option<PathBuf>,
    /// The node's status socket
    #[arg(long, conflicts_with = "config")]
    socket: Option<PathBuf>,
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    match &args.action {
        Action::List(which) => which.sockets()?.iter().try_for_each(|socket| list(&ask(socket)?)),
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

fn list(report: &Report) -> anyhow::Result<()> {
    let mut table = Table::new(&["peer", "public key", "session"]);
    for peer in &report.snapshot.node.peers {
        table.row([peer.name.clone(), peer.public_key.clone(), session(peer)]);
    }
    let mut out = std::io::stdout().lock();
    Ok(table.write(&mut out)?)
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
