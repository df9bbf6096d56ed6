//! The node's next hops follow the mesh's routing protocol (REfactor, section 2.2.2), which is queried once a
//! second.

use io::Control;
use routing::Routes;
use std::net::IpAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// Source and destinations of next hops.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The source.
    pub source: routing::Settings,
    /// The neighbours of each destination, in the node's order.
    pub destinations: Vec<Neighbours>,
}

/// A destination, and the peers that may be its next hop.
#[derive(Debug, Clone)]
pub struct Neighbours {
    destination: IpAddr,
    peers: Vec<usize>,
    /// Address of each peer.
    addresses: Vec<IpAddr>,
}

impl Neighbours {
    /// No peers, for the destination whose radio has this address.
    pub fn of(destination: IpAddr) -> Self {
        Neighbours { destination, peers: Vec::new(), addresses: Vec::new() }
    }

    /// Adds the peer of this index, whose radio has this address.
    pub fn add(&mut self, peer: usize, address: IpAddr) {
        self.peers.push(peer);
        self.addresses.push(address);
    }

    /// Whether there are no peers.
    pub fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    /// The next hop. Without a route, a destination that is a peer itself is tried directly, because it may
    /// not run the routing protocol.
    fn next_hop(&self, routes: &Routes) -> Option<usize> {
        let found = routes.neighbour_on_the_way(self.destination, &self.addresses);
        let itself = || self.addresses.iter().position(|address| *address == self.destination);
        found.or_else(itself).map(|index| self.peers[index])
    }
}

/// Follows a source in a thread of its own, until it is dropped.
pub struct NextHops {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl NextHops {
    /// Starts. A source without an answer leaves the next hops unchanged, and is queried again.
    pub fn follow(settings: Settings, control: Control) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("next hops".to_owned()).spawn(move || {
            follow(&settings, &control, &runtime, &stopped);
        })?;
        Ok(NextHops { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for NextHops {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing.
            let _ = thread.join();
        }
    }
}

fn follow(settings: &Settings, control: &Control, runtime: &tokio::runtime::Runtime, stopped: &Receiver<()>) {
    let (mut told, mut answers) = (Vec::new(), true);
    loop {
        match runtime.block_on(routing::source::read(&settings.source)) {
            Ok(routes) => {
                let routes = Routes::new(routes, Vec::new());
                let next_hops: Vec<Option<usize>> =
                    settings.destinations.iter().map(|it| it.next_hop(&routes)).collect();
                if next_hops != told && control.next_hops(&next_hops) {
                    told = next_hops;
                }
                answers = true;
            }
            Err(why) => {
                // Logged once, not every second.
                if std::mem::take(&mut answers) {
                    tracing::warn!("next hops stay as they are: {why}");
                }
            }
        }
        if stopped.recv_timeout(settings.source.refresh) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use routing::babeld;

    fn address(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn routes(by: Option<u8>) -> Routes {
        let to = |to: u8, by: u8, refmetric: u32| {
            format!(
                "add route {to} prefix 192.0.2.{to}/32 from 0.0.0.0/0 installed yes id aa metric {} refmetric {refmetric} \
                 via 192.0.2.{by} if radio\n",
                96 + refmetric
            )
        };
        let mut dump = String::new();
        for last in [2, 3] {
            dump += &format!(
                "add neighbour {last} address fe80::{last} if radio reach ffff ureach 0000 rxcost 96 txcost 96 cost 96\n"
            );
            dump += &to(last, last, 0);
        }
        dump += &by.map(|by| to(4, by, 96)).unwrap_or_default();
        Routes::new(babeld::parse(&dump, |_| 7), Vec::new())
    }

    #[test]
    fn the_peer_on_the_way_is_the_next_hop_and_a_peer_without_a_way_is_its_own() {
        let mut far = Neighbours::of(address(4));
        far.add(5, address(2));
        far.add(9, address(3));
        assert_eq!(far.next_hop(&routes(Some(2))), Some(5));
        assert_eq!(far.next_hop(&routes(Some(3))), Some(9));
        assert_eq!(far.next_hop(&routes(None)), None);
        far.add(1, address(4));
        assert_eq!(far.next_hop(&routes(Some(3))), Some(9));
        assert_eq!(far.next_hop(&routes(None)), Some(1));
    }
}
