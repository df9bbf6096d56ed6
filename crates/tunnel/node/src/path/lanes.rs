//! Lanes: several source ports for one peer, so that what stands between the two nodes and treats flows apart
//! (equal-cost paths, policers, address translation) sees several.
//!
//! Only a node that knows the address of its peer uses several ports. The other answers each lane from its
//! one port to the lane's address, because an address translator passes nothing else. An inner flow keeps to
//! one lane, so that lanes do not reorder it. Lane 0 is the peer's endpoint: handshakes go there, and its
//! units have the same form as without lanes. A unit from another lane begins with a frame that names the
//! lane. By it the receiver distinguishes a lane from a peer that has moved. Every lane has keepalives of its
//! own.

use crate::path::endpoint::Age;
use std::net::SocketAddr;
use std::time::Duration;

/// The most lanes.
pub const MAX_LANES: usize = 16;

/// Where the peer's units of a lane come from.
#[derive(Debug, Clone, Copy)]
struct Heard {
    address: SocketAddr,
    unit: Age,
}

/// One peer's lanes, ours and its.
#[derive(Debug)]
pub struct Lanes {
    /// How many source ports we use.
    own: usize,
    /// When a ping goes out on each of ours but the first.
    ping_at: [Option<Duration>; MAX_LANES],
    /// Where the peer's are, but the first.
    heard: [Option<Heard>; MAX_LANES],
    /// How many the peer uses.
    theirs: usize,
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes { own: 1, ping_at: [None; MAX_LANES], heard: [None; MAX_LANES], theirs: 1 }
    }
}

impl Lanes {
    /// From now on this node uses `own` source ports, and says so on each at once.
    pub fn open(&mut self, now: Duration, own: usize) {
        if self.own != own {
            self.own = own.clamp(1, MAX_LANES);
            self.ping_at = [None; MAX_LANES];
            self.ping_at[1..self.own].fill(Some(now));
        }
    }

    /// Nothing is known any more.
    pub fn close(&mut self) {
        *self = Lanes::default();
    }

    /// How many there are: flows are spread over so many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.own.max(self.theirs)
    }

    /// How many of our source ports are in use, and how many of the peer's are known.
    #[must_use]
    pub fn ports(&self) -> (usize, usize) {
        (self.own, 1 + self.heard[1..].iter().flatten().count())
    }

    /// Index of the lane's source port.
    #[must_use]
    pub fn source_port(&self, lane: usize) -> usize {
        lane % self.own
    }

    /// Address of a lane's far end, for a peer with this endpoint.
    #[must_use]
    pub fn address(&self, lane: usize, endpoint: SocketAddr) -> SocketAddr {
        self.heard[lane % self.theirs].map_or(endpoint, |heard| heard.address)
    }

    /// An authenticated unit of the peer's lane `lane` came from `address`; one that is older than what was
    /// heard on that lane moves nothing. `false`: there is no such lane.
    #[must_use]
    pub fn hear(&mut self, lane: u8, address: SocketAddr, unit: Age) -> bool {
        let lane = usize::from(lane);
        if !(1..MAX_LANES).contains(&lane) {
            return false;
        }
        if self.heard[lane].is_some_and(|before| before.unit > unit) {
            return true;
        }
        self.move_to(address);
        self.heard[lane] = Some(Heard { address, unit });
        self.theirs = self.theirs.max(lane + 1);
        true
    }

    /// The peer is at another address: the known addresses of other lanes are out of date.
    pub fn move_to(&mut self, address: SocketAddr) {
        for heard in &mut self.heard {
            *heard = heard.filter(|heard| heard.address.ip() == address.ip());
        }
    }

    /// A datagram left on a lane: its keepalive waits anew.
    pub fn sent(&mut self, lane: usize, next: Option<Duration>) {
        let port = self.source_port(lane);
        if port > 0 {
            self.ping_at[port] = next;
        }
    }

    /// The lane whose ping is due, beside the first.
    #[must_use]
    pub fn due(&self, now: Duration) -> Option<usize> {
        self.ping_at.iter().position(|at| at.is_some_and(|at| at <= now))
    }

    /// When the next ping is due.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.ping_at.iter().flatten().min().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Duration = Duration::from_secs(1);
    const NEW: Duration = Duration::from_secs(2);

    fn at(port: u16) -> SocketAddr {
        ([192, 0, 2, 7], port).into()
    }

    #[test]
    fn a_lane_is_where_its_newest_unit_came_from_and_unknown_ones_are_at_the_endpoint() {
        let mut lanes = Lanes::default();
        assert!(lanes.hear(3, at(1003), (OLD, 10)) && lanes.hear(1, at(1001), (OLD, 11)));
        assert_eq!(lanes.count(), 4);
        let found = [0, 1, 2, 3, 4, 5].map(|lane| lanes.address(lane, at(1)).port());
        assert_eq!(found, [1, 1001, 1, 1003, 1, 1001]);
        assert!(lanes.hear(3, at(2003), (OLD, 9)), "overtaken");
        assert_eq!(lanes.address(3, at(1)), at(1003));
        assert!(lanes.hear(3, at(2003), (NEW, 0)), "under new keys");
        assert_eq!(lanes.address(3, at(1)), at(2003));
        assert!(lanes.hear(3, at(1003), (OLD, 12)), "under keys before these: withheld on the way");
        assert_eq!(lanes.address(3, at(1)), at(2003));
        assert!([0, 16, 255].iter().all(|&lane| !lanes.hear(lane, at(9), (NEW, 1))));
        let elsewhere = SocketAddr::from(([198, 51, 100, 1], 77));
        assert!(lanes.hear(1, elsewhere, (NEW, 2)));
        assert_eq!(lanes.address(3, elsewhere), elsewhere, "it has moved as a whole");
    }

    #[test]
    fn every_lane_has_a_keepalive_of_its_own() {
        let second = Duration::from_secs(1);
        let mut lanes = Lanes::default();
        assert_eq!(lanes.due(second), None, "the first has the peer's own");
        lanes.open(second, 3);
        assert_eq!(lanes.due(second), Some(1));
        lanes.sent(1, Some(26 * second));
        lanes.sent(0, Some(99 * second));
        assert_eq!(lanes.due(second), Some(2));
        lanes.sent(2, Some(27 * second));
        assert_eq!((lanes.due(second), lanes.timeout()), (None, Some(26 * second)));
        lanes.sent(4, Some(40 * second));
        assert_eq!(lanes.timeout(), Some(27 * second), "what leaves is as good as a ping");
    }
}
