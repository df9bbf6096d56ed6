//! Nodes of the mesh whose next hop the routing protocol knows.

use super::Mistake;
use super::file::{Destination, File, Role};
use super::resolve::nets;
use crate::next_hops::{Neighbours, Settings};
use node::PeerConfig;
use std::net::IpAddr;
use std::path::Path;

const REFRESH_SECONDS: u32 = 1;
/// The bound exists because each destination is looked up in the whole table at every query.
const MOST_DESTINATIONS: usize = 1024;

/// The value of `[routing]` and of the `[[destination]]`s in the file at `path`: the node's destinations, and
/// the source of their next hops.
pub fn destinations(
    path: &Path,
    file: &File,
    peers: &[PeerConfig],
) -> Result<(Vec<node::Destination>, Option<Settings>), Mistake> {
    let mistake = |key: &str, what: String| Err(Mistake::at(path, key, what));
    let Some(routing) = &file.routing else {
        return match file.destination.first() {
            None => Ok((Vec::new(), None)),
            Some(first) => mistake(
                &key(first, "address"),
                "nothing says how it is reached; add [routing] with source = \"babeld\" or another one"
                    .to_owned(),
            ),
        };
    };
    if file.destination.is_empty() {
        return mistake(
            "[routing]",
            "there is no [[destination]] to find the way to; add one, or take it out".to_owned(),
        );
    }
    if file.destination.len() > MOST_DESTINATIONS {
        let what = format!("there are {}, and at most {MOST_DESTINATIONS}", file.destination.len());
        return mistake("[[destination]]", what);
    }
    if !file.gateway.is_empty() && file.node.role != Role::Relay {
        let what = "goes by who is associated with whom, and a [[destination]] by routes; write a [[peer]]";
        return mistake("[[gateway]]", what.to_owned());
    }
    if file.node.threads.is_some_and(|threads| threads > 1) {
        return mistake(
            "[node] threads",
            "the ways to destinations are known to one thread; take it out".to_owned(),
        );
    }
    if file.tunnel.when_down == super::file::WhenDown::Open {
        let what = "\"open\" withdraws the routes of peers, and a [[destination]] is none; take it out";
        return mistake("[tunnel] when_down", what.to_owned());
    }
    let mut nodes: Vec<node::Destination> = Vec::new();
    for (at, destination) in file.destination.iter().enumerate() {
        if file.destination[..at].iter().any(|other| other.address == destination.address) {
            return mistake(&key(destination, "address"), "it is there twice; take one out".to_owned());
        }
        let allowed_ips = nets(path, &key(destination, "allowed_ips"), &destination.allowed_ips)?;
        if allowed_ips.is_empty() {
            let what = "is empty; say which addresses are reached through it, such as [\"10.9.0.2/32\"]";
            return mistake(&key(destination, "allowed_ips"), what.to_owned());
        }
        nodes.push(node::Destination { name: destination.address.to_string(), allowed_ips });
    }
    let neighbours: Vec<Neighbours> =
        file.destination.iter().map(|it| neighbours(file, peers, it.address)).collect();
    if let Some(lonely) = neighbours.iter().position(Neighbours::is_empty) {
        let what = "no peer with an endpoint says relays = true, so that nobody can be the way to it; say it of those that are \
                    relays";
        return mistake(&key(&file.destination[lonely], "address"), what.to_owned());
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let refresh = routing.refresh_seconds.unwrap_or(REFRESH_SECONDS);
    let (file, socket) = (routing.file.as_deref(), routing.socket.as_deref());
    let source = routing::Settings::new(routing.source, file, folder, socket, refresh);
    let source = source.map_err(|(key, what)| Mistake::at(path, key, what))?;
    Ok((nodes, Some(Settings { source, destinations: neighbours })))
}

/// The possible next hops to the node at `address`: relays, and itself.
fn neighbours(file: &File, peers: &[PeerConfig], address: IpAddr) -> Neighbours {
    let mut neighbours = Neighbours::of(address);
    let is_relay = |index: usize| match file.peer.get(index) {
        Some(peer) => peer.relays,
        None => file.node.role == Role::Relay, // a [[gateway]], which is a relay as this node is
    };
    for (index, peer) in peers.iter().enumerate() {
        let Some(endpoint) = peer.endpoint else { continue };
        if is_relay(index) || endpoint.ip() == address {
            neighbours.add(index, endpoint.ip());
        }
    }
    neighbours
}

fn key(destination: &Destination, key: &str) -> String {
    format!("[[destination]] {:?} {key}", destination.address.to_string())
}
