//! Equal runs are equal to the byte.

use crate::scenes::{MS, SECOND, lossy, pair, repeating, stream};
use air::{LinkConfig, ReorderConfig};
use published::policy::{NAIVE, RETRIEVE_ON_MISS};
use re::Policy;
use sim::traffic::{Content, Ends, Ping, Segments};
use sim::{EventLog, Fault, GATEWAY};

fn log(seed: u64, policy: Option<Policy>) -> String {
    let link = LinkConfig {
        reorder: Some(ReorderConfig { probability: 0.05, extra_delay: 20 * MS }),
        duplicate: 0.05,
        corrupt: 0.03,
        ..lossy(0.05)
    };
    let mut simulation = pair(seed, &link, policy.map(Into::into));
    let mut file = vec![0; 100_000];
    repeating().take(&mut file);
    let ends = |port| Ends::between(GATEWAY, 1).with_port(port);
    simulation.add_source("stream", Box::new(stream(1, 400)));
    simulation.add_source("ping", Box::new(Ping::new(ends(1), Content::random(seed), 56, 30 * MS)));
    let segments = Segments::new(ends(2), file, 1200, 7 * MS).retransmitting_after(100 * MS);
    simulation.add_source("segments", Box::new(segments.acknowledging_every(2)));
    for (at, mishap) in [
        (1500, Fault::Forget { host: 1, peer: GATEWAY, sent: true, received: true }),
        (2000, Fault::Reboot { host: GATEWAY }),
        (2500, Fault::Move { host: 1, to: "203.0.113.5:999".parse().unwrap() }),
    ] {
        simulation.schedule(at * MS, mishap).unwrap();
    }
    let mut log = EventLog::new(Vec::new());
    simulation.run_until(6 * SECOND, &mut log).unwrap();
    String::from_utf8(log.finish().unwrap()).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_log_and_another_seed_another() {
    for policy in [None, Some(Policy::Acked), Some(RETRIEVE_ON_MISS)] {
        let (first, second) = (log(1, policy), log(1, policy));
        assert!(first.lines().count() > 1500);
        let differs = first.lines().zip(second.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None);
        assert_eq!(first.len(), second.len());
        assert_ne!(first, log(2, policy));
    }
}

#[test]
fn a_log_tells_of_everything_with_times_that_never_go_back() {
    let log = log(3, Some(NAIVE));
    for word in [
        "offered by source",
        "link-0 takes",
        "link-1 gives",
        "node: sent",
        "refers to [",
        "Undecodable",
        "delivers for source",
        "mishap Reboot",
        "cannot send",
        "session with station-1",
    ] {
        assert!(log.contains(word), "{word}");
    }
    let times: Vec<f64> = log.lines().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(times.is_sorted());
}

#[test]
fn methods_that_send_as_many_packets_lose_the_same_ones() {
    let lost_offers = |policy: Option<Policy>| {
        let mut simulation = pair(8, &lossy(0.1), policy.map(Into::into));
        simulation.add_source("stream", Box::new(stream(1, 400)));
        let mut log = EventLog::new(Vec::new());
        simulation.run_until(4 * SECOND, &mut log).unwrap();
        let counters = simulation.report().links[0].counters.clone();
        (counters.transmitted.frames, counters.lost.frames)
    };
    let (off, acked) = (lost_offers(Some(Policy::Off)), lost_offers(Some(Policy::Acked)));
    assert_eq!(off, acked);
}
