//! Clients that received a content before, in bounded memory.

use crate::flow::Toward;
use crate::packet::{Client, Packet};
use foldhash::fast::{FixedState, RandomState};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

/// The clients of one content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clients {
    One(Client),
    /// The pairs name them.
    Several,
}

/// Earlier occurrence of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Never,
    BySameClient,
    ByAnotherOnly,
}

/// Remembers contents by fingerprint, for each direction.
#[derive(Debug)]
pub(super) struct Receivers {
    fingerprints: FixedState,
    clients: HashMap<u64, Clients, RandomState>,
    pairs: HashSet<(u64, Client), RandomState>,
    bound: usize,
    was_full: bool,
}

impl Receivers {
    /// Remembers at most this many contents and pairs of content and client; later ones are ignored.
    pub(super) fn new(bound: usize) -> Self {
        Receivers {
            fingerprints: FixedState::default(),
            clients: HashMap::default(),
            pairs: HashSet::default(),
            bound,
            was_full: false,
        }
    }

    /// Whether something was ignored.
    pub(super) fn was_full(&self) -> bool {
        self.was_full
    }

    /// Looks up a content of a packet, and remembers its client.
    pub(super) fn look_up(&mut self, content: &[u8], packet: &Packet<'_>) -> Seen {
        let fingerprint = self.fingerprints.hash_one((content, packet.toward == Toward::Client));
        let client = packet.client;
        let full = self.clients.len() + self.pairs.len() >= self.bound;
        let seen = match self.clients.get(&fingerprint) {
            None => Seen::Never,
            Some(&Clients::One(first)) if first == client => Seen::BySameClient,
            Some(Clients::One(_)) => Seen::ByAnotherOnly,
            Some(Clients::Several) if self.pairs.contains(&(fingerprint, client)) => Seen::BySameClient,
            Some(Clients::Several) => Seen::ByAnotherOnly,
        };
        match (seen, full) {
            (Seen::BySameClient, _) => {}
            (_, true) => self.was_full = true,
            (Seen::Never, false) => {
                self.clients.insert(fingerprint, Clients::One(client));
            }
            (Seen::ByAnotherOnly, false) => {
                self.pairs.insert((fingerprint, client));
                if let Some(Clients::One(first)) = self.clients.insert(fingerprint, Clients::Several) {
                    self.pairs.insert((fingerprint, first));
                }
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use wire::inner::{Flow, Inner, UDP};

    fn look_up(receivers: &mut Receivers, content: &[u8], client: Client, toward: Toward) -> Seen {
        let address = IpAddr::from([10, 0, 0, 1]);
        let flow = Flow {
            source: address,
            destination: address,
            protocol: UDP,
            source_port: 1,
            destination_port: 2,
        };
        let inner = Inner { flow, tcp_sequence: None, payload_offset: 0, total_bytes: 0, traffic_class: 0 };
        let packet = Packet { bytes: content, inner: &inner, client, toward, retransmitted: false };
        receivers.look_up(content, &packet)
    }

    #[test]
    fn every_client_is_remembered_by_itself_and_each_direction_too() {
        let mut receivers = Receivers::new(100);
        let mut down = |client| look_up(&mut receivers, b"content", client, Toward::Client);
        assert_eq!(down(1), Seen::Never);
        assert_eq!(down(1), Seen::BySameClient);
        assert_eq!(down(2), Seen::ByAnotherOnly);
        assert_eq!(down(3), Seen::ByAnotherOnly);
        assert_eq!([down(1), down(2), down(3)], [Seen::BySameClient; 3]);
        assert_eq!(look_up(&mut receivers, b"content", 1, Toward::Server), Seen::Never);
        assert!(!receivers.was_full());
    }

    #[test]
    fn beyond_the_bound_nothing_new_is_remembered_and_that_is_said() {
        let mut receivers = Receivers::new(1);
        for (content, expected) in
            [(b"a", Seen::Never), (b"a", Seen::BySameClient), (b"b", Seen::Never), (b"b", Seen::Never)]
        {
            assert_eq!(look_up(&mut receivers, content, 1, Toward::Client), expected);
        }
        assert!(receivers.was_full());
    }
}
