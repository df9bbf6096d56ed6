//! Common parts of the tests.

use air::{Bitrate, LinkConfig, LossConfig};
use sim::traffic::{ConstantRate, Content, Ends};
use sim::{GATEWAY, Report, Setup, Simulation, Tunnel};
use std::time::Duration;

pub const SECOND: Duration = Duration::from_secs(1);
pub const MS: Duration = Duration::from_millis(1);

/// The paper's link: 1 MByte/s, 20 ms of round trip.
pub fn link() -> LinkConfig {
    LinkConfig {
        rate: Some(Bitrate::from_bytes_per_second(1_000_000)),
        delay: 10 * MS,
        ..LinkConfig::default()
    }
}

/// The paper's link with this loss rate.
pub fn lossy(probability: f64) -> LinkConfig {
    LinkConfig { loss: LossConfig::Bernoulli { probability }, ..link() }
}

/// A small file with about two thirds repetition.
pub fn repeating() -> Content {
    Content::repeating(5, 0.65, 60_000, 400_000)
}

/// A gateway and a station over this link, both ways alike.
pub fn pair(seed: u64, link: &LinkConfig, tunnel: Option<Tunnel>) -> Simulation {
    Simulation::new(&Setup { tunnel, ..Setup::pair(seed, link.clone(), link.clone()) }).unwrap()
}

/// `packets` UDP packets down to a station, one in 4 ms, from second 1 on.
pub fn stream(station: usize, packets: u64) -> ConstantRate {
    let ends = Ends::between(GATEWAY, station);
    ConstantRate::new(ends, repeating(), 1000, 4 * MS).starting_at(SECOND).ending_after(packets)
}

/// Bytes put on a link.
pub fn link_bytes(report: &Report, link: usize) -> u64 {
    report.links[link].counters.offered.bytes
}
