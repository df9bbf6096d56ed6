//! Reboots, lost caches, changes of address and of conditions: detected, survived, counted.

use crate::scenes::{MS, SECOND, link, lossy, pair, stream};
use re::Policy;
use sim::{Fault, FaultRefused, GATEWAY, Tunnel, down_link, up_link};

#[test]
fn a_reboot_of_either_node_interrupts_a_stream_briefly() {
    for host in [GATEWAY, 1] {
        let mut simulation = pair(1, &link(), Some(Tunnel::default()));
        simulation.add_source("down", Box::new(stream(1, 5000)));
        let up = sim::traffic::Ping::new(
            sim::traffic::Ends::between(1, GATEWAY),
            sim::traffic::Content::random(1),
            56,
            500 * MS,
        );
        simulation.add_source("up", Box::new(up.starting_at(SECOND)));
        simulation.schedule(8 * SECOND, Fault::Reboot { host }).unwrap();
        simulation.run_until(25 * SECOND, &mut ()).unwrap();
        let report = simulation.report();
        let stream = report.sources[0].forwards;
        let lost = stream.offered.packets - stream.delivered.packets;
        // 250 packets a second; the gateway queues while it has no session
        assert!(lost < 250, "{} lost {lost}", report.hosts[host].name);
        assert_eq!((report.unrecognised, stream.duplicates), (0, 0));
        assert_eq!(report.hosts[host].boots.len(), 2);
        assert_ne!(report.hosts[host].boots[0].boot, report.hosts[host].boots[1].boot);
    }
}

#[test]
fn a_lost_store_costs_no_packet_under_the_default_policy_beyond_a_round_trip() {
    let mut simulation = pair(2, &link(), Some(Tunnel::default()));
    simulation.add_source("down", Box::new(stream(1, 5000)));
    let forget = |host, peer| Fault::Forget { host, peer, sent: true, received: true };
    simulation.schedule(6 * SECOND, forget(1, GATEWAY)).unwrap();
    simulation.schedule(12 * SECOND, forget(GATEWAY, 1)).unwrap();
    simulation.run_until(25 * SECOND, &mut ()).unwrap();
    let report = simulation.report();
    let stream = report.sources[0].forwards;
    let lost = stream.offered.packets - stream.delivered.packets;
    assert!(lost <= 6, "{lost}"); // 20 ms of the stream
    assert_eq!(report.hosts[1].outcomes.undecodable, lost);
}

#[test]
fn a_station_that_moves_is_found_again_when_it_speaks() {
    let mut simulation = pair(3, &link(), Some(Policy::Acked.into()));
    simulation.add_source("down", Box::new(stream(1, 2000)));
    let to = "203.0.113.77:5555".parse().unwrap();
    simulation.schedule(4 * SECOND, Fault::Move { host: 1, to }).unwrap();
    simulation.run_until(12 * SECOND, &mut ()).unwrap();
    let report = simulation.report();
    assert_eq!(report.hosts[GATEWAY].boots[0].peers[0].endpoint, Some(to.into()));
    // The station's next receipt reveals the new address, after at most a quarter of a second without
    // arrivals.
    let lost = report.hosts[GATEWAY].not_sent.packets + report.hosts[1].not_taken.packets;
    let stream = report.sources[0].forwards;
    assert!(lost > 0 && lost < 80, "{lost}");
    assert_eq!(stream.offered.packets - stream.delivered.packets, lost);
}

#[test]
fn a_link_that_is_down_takes_nothing_and_conditions_change_when_they_are_to() {
    for tunnel in [None, Some(Policy::Off.into())] {
        let mut simulation = pair(4, &link(), tunnel);
        simulation.add_source("down", Box::new(stream(1, 2000)));
        for number in [down_link(1), up_link(1)] {
            simulation.schedule(2 * SECOND, Fault::LinkDown { link: number }).unwrap();
            simulation.schedule(3 * SECOND, Fault::LinkUp { link: number }).unwrap();
        }
        let config = Box::new(lossy(1.0));
        simulation.schedule(4 * SECOND, Fault::Conditions { link: down_link(1), config }).unwrap();
        let config = Box::new(link());
        simulation.schedule(5 * SECOND, Fault::Conditions { link: down_link(1), config }).unwrap();
        simulation.run_until(12 * SECOND, &mut ()).unwrap();
        let report = simulation.report();
        let stream = report.sources[0].forwards;
        assert_eq!(report.links[0].refused.packets, 250);
        // A frame in transmission keeps its fate.
        let lost = report.links[0].counters.lost.frames;
        assert!((249..=252).contains(&lost), "{lost}");
        let missing = stream.offered.packets - stream.delivered.packets;
        assert!((499..=500).contains(&missing), "{missing}");
    }
}

#[test]
fn what_cannot_be_is_refused_when_it_is_scheduled() {
    let mut simulation = pair(5, &link(), None);
    let refused = |simulation: &mut sim::Simulation, mishap| simulation.schedule(SECOND, mishap).unwrap_err();
    assert_eq!(refused(&mut simulation, Fault::Reboot { host: 2 }), FaultRefused::NoHost(2));
    assert_eq!(refused(&mut simulation, Fault::LinkUp { link: 2 }), FaultRefused::NoLink(2));
    let forget = Fault::Forget { host: 1, peer: 1, sent: true, received: true };
    assert_eq!(refused(&mut simulation, forget), FaultRefused::NoPeer(1, 1));
    let conditions = Fault::Conditions { link: 0, config: Box::new(lossy(2.0)) };
    assert!(refused(&mut simulation, conditions).to_string().contains("between 0 and 1"));
}
