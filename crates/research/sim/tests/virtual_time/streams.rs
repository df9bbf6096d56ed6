//! Streams that pass, and their counts.

use crate::scenes::{MS, SECOND, link, link_bytes, lossy, pair, repeating, stream};
use published::form;
use published::policy::{self, INFORMED_MARKING, NAIVE, RETRIEVE_ON_MISS, TCP_SEQ};
use re::{Parameters, Policy};
use sim::traffic::{ConstantRate, Content, Ends, Family, Ping, Segments};
use sim::{Dependencies, DependencyLink, GATEWAY, Setup, Simulation, Station, Tunnel, down_link, up_link};

#[test]
fn the_bare_run_carries_packets_as_they_are() {
    let mut simulation = pair(1, &link(), None);
    simulation.add_source("stream", Box::new(stream(1, 500)));
    simulation.run_until(5 * SECOND, &mut ()).unwrap();
    let report = simulation.report();
    let stream = report.sources[0].forwards;
    assert_eq!(stream.offered.packets, 500);
    assert_eq!(stream.delivered, stream.offered);
    // 1000 bytes of payload, 8 of UDP, 20 of IP, at 1 byte a microsecond and 10 ms
    assert_eq!(link_bytes(&report, down_link(1)), 500 * 1028);
    assert_eq!(link_bytes(&report, up_link(1)), 0);
    let delay = stream.delay.unwrap();
    assert!((delay.median_seconds - 0.011_028).abs() < 2e-5, "{delay:?}");
}

#[test]
fn the_tunnel_with_elimination_off_adds_its_headers_and_with_it_on_removes_what_repeats() {
    let sent = |tunnel| {
        let mut simulation = pair(2, &link(), tunnel);
        simulation.add_source("stream", Box::new(stream(1, 1500)));
        simulation.run_until(9 * SECOND, &mut ()).unwrap();
        let report = simulation.report();
        assert_eq!(report.sources[0].forwards.delivered, report.sources[0].forwards.offered);
        assert_eq!((report.unrecognised, report.sources[0].forwards.duplicates), (0, 0));
        link_bytes(&report, down_link(1))
    };
    let (bare, off, acked) = (sent(None), sent(Some(Policy::Off.into())), sent(Some(Tunnel::default())));
    // 28 bytes of outer headers and 27 of the tunnel's, for each packet
    let added = off - bare;
    assert!((1500 * 55..1500 * 59).contains(&added), "{added}");
    assert!(acked < bare * 6 / 10, "{acked} of {bare}");
}

#[test]
fn every_kind_of_traffic_comes_out_over_both_families() {
    let mut simulation = pair(3, &lossy(0.05), Some(Tunnel::default()));
    for (number, family) in [Family::V4, Family::V6].into_iter().enumerate() {
        let ends = |port| Ends::between(GATEWAY, 1).with_family(family).with_port(port + number as u16);
        let stream =
            ConstantRate::new(ends(1000), repeating(), 900, 5 * MS).starting_at(SECOND).ending_after(600);
        let ping =
            Ping::new(ends(2000), Content::random(1), 56, 50 * MS).starting_at(SECOND).ending_after(60);
        let file: Vec<u8> = (0..200_000u32).map(|index| (index / 7) as u8).collect();
        let segments = Segments::new(ends(3000), file, 1300, 10 * MS)
            .starting_at(SECOND)
            .retransmitting_after(200 * MS)
            .acknowledging_every(2);
        simulation.add_source("stream", Box::new(stream));
        simulation.add_source("ping", Box::new(ping));
        simulation.add_source("segments", Box::new(segments));
    }
    simulation.run_until(12 * SECOND, &mut ()).unwrap();
    let report = simulation.report();
    assert_eq!(report.unrecognised, 0);
    for of_family in report.sources.chunks(3) {
        let [stream, ping, segments] = of_family else { unreachable!() };
        let loss = stream.forwards.perceived_loss().unwrap();
        assert!(loss < 0.01, "the hop repairs what it loses: {loss}");
        assert!(ping.backwards.offered.packets > 50 && ping.round_trip.unwrap().median_seconds > 0.02);
        assert_eq!(segments.in_order_share, Some(1.0));
        assert!(segments.completed_at_seconds.unwrap() < 5.0, "{segments:?}");
        let (sent, answered) = (segments.forwards.offered.packets, segments.backwards.offered.packets);
        assert!(sent >= 154 && answered > 50, "{sent} {answered}");
    }
}

#[test]
fn full_packets_pass_under_every_policy_and_form_and_time_goes_on() {
    for policy in policy::ALL {
        for form in form::ALL {
            let tunnel = Tunnel::from(Parameters { policy, form, ..Parameters::default() });
            let mut simulation = pair(4, &lossy(0.1), Some(tunnel));
            let largest = simulation.node(GATEWAY).unwrap().max_packet_bytes() - 28;
            let ends = Ends::between(GATEWAY, 1);
            let stream = ConstantRate::new(ends, repeating(), largest, 4 * MS).starting_at(5 * SECOND);
            simulation.add_source("stream", Box::new(stream.ending_after(500)));
            simulation
                .run_until(10 * SECOND, &mut ())
                .unwrap_or_else(|stuck| panic!("{policy} {form}: {stuck}"));
            let report = simulation.report();
            assert_eq!(
                (report.unrecognised, report.sources[0].forwards.duplicates),
                (0, 0),
                "{policy} {form}"
            );
            // At this rate, packets of whole round trips refer to each other before a loss is known.
            let stalls = [NAIVE, INFORMED_MARKING].contains(&policy);
            let delivered = report.sources[0].forwards.delivered.packets;
            assert!(stalls || delivered > 100, "{policy} {form}: {delivered}");
            if policy == RETRIEVE_ON_MISS {
                // Replies with full packets fit as well: hardly any loss beyond the air's.
                assert!(delivered > 420, "{form}: {delivered}");
            }
        }
    }
}

#[test]
fn several_stations_share_a_gateway_and_not_each_others_packets() {
    let station = || Station { down: lossy(0.02), up: lossy(0.02) };
    let setup =
        Setup { seed: 6, stations: (0..5).map(|_| station()).collect(), tunnel: Some(Tunnel::default()) };
    let mut simulation = Simulation::new(&setup).unwrap();
    for number in 1..=5 {
        simulation.add_source("stream", Box::new(stream(number, 100 * number as u64)));
    }
    simulation.run_until(6 * SECOND, &mut ()).unwrap();
    let report = simulation.report();
    assert_eq!(report.unrecognised, 0);
    for (index, source) in report.sources.iter().enumerate() {
        let offered = 100 * (index as u64 + 1);
        assert_eq!(source.forwards.offered.packets, offered);
        assert!(source.forwards.delivered.packets * 10 > offered * 8, "{source:?}");
        let status = &report.hosts[index + 1].boots[0].peers[0];
        assert_eq!(status.counters.inner_received_packets, source.forwards.delivered.packets);
    }
    assert_eq!(report.hosts[GATEWAY].boots[0].peers.len(), 5);
}

#[test]
fn a_dependency_trace_names_what_each_packet_needs_and_what_became_of_it() {
    let mut simulation = pair(7, &lossy(0.03), Some(TCP_SEQ.into()));
    let file = {
        let mut bytes = vec![0; 300_000];
        repeating().take(&mut bytes);
        bytes
    };
    let segments = Segments::new(Ends::between(GATEWAY, 1), file, 1300, 5 * MS);
    let segments = segments.starting_at(5 * SECOND).retransmitting_after(60 * MS);
    simulation.add_source("file", Box::new(segments));
    let mut dependencies = Dependencies::new(DependencyLink::down(1), 10_000);
    simulation.run_until(15 * SECOND, &mut dependencies).unwrap();
    let report = simulation.report();
    let rows: Vec<_> = dependencies.rows().collect();
    assert_eq!(rows.len() as u64, report.hosts[GATEWAY].total(|counters| counters.inner_sent_packets));
    let lost = rows.iter().filter(|row| row.outcome.is_none()).count();
    let undecodable = rows.iter().filter(|row| row.outcome == Some(node::Outcome::Undecodable)).count();
    assert!(lost > 3 && undecodable > lost, "{lost} lost, {undecodable} undecodable");
    assert_eq!(undecodable as u64, report.hosts[1].outcomes.undecodable);
    assert!(rows.iter().any(|row| row.retransmission_of.is_some()));
    for row in &rows {
        // references go to lower TCP sequences only: no packet can depend on itself
        assert!(!dependencies.needs(row.sent.sequence).contains(&row.sent.sequence));
        let delivered_needs_delivered = row.sent.references.iter().all(|reference| {
            rows.iter().any(|other| {
                other.sent.sequence == *reference && other.outcome == Some(node::Outcome::Delivered)
            })
        });
        assert!(row.outcome != Some(node::Outcome::Delivered) || delivered_needs_delivered);
    }
    let text = dependencies.to_string();
    assert!(text.contains("refers to") && text.contains("undecodable") && text.contains("retransmission of"));
}
