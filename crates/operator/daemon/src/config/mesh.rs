//! Relays: the packets that this node forwards, and the peers from which it accepts others' packets.

use super::Mistake;
use super::file::{File, Role};
use node::{Destination, Mesh, PeerConfig};
use std::path::Path;

/// The value of the relay settings in the file at `path`.
pub fn mesh(
    path: &Path,
    file: &File,
    peers: &[PeerConfig],
    destinations: Vec<Destination>,
) -> Result<Mesh, Mistake> {
    let forwards = file.node.role == Role::Relay;
    if forwards && peers.len() < 2 {
        let what = "there is one alone, and a relay passes on from one peer to another; add the others";
        return Err(Mistake::at(path, "[[peer]]", what));
    }
    if forwards && !file.gateway.is_empty() && file.overhear.is_none() {
        let what = "another relay's table is for what common stations overheard, and there is no [overhear]; add it, or write a \
                    [[peer]]";
        return Err(Mistake::at(path, "[[gateway]]", what));
    }
    let relays: Vec<usize> =
        file.peer.iter().enumerate().filter(|(_, it)| it.relays).map(|(at, _)| at).collect();
    if (forwards || !relays.is_empty()) && file.node.threads.is_some_and(|threads| threads > 1) {
        let what = "what passes from peer to peer stays on one thread; take it out";
        return Err(Mistake::at(path, "[node] threads", what));
    }
    let codes = file.overhear.as_ref().is_some_and(|overhear| overhear.network_coding);
    Ok(Mesh { forwards, relays, codes, destinations })
}
