//! Two stations and two relays, one of which is the way from one station to the other, as the routing
//! protocol says.

use crate::mesh::{MS, Mesh, SECOND, all};
use crate::pair::tcp_between;
use crate::relays::{C1, C2, R1, R2, configs, hears};
use node::{Destination, Event};

/// In every node's configuration the one destination, and in the stations' the peers.
const IT: usize = 0;
const BY_R1: Option<usize> = Some(0);
const BY_R2: Option<usize> = Some(1);

/// A mesh in which the other station is a destination at C1 and at both relays; at those it is a peer, too.
fn mesh() -> Mesh {
    let mut configs = configs(1, true);
    for index in [C1, R1, R2] {
        let allowed_ips = vec!["10.0.0.4/32".parse().unwrap()];
        configs[index].mesh.destinations = vec![Destination { name: "192.0.2.4".to_owned(), allowed_ips }];
    }
    configs[C1].peers[0].allowed_ips.clear();
    Mesh::new(1, &configs, hears)
}

impl Mesh {
    fn lead(&mut self, node: usize, next_hop: Option<usize>) {
        let now = self.now();
        self.node_mut(node).set_next_hop(now, IT, next_hop);
        self.poll(node);
    }

    /// Relays reach both stations themselves.
    fn lead_on(&mut self) {
        self.lead(R1, Some(1));
        self.lead(R2, Some(1));
    }

    fn offer(&mut self, numbers: std::ops::Range<u32>) -> Vec<Vec<u8>> {
        let packets = numbers.map(|number| tcp_between(1, 4, 1 + 2000 * number, &[number as u8; 1200]));
        let packets: Vec<_> = packets.collect();
        for packet in &packets {
            self.offer_packet(C1, packet);
        }
        packets
    }

    fn by(&self, relay: usize) -> u64 {
        self.status(relay).peers[1].counters.relayed_packets
    }

    fn refused(&self, node: usize) -> u64 {
        self.status(node).destinations[IT].refused_packets
    }
}

#[test]
fn packets_follow_a_way_that_changes_those_too_that_wait() {
    let mut mesh = mesh();
    mesh.lead_on();
    mesh.lead(C1, BY_R1);
    let mut sent = Vec::new();
    for number in 0..200 {
        sent.extend(mesh.offer(number..number + 1));
        if number == 100 {
            mesh.lead(C1, BY_R2);
        }
        mesh.poll(C1);
        mesh.run(5 * MS);
    }
    // these all wait when it changes
    let held = mesh.offer(200..260);
    mesh.lead(C1, BY_R1);
    sent.extend(held);
    mesh.run(2 * SECOND);
    assert!(all(mesh.delivered(C2)) == all(&sent), "{} of {}", mesh.delivered(C2).len(), sent.len());
    assert_eq!((mesh.by(R1), mesh.by(R2)), (100 + 60, 100), "each by the way of its time");
    assert!(mesh.delivered(R1).is_empty() && mesh.delivered(R2).is_empty() && mesh.delivered(C1).is_empty());
    let status = mesh.status(C1);
    assert_eq!(
        (status.destinations[IT].next_hop.as_deref(), status.destinations[IT].changes),
        (Some("node 1"), 3)
    );
    let ways: Vec<_> = mesh
        .events()
        .iter()
        .filter(|(_, at, event)| *at == C1 && matches!(event, Event::NextHop { .. }))
        .collect();
    assert_eq!(ways.len(), 3, "{ways:?}");
}

#[test]
fn without_a_way_packets_wait_and_then_their_senders_are_told() {
    let mut mesh = mesh();
    mesh.lead_on();
    mesh.lead(C1, BY_R1);
    mesh.lead(C1, None);
    let sent = mesh.offer(0..20);
    mesh.run(4 * SECOND);
    assert!(mesh.delivered(C2).is_empty() && mesh.delivered(C1).is_empty(), "they wait");
    mesh.lead(C1, BY_R2);
    mesh.run(SECOND);
    assert!(all(mesh.delivered(C2)) == all(&sent));
    mesh.take_delivered(C2);

    mesh.lead(C1, None);
    mesh.offer(20..30);
    mesh.run(6 * SECOND);
    assert_eq!(mesh.refused(C1), 10);
    assert_eq!(mesh.delivered(C1).len(), 10);
    assert!(mesh.delivered(C1).iter().all(|told| told[9] == 1 && told[20..22] == [3, 1]), "host unreachable");
    mesh.offer(30..31);
    assert_eq!(mesh.refused(C1), 11, "at once, by now");
    mesh.lead(C1, BY_R1);
    mesh.run(SECOND);
    assert!(mesh.delivered(C2).is_empty(), "what was refused does not come");
}

#[test]
fn nothing_goes_back_to_whom_it_came_from() {
    let mut mesh = mesh();
    // the relay has heard of the change first, and sends what comes by the way where it came from
    mesh.lead(C1, BY_R1);
    mesh.lead(R1, Some(0));
    mesh.offer(0..10);
    mesh.poll(C1);
    mesh.run(SECOND);
    assert_eq!((mesh.refused(R1), mesh.by(R1)), (10, 0));
    assert!((0..4).all(|node| mesh.delivered(node).is_empty()), "neither back nor to the relay's kernel");
    // what waited there when the way turned round does not go back either
    mesh.lead(R1, Some(1));
    let sent = mesh.offer(10..20);
    mesh.poll(C1);
    mesh.run(SECOND);
    assert!(all(mesh.delivered(C2)) == all(&sent));
    // a relay without a way on says so
    mesh.lead(R1, None);
    mesh.offer(20..21);
    mesh.poll(C1);
    mesh.run(SECOND);
    assert_eq!(mesh.delivered(C1).len(), 1, "{:?}", mesh.delivered(C1));
    assert_eq!(mesh.delivered(C1)[0][20..22], [3, 1]);
}

#[test]
fn a_next_hop_that_is_none_changes_nothing() {
    let mut mesh = mesh();
    mesh.lead(C1, BY_R1);
    mesh.lead(C1, Some(7));
    let now = mesh.now();
    mesh.node_mut(C1).set_next_hop(now, 9, BY_R2);
    assert_eq!(mesh.status(C1).destinations[IT].changes, 1);
}
